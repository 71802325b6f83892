"""What a case is: one upstream kernel, some inputs, a reference, and how far from it the answer may be."""

from __future__ import annotations

import contextlib
import importlib
import io
import runpy
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from evals.kernels.stand_ins import installed

__all__ = ["Case", "Comparison", "KernelCase", "ScriptCase", "compared"]

Array = np.ndarray[Any, Any]

#: Relative to the largest magnitude of the reference: some steps of the format that the result is stored in.
TOLERANCES: Final = {
    "float32": 2e-5,
    "float16": 4e-3,
    "bfloat16": 2e-2,
    "float8_e5m2": 0.25,
    "float8_e4m3": 0.13,
    "float8_e4m3fn": 0.13,
}


@dataclass(frozen=True)
class Comparison:
    """One output against its reference.

    Attributes:
        shape: Of the output.
        error: Largest difference, as a part of the reference's largest magnitude.
        agrees: Whether the difference is within what the case allows.
    """

    shape: tuple[int, ...]
    error: float
    agrees: bool


@dataclass(frozen=True, kw_only=True)
class Case(ABC):
    """One run of one upstream kernel.

    Attributes:
        name: Unique; what ``--only`` looks for.
        targets: Chips that it runs on, one after the other.
        version: NKI version that the kernel was written for.
        torch: Whether PyTorch is needed.
    """

    name: str
    targets: tuple[str, ...] = ("trn2", "trn3")
    version: str = "0.6"
    torch: bool = False

    @abstractmethod
    def compare(self, checkout: Path, target: str) -> list[Comparison]:
        """Run the kernel from `checkout` and return how its outputs compare."""


@dataclass(frozen=True, kw_only=True)
class KernelCase(Case):
    """A kernel that is imported from its file and called.

    Attributes:
        path: File in the checkout.
        entry: Function in it.
        inputs: Makes the arguments, from a seeded generator.
        reference: Computes what the kernel should, from the same arguments.
        lnc: Logical NeuronCores to launch on.
        tolerance: Of the comparison; by default that of the output's data type.
        keywords: Compile-time arguments.
    """

    path: str
    entry: str
    inputs: Callable[[np.random.Generator], Sequence[Any]]
    reference: Callable[..., Any]
    lnc: int = 1
    tolerance: float | None = None
    keywords: dict[str, Any] = field(default_factory=dict)

    def compare(self, checkout: Path, target: str) -> list[Comparison]:
        """Run the kernel on copies: it may write its inputs, which the reference needs as they were."""
        arguments = self.inputs(np.random.default_rng(0))
        with installed(torch=self.torch):
            kernel = getattr(_import(checkout / self.path), self.entry)
            copies = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
            results = kernel[self.lnc](*copies, **self.keywords)
        return compared(results, self.reference(*arguments), self.tolerance)


@dataclass(frozen=True, kw_only=True)
class ScriptCase(Case):
    """A script that compares by itself.

    Attributes:
        path: File in the checkout.
        arguments: Its command line.
        says: Text that it prints when, and as often as, all agrees.
        times: How often.
    """

    path: str
    arguments: tuple[str, ...] = ()
    says: str = ""
    times: int = 1

    def compare(self, checkout: Path, target: str) -> list[Comparison]:
        """Run the script as a user would, and look for what it says."""
        path = checkout / self.path
        printed = io.StringIO()
        sys.argv = [str(path), *self.arguments]
        sys.path.insert(0, str(path.parent))
        with installed(torch=self.torch), contextlib.redirect_stdout(printed):
            runpy.run_path(str(path), run_name="__main__")
        found = printed.getvalue().count(self.says) if self.says else self.times
        return [Comparison((), 0.0 if found == self.times else float("inf"), found == self.times)]


def compared(results: Any, references: Any, tolerance: float | None = None) -> list[Comparison]:
    """Compare one array or several with their references."""
    outputs = results if isinstance(results, tuple | list) else (results,)
    expected = references if isinstance(references, tuple | list) else (references,)
    if len(outputs) != len(expected):
        raise ValueError(f"{len(outputs)} outputs for {len(expected)} references")
    return [_compare(*pair, tolerance) for pair in zip(outputs, expected, strict=True)]


def _compare(output: Any, reference: Any, tolerance: float | None) -> Comparison:
    allowed = TOLERANCES.get(str(np.asarray(output).dtype), 0.0) if tolerance is None else tolerance
    result, expected = np.asarray(output).astype(np.float64), np.asarray(reference).astype(np.float64)
    if result.shape != expected.shape:
        return Comparison(result.shape, float("inf"), False)
    finite = np.isfinite(expected)
    if not np.array_equal(result[~finite], expected[~finite], equal_nan=True):
        return Comparison(result.shape, float("inf"), False)
    largest = float(np.abs(expected[finite]).max(initial=0.0))
    error = float(np.abs(result[finite] - expected[finite]).max(initial=0.0)) / (largest or 1.0)
    return Comparison(result.shape, error, error <= allowed)


def _import(path: Path) -> Any:
    """Import a file by its stem; it finds its neighbours as it would as a script."""
    sys.path.insert(0, str(path.parent))
    if path.stem.isidentifier():
        return importlib.import_module(path.stem)
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
