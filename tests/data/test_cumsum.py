"""cumsum: the reference is a running sum; the limits take any order of float32 additions, no other sum."""

from __future__ import annotations

import math
from itertools import accumulate

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.oracle import Oracle
from pipeline.types import CaseKind
from tests.data.judging import answer, case_named, draw, load, passes

TASK = load("cumsum")
NAMES = ["one tile", "tails on both axes", "growing sums over several tiles", "positions from masks"]
NAMES += [
    "many rows",
    "long rows",
    "battery: drawn",
    "battery: extreme",
    "battery: impulse",
    "battery: small",
]


def test_each_element_is_the_sum_of_those_up_to_it() -> None:
    x = np.random.default_rng(0).standard_normal((3, 37))
    out = answer(TASK, {"x": x}, {"R": 3, "C": 37})
    for row, sums in zip(x.tolist(), out.tolist(), strict=True):
        for c, got in enumerate(sums):
            assert got == pytest.approx(math.fsum(row[: c + 1]), rel=1e-13, abs=1e-13)


def test_the_first_element_counts_and_rows_do_not_mix() -> None:
    x = np.array([[3.0, 0.0, 4.0], [-1.0, 1.0, 10.0]])
    assert answer(TASK, {"x": x}, {"R": 2, "C": 3}).tolist() == [[3.0, 3.0, 7.0], [-1.0, 0.0, 10.0]]


@pytest.mark.sandbox
def test_masks_hold_zeros_and_ones_and_their_sums_count_them(shared_oracle: Oracle) -> None:
    drawn, inputs = draw(shared_oracle, TASK, case_named(TASK, "longest rows"))
    assert set(np.unique(inputs["x"]).tolist()) == {0.0, 1.0}
    for row, sums in zip(inputs["x"].astype(int).tolist(), drawn.expected[0].tolist(), strict=True):
        assert sums == list(accumulate(row))


@pytest.mark.sandbox
def test_growing_sums_grow_along_the_whole_row(shared_oracle: Oracle) -> None:
    drawn, inputs = draw(shared_oracle, TASK, case_named(TASK, "long rows"))
    assert inputs["x"].min() >= 0.5
    assert inputs["x"].max() <= 1.5
    assert (np.diff(drawn.expected[0], axis=1) > 0).all()


def test_rows_of_several_tiles_are_listed_scored_and_hidden() -> None:
    for kind in (CaseKind.CHECK, CaseKind.SCORED, CaseKind.HIDDEN):
        assert any(case.axes["C"] >= 4096 for case in TASK.cases if case.kind is kind)


# Float32 orders that an author may choose.


def from_left(x: np.ndarray) -> np.ndarray:
    return np.add.accumulate(x, axis=1)


def by_doubling(x: np.ndarray) -> np.ndarray:
    sums, distance = x, 1
    while distance < x.shape[1]:
        wider = sums.copy()
        wider[:, distance:] += sums[:, :-distance]
        sums, distance = wider, 2 * distance
    return sums


def by_blocks(x: np.ndarray) -> np.ndarray:
    """Within 32 columns first, as warps do, then the totals of all before."""
    blocks = [from_left(x[:, c : c + 32]) for c in range(0, x.shape[1], 32)]
    totals = from_left(np.concatenate([block[:, -1:] for block in blocks], axis=1))
    carried = [blocks[0], *(block + totals[:, i : i + 1] for i, block in enumerate(blocks[1:]))]
    return np.concatenate(carried, axis=1)


@pytest.mark.sandbox
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", [from_left, by_doubling, by_blocks], ids=lambda order: order.__name__)
def test_any_order_of_additions_is_inside(name: str, order: object, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    assert callable(order)
    assert passes(TASK, case, drawn, order(inputs["x"]))


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "name", ["tails on both axes", "growing sums over several tiles", "many rows", "long rows"]
)
def test_a_carry_in_bfloat16_is_outside(name: str, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    tiles, carry = [], np.zeros((case.axes["R"], 1), np.float32)
    for c in range(0, case.axes["C"], 512):
        tiles.append(from_left(inputs["x"][:, c : c + 512]) + carry)
        carry = tiles[-1][:, -1:].astype(ml_dtypes.bfloat16).astype(np.float32)
    assert not passes(TASK, case, drawn, np.concatenate(tiles, axis=1))


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["one tile", "many rows", "long rows", "positions from masks"])
def test_a_sum_that_lacks_one_term_is_outside(name: str, shared_oracle: Oracle) -> None:
    case = case_named(TASK, name)
    drawn, inputs = draw(shared_oracle, TASK, case)
    x = inputs["x"].copy()
    row = case.axes["R"] // 2
    x[row, int(np.flatnonzero(x[row])[-1])] = 0.0
    assert not passes(TASK, case, drawn, from_left(x))
