"""The harness that runs upstream kernels: its cases are well formed, and it tells right from wrong."""

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from evals.kernels.case import KernelCase, compared
from evals.kernels.child import _explained
from evals.kernels.known import KNOWN
from evals.kernels.run import all_cases, main
from evals.kernels.stand_ins import PACKED, installed, static_cast
from pipeline.emulator import emulated

NAMES = [case.name for case in all_cases()]

KERNEL = """
import nki
import nki.language as nl

@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.add(nl.load(x), nl.load(x)))
    return out
"""


def test_every_case_has_a_name_of_its_own_in_one_of_the_repositories() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {name.partition("/")[0] for name in NAMES} == {"sdk", "samples", "library"}


def test_more_than_forty_cases_are_of_the_library() -> None:
    assert sum(name.startswith("library/") for name in NAMES) > 40


@pytest.mark.parametrize("pattern", KNOWN)
def test_what_is_known_is_known_of_a_case(pattern: str) -> None:
    assert any(fnmatch(name, pattern) for name in NAMES)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "doubling.py").write_text(KERNEL)
    monkeypatch.delitem(sys.modules, "doubling", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def case(rows: int = 4, factor: float = 2.0) -> KernelCase:
    return KernelCase(
        name="sdk/doubled",
        path="doubling.py",
        entry="doubled",
        inputs=lambda generator: (generator.uniform(1, 2, (rows, 8)).astype(np.float32),),
        reference=lambda x: factor * x,
    )


@pytest.mark.parametrize(("factor", "agrees"), [(2.0, True), (2.001, False)])
def test_a_kernel_is_held_to_its_reference(checkout: Path, factor: float, agrees: bool) -> None:
    with emulated():
        (comparison,) = case(factor=factor).compare(checkout, "trn2")
    assert (comparison.shape, comparison.agrees) == ((4, 8), agrees)


def test_a_refusal_is_told_with_its_place(checkout: Path) -> None:
    with emulated():
        try:
            case(rows=129).compare(checkout, "trn2")
        except Exception as error:
            explained = _explained(error, checkout)
    assert explained["verdict"] == "refused"
    assert explained["message"].startswith("doubling.py:8: illegal_on_target: ")


@pytest.mark.parametrize(
    ("result", "reference", "agrees"),
    [
        (np.float32([1, np.nan]), np.float32([1, np.nan]), True),
        (np.float32([1, np.inf]), np.float32([1, 1]), False),
        (np.float32([1, 2]), np.float32([[1, 2]]), False),
        (np.int32([1, 2]), np.int32([1, 3]), False),
        (ml_dtypes.bfloat16(1.01), 1.0, True),
    ],
)
def test_a_comparison_is_strict_about_shape_and_special_values(
    result: object, reference: object, agrees: bool
) -> None:
    (comparison,) = compared(result, reference)
    assert comparison.agrees is agrees


@pytest.mark.parametrize("name", PACKED)
def test_packed_values_come_back_from_their_words(name: str) -> None:
    values = np.array([[0, 1, -2, 3], [0.5, 6, -4, 1.5]], np.float32)
    packed = static_cast(values, name)
    assert packed.shape == (2, 1)
    np.testing.assert_array_equal(static_cast(packed, np.float32), values)


def test_stand_ins_are_gone_afterwards() -> None:
    with installed():
        import fabric2  # type: ignore[import-not-found]
        import neuron_dtypes  # type: ignore[import-not-found]

        assert neuron_dtypes.static_cast(np.float32([1.5]), "bfloat16").dtype == ml_dtypes.bfloat16
        assert issubclass(fabric2.Connection, Exception)
    assert "neuron_dtypes" not in sys.modules


def test_nothing_to_run_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nothing"]) == 1
    assert "0 runs" in capsys.readouterr().out
