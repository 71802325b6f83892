"""One case is right only when every output is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.compare.cases import derive_limits, judge_case
from pipeline.execute.references import Draw
from pipeline.library.tasks import load_task
from pipeline.types import Case, CaseKind, CaseResult, Numerics, Task, TensorSpec, Verdict

CASE = Case(name="pair", kind=CaseKind.HIDDEN, axes={"P": 2, "F": 3})
EXPECTED = (np.ones((2, 3)), np.full((2, 1), 2.0))


@pytest.fixture(scope="module")
def task() -> Task:
    tiny = load_task(Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add")
    outputs = (
        TensorSpec(name="out", shape=("P", "F"), dtype="float32"),
        TensorSpec(name="total", shape=("P", 1), dtype="float32"),
    )
    return tiny.model_copy(update={"outputs": outputs})


def judge(task: Task, *outputs: np.ndarray) -> CaseResult:
    return judge_case(task, CASE, 4, outputs, Draw(inputs=(), expected=EXPECTED))


def test_all_outputs_right_is_correct_and_carries_every_distance(task: Task) -> None:
    result = judge(task, *(array.astype(np.float32) for array in EXPECTED))
    assert result.verdict is Verdict.CORRECT
    assert (result.case, result.kind, result.axes, result.seed) == ("pair", CaseKind.HIDDEN, CASE.axes, 4)
    assert [error.output for error in result.errors] == ["out", "total"]
    assert result.fault is None


def test_the_first_wrong_output_gives_the_message(task: Task) -> None:
    result = judge(task, np.ones((2, 3), np.float32), np.zeros((2, 1), np.float32))
    assert result.verdict is Verdict.INCORRECT
    assert result.message.startswith("output 'total' differs at [0, 0]: got 0, expected 2")
    assert len(result.errors) == 2


def test_a_missing_output_is_incorrect(task: Task) -> None:
    result = judge(task, np.ones((2, 3), np.float32))
    assert result.verdict is Verdict.INCORRECT
    assert result.message == "the kernel returned 1 outputs, expected 2"


def test_a_wrong_shape_is_incorrect_without_a_distance(task: Task) -> None:
    result = judge(task, np.ones((3, 2), np.float32), np.full((2, 1), 2.0, np.float32))
    assert result.verdict is Verdict.INCORRECT
    assert [error.output for error in result.errors] == ["total"]


def test_limits_come_from_what_is_known_of_the_draw(task: Task) -> None:
    open_task = task.model_copy(update={"numerics": Numerics()})
    thirds = (np.full((2, 3), 1 / 3), np.full((2, 1), 2 / 3))
    bare = Draw(inputs=(), expected=thirds)
    spread = tuple(np.full(array.shape, 1e-3, np.float32) for array in thirds)
    noisy = Draw((), thirds, spread, ((1e-3,), (1e-3,)), ("the sum of three terms",))
    # Without an error analysis a kernel may round once, by at most one ulp: 2**-25 at 1/3.
    assert derive_limits(open_task, bare)[0].elementwise.max() == pytest.approx(2.0**-25)
    limits = derive_limits(open_task, noisy)[0]
    assert limits.elementwise.min() > 1e-3
    assert limits.derivation[0] == "the sum of three terms"
    off = [(array + 2e-3).astype(np.float32) for array in thirds]
    assert judge_case(open_task, CASE, 0, off, noisy).verdict is Verdict.CORRECT
    assert judge_case(open_task, CASE, 0, off, bare).verdict is Verdict.INCORRECT


def test_the_derivation_is_recorded_with_every_verdict(task: Task) -> None:
    for outputs in (EXPECTED, tuple(array + 1 for array in EXPECTED)):
        result = judge(task, *(array.astype(np.float32) for array in outputs))
        assert all(error.tolerance is not None and error.tolerance.derivation for error in result.errors)


@pytest.mark.parametrize(
    ("copied", "said"),
    [
        (np.arange(6, dtype=np.float32).reshape(2, 3), "it is input 'x' unchanged: what is computed"),
        (np.arange(3, dtype=np.float32), "it is input 'x' unchanged in every row: what is computed"),
    ],
)
def test_a_copied_input_is_named(task: Task, copied: np.ndarray, said: str) -> None:
    draw = Draw(inputs=(copied, np.ones((2, 3), np.float32)), expected=EXPECTED)
    outputs = (np.broadcast_to(copied, (2, 3)), np.full((2, 1), 2, np.float32))
    result = judge_case(task, CASE, 0, outputs, draw)
    assert result.verdict is Verdict.INCORRECT
    assert said in result.message
    assert said in result.errors[0].pattern
