"""One case is right only when every output is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pipeline.compare.cases import judge_case
from pipeline.library.tasks import load_task
from pipeline.types import Case, CaseKind, CaseResult, Task, TensorSpec, Verdict

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
    return judge_case(task, CASE, 4, outputs, EXPECTED)


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
