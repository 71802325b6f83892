"""transpose: rows become columns, and no element may change."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.oracle import Oracle
from pipeline.types import CaseKind
from tests.data.judging import answer, case_named, draw, load, passes

TASK = load("transpose")
OWN = [case.name for case in TASK.cases if case.kind is not CaseKind.BATTERY]
EVERY = [case.name for case in TASK.cases]


def test_the_reference_gives_the_columns_as_rows() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert answer(TASK, {"x": x}, {"R": 2, "C": 3}).tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


@pytest.mark.parametrize("name", EVERY)
def test_moving_the_values_is_right(shared_oracle: Oracle, name: str) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    columns = np.array([inputs["x"][:, c] for c in range(case.axes["C"])])
    assert passes(TASK, case, drawn, columns)


@pytest.mark.parametrize("name", [name for name in OWN if not name.startswith("one ")])
def test_another_order_of_the_same_values_is_wrong(shared_oracle: Oracle, name: str) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    x = inputs["x"]
    assert not passes(TASK, case, drawn, x.reshape(x.shape[::-1]))
    assert not passes(TASK, case, drawn, np.roll(x.T, 1, axis=0))
    assert not passes(TASK, case, drawn, x.T[::-1])


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("narrow", [ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3], ids=["e5m2", "e4m3"])
def test_values_that_passed_through_eight_bits_are_wrong(
    shared_oracle: Oracle, name: str, narrow: type
) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    with np.errstate(over="ignore"):
        values = inputs["x"].T.astype(np.float32).astype(narrow)
    assert not passes(TASK, case, drawn, values.astype(np.float32))


def test_one_wrong_element_is_enough(shared_oracle: Oracle) -> None:
    case = case_named(TASK, "tails on both axes")
    drawn, inputs = draw(shared_oracle, TASK, case)
    values = inputs["x"].T.copy()
    values[-1, -1] = 0
    assert not passes(TASK, case, drawn, values)
