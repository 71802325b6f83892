"""Running nki-library's own tests: their inputs, references and tolerances, our emulator as the device."""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import ml_dtypes
import numpy as np

from evals.kernels.case import Case, Comparison
from evals.kernels.stand_ins import installed, static_cast

__all__ = ["TestCase"]

Array = np.ndarray[Any, Any]

_TESTS: Final = "test.integration.nkilib"
_LIBRARY: Final = "nkilib_src.nkilib.experimental"
#: A suffix of argument names that only the graph compiler needs.
_ALIASED: Final = ".must_alias_input"
#: Parameters of tests that say nothing about the kernel.
_NEUTRAL: Final = {
    "is_negative_test_case": False,
    "neg_case": False,
    "tpbSgCyclesSum": None,
    "qor": None,
    "request": SimpleNamespace(node=SimpleNamespace(callspec=SimpleNamespace(id=""))),
}


@dataclass(frozen=True, kw_only=True)
class TestCase(Case):
    """One test function of nki-library with the arguments that we choose.

    Attributes:
        test: As pytest names it, below ``test/integration/nkilib``.
        arguments: Values by parameter name; a string like ``NormType.RMS_NORM`` or ``nl.bfloat16`` stands for
            what the test module calls so.
        row: Row of the test's own parametrisation that the arguments start from.
        lnc: Logical NeuronCores, where the test takes them as arguments of the compiler.
        tensors: Sizes, where the test takes them as a case of their older framework.
        version: 0.3, that of the release of April 2026.
    """

    test: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    row: int | None = None
    lnc: int = 1
    tensors: Mapping[str, Any] = field(default_factory=dict)
    version: str = "0.3"
    torch: bool = True

    def compare(self, checkout: Path, target: str) -> list[Comparison]:
        """Call the test with a test manager that executes on the emulator."""
        sys.path[:0] = [str(checkout), str(checkout / "src")]
        sys.modules.pop("test", None)
        logging.disable(logging.INFO)
        # Some tests draw from the global generator.
        np.random.seed(0)
        with installed(torch=True), _orchestrator() as manager:
            # test_qkv_tkg uses the name without importing it.
            vars(builtins)["Platforms"] = importlib.import_module("test.utils.common_dataclasses").Platforms
            # topk_reduce has moved since its test was written.
            moved = importlib.import_module(f"{_LIBRARY}.collectives")
            sys.modules[f"{_LIBRARY}.subkernels"] = moved
            path, *names = self.test.split("::")
            module = importlib.import_module(f"{_TESTS}.{path.removesuffix('.py').replace('/', '.')}")
            test = getattr(module, names[0])
            if len(names) > 1:
                test = getattr(test(), names[1])
            test(**self._arguments(test, vars(module), target, manager))
        return manager.comparisons

    def _arguments(
        self, test: Callable[..., Any], names: Mapping[str, Any], target: str, manager: _Manager
    ) -> dict[str, Any]:
        from test.utils.common_dataclasses import CompilerArgs, Platforms
        from test.utils.metrics_collector import NoopMetricsCollector

        platform = Platforms(target)
        tensors = {
            kind: {name: _meant(value, names) for name, value in sizes.items()}
            for kind, sizes in self.tensors.items()
        }
        given = {
            **_NEUTRAL,
            **(_parametrised(test, self.row) if self.row is not None else {}),
            **{name: _meant(value, names) for name, value in self.arguments.items()},
            "lnc": self.lnc,
            "test_manager": manager,
            "platform_target": platform,
            "collector": NoopMetricsCollector(),
            "compiler_args": CompilerArgs(logical_nc_config=self.lnc, platform_target=platform),
            "test_options": SimpleNamespace(tensors=tensors),
        }
        parameters = inspect.signature(test).parameters
        missing = [name for name, p in parameters.items() if p.default is p.empty and name not in given]
        if missing:
            raise TypeError(f"the case gives no {', '.join(missing)}")
        return {name: given[name] for name in parameters if name in given}


class _Manager:
    """What their tests call in place of the orchestrator of remote devices."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.comparisons: list[Comparison] = []
        #: Theirs says whether to compile, trace or run; none of theirs is what we do.
        self.trace_mode = None

    def execute(self, kernel: Any) -> None:
        """Run the kernel on copies of its inputs and compare every output."""
        outputs = _execute(kernel)
        arguments = kernel.validation_args
        golden = getattr(arguments.golden_output, "golden", arguments.golden_output)
        if golden is None:
            raise ValueError("the test has no reference")
        names = list(getattr(arguments.golden_output, "output_ndarray", golden))
        if len(outputs) != len(names):
            raise ValueError(f"{len(outputs)} outputs for {len(names)} names: {', '.join(names)}")
        for output, name in zip(outputs, names, strict=True):
            # Some references cover some of the outputs.
            reference = golden.get(name)
            if hasattr(reference, "validator"):
                self.comparisons.append(_validated(output, reference))
            elif reference is not None:
                self.comparisons.append(_compared(output, reference, arguments))


def _execute(kernel: Any) -> list[Array]:
    import nki

    inputs = {name.removesuffix(_ALIASED): value for name, value in (kernel.kernel_input or {}).items()}
    copies = {
        name: value.copy() if isinstance(value, np.ndarray) else value for name, value in inputs.items()
    }
    function = kernel.kernel_func
    launchable = function if hasattr(function, "__getitem__") else nki.jit(function)
    result = launchable[kernel.compiler_input.logical_nc_config](**copies)
    return list(result) if isinstance(result, tuple | list) else [result]


def _compared(output: Array, reference: Any, arguments: Any) -> Comparison:
    """Compare as their validator does: the largest magnitude scales the relative tolerance."""
    expected = _values(np.asarray(reference))
    # Theirs reads bytes in the shape of the reference.
    result = _values(output)
    result = result.reshape(expected.shape) if result.size == expected.size else result
    if result.shape != expected.shape:
        return Comparison(result.shape, float("inf"), False)
    with np.errstate(invalid="ignore"):
        difference = np.abs(result - expected)
    difference[(result == expected) | (np.isnan(result) & np.isnan(expected))] = 0.0
    finite = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    allowed = arguments.absolute_accuracy + arguments.relative_accuracy * finite
    worst = float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0))
    return Comparison(result.shape, worst / (float(finite) or 1.0), worst <= allowed)


def _values(array: Array) -> Array:
    return static_cast(array, np.float32).astype(np.float64)


def _validated(output: Array, reference: Any) -> Comparison:
    """Let a validator of theirs judge; it takes the bytes that a device would leave in a file."""
    raw = np.ascontiguousarray(output).reshape(-1).view(np.uint8)
    agrees = bool(reference.validator(None).validate(raw))
    return Comparison(output.shape, 0.0 if agrees else float("inf"), agrees)


def _parametrised(test: Callable[..., Any], row: int) -> dict[str, Any]:
    """Return a row of the test's parametrisation by name."""
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            names, values = mark.args[:2]
            split = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
            chosen = values[row]
            chosen = getattr(chosen, "values", chosen)
            return dict(zip(split, chosen if len(split) > 1 else (chosen,), strict=True))
    raise ValueError(f"{test.__name__} is not parametrised")


def _meant(value: Any, names: Mapping[str, Any]) -> Any:
    """Return what a text like ``nl.bfloat16`` means where `names` hold; else the value."""
    import nki.language as nl

    known = {"None": None, "nl": nl, "np": np, "ml_dtypes": ml_dtypes, **names}
    if not isinstance(value, str) or value.partition(".")[0] not in known:
        return value
    root, *attributes = value.split(".")
    return functools.reduce(getattr, attributes, known[root])


@contextmanager
def _orchestrator() -> Iterator[_Manager]:
    """Put our test manager in place of theirs, which needs remote hosts."""
    module = ModuleType("test.utils.test_orchestrator")
    vars(module)["Orchestrator"] = _Manager
    sys.modules[module.__name__] = module
    try:
        yield _Manager()
    finally:
        del sys.modules[module.__name__]
