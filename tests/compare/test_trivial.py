"""Trivial candidates: what they are, and when one of them is the answer nevertheless."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.trivial import Trivial, is_right, make_trivial
from pipeline.execute.references import Draw
from pipeline.library.tasks import load_task
from pipeline.types import Task, TensorSpec

TINY_ADD = Path(__file__).parents[1] / "fixtures" / "tasks" / "tiny_add"

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
Y = np.array([[0.5, 0.25], [0.125, 1.0]], np.float32)
SUM = np.array([[1.5, 2.25], [3.125, 5.0]])
OTHER = np.array([[7.0, 8.0], [9.0, 10.0]])


def drawn(x: np.ndarray, y: np.ndarray, answer: np.ndarray = SUM, noise: float = 0.0) -> Draw:
    return Draw((x, y), (answer,), noise=((noise,),))


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(TINY_ADD)


@pytest.fixture(scope="module")
def candidates(task: Task) -> dict[str, Trivial]:
    return {one.name: one for one in make_trivial(task, drawn(X, Y), drawn(X, Y, OTHER))}


EXPECTED = {
    "zeros": [[0, 0], [0, 0]],
    "ones": [[1, 1], [1, 1]],
    "copy of x": X,
    "copy of y": Y,
    "mean": [[2.96875, 2.96875], [2.96875, 2.96875]],
    "mean of each row": [[1.875, 1.875], [4.0625, 4.0625]],
    "first row for all rows": [[1.5, 2.25], [1.5, 2.25]],
    "answer to another draw": OTHER,
    "answer negated": -SUM,
    "answer rounded to bfloat16": SUM,
    "answer rounded to float16": SUM,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_candidate_is_what_its_name_says(name: str, candidates: dict[str, Trivial]) -> None:
    (output,) = candidates[name].outputs
    assert output.dtype == np.float32
    np.testing.assert_array_equal(output, EXPECTED[name])


def test_the_others_are_nan_and_the_answer_in_another_dtype(candidates: dict[str, Trivial]) -> None:
    assert candidates.keys() - EXPECTED.keys() == {"NaN everywhere", "answer in float64"}
    assert np.isnan(candidates["NaN everywhere"].outputs[0]).all()
    assert candidates["answer in float64"].outputs[0].dtype == np.float64


def test_only_what_equals_the_answer_is_right(candidates: dict[str, Trivial]) -> None:
    # Each element of SUM has at most six significant bits.
    right = {name for name, one in candidates.items() if one.right}
    assert right == {"answer rounded to bfloat16", "answer rounded to float16"}


def test_an_input_that_broadcasts_is_copied_to_every_row(task: Task) -> None:
    column = np.array([[1.0], [2.0]], np.float32)
    found = {one.name: one for one in make_trivial(task, drawn(column, Y), drawn(X, Y, OTHER))}
    np.testing.assert_array_equal(found["copy of x"].outputs[0], [[1, 1], [2, 2]])


def test_an_input_that_fits_no_way_is_not_copied(task: Task) -> None:
    long = np.zeros((3, 5), np.float32)
    assert "copy of x" not in {one.name for one in make_trivial(task, drawn(long, Y), drawn(X, Y, OTHER))}


def test_a_rounded_answer_is_right_where_honest_executions_are_hardly_closer(task: Task) -> None:
    third = np.full((2, 2), 1 / 3)  # 2**-12 of it is lost in float16
    for noise, right in ((2.0**-15, True), (2.0**-18, False)):
        found = make_trivial(task, drawn(X, Y, third, noise), drawn(X, Y, OTHER))
        assert [one.right for one in found if one.name == "answer rounded to float16"] == [right]


BFLOAT16 = TensorSpec(name="out", shape=("R",), dtype="bfloat16")


@pytest.mark.parametrize(
    ("values", "expected", "right"),
    [
        # Between 1 and 2 bfloat16 has steps of 2**-7.
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0078125, 2.0], [1.0, 2.0], True),
        ([1.015625, 2.0], [1.0, 2.0], False),
        ([1.0, np.nan], [1.0, np.nan], True),
        ([1.0, np.nan], [1.0, 2.0], False),
        ([1.0, np.inf], [1.0, 1e39], True),
        ([1.0, -np.inf], [1.0, np.inf], False),
        # Nobody tells apart what the engines flush to zero.
        ([1.0, 0.0], [1.0, 2.0**-125], True),
        ([1.0, 0.0], [1.0, 2.0**-120], False),
    ],
)
def test_an_answer_is_right_within_one_rounding(
    values: list[float], expected: list[float], right: bool
) -> None:
    assert is_right(BFLOAT16, np.array(values).astype(ml_dtypes.bfloat16), np.array(expected)) is right


def test_an_answer_of_another_dtype_or_shape_is_never_right() -> None:
    expected = np.array([1.0, 2.0])
    assert not is_right(BFLOAT16, expected.astype(np.float32), expected)
    assert not is_right(BFLOAT16, expected[:1].astype(ml_dtypes.bfloat16), expected)
