"""The picture of an output's errors, counted by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import ml_dtypes
import numpy as np

from pipeline.compare.pictures import picture_errors
from pipeline.types import ErrorPicture, TensorSpec
from tests.compare.limits import hold


def picture(
    got: np.ndarray, expected: np.ndarray, dtype: str = "float32", limit: float = 1.0
) -> ErrorPicture:
    limits = replace(hold(expected), elementwise=np.full(expected.shape, limit))
    made = picture_errors(TensorSpec(name="out", shape=("R", "C"), dtype=dtype), got, expected, limits)
    assert made is not None
    return made


def counted(made: ErrorPicture) -> dict[float, int]:
    """Return the bins that hold something, by their upper edge."""
    pairs = zip(made.ulp_edges[1:], made.ulp_counts, strict=True)
    return {edge: count for edge, count in pairs if count}


def test_elements_are_counted_by_their_distance_in_ulp() -> None:
    step = 2.0**-7
    # Above 1 bfloat16 has steps of 2**-7: half a step, one, one and a half, 100 steps and none at all.
    expected = np.array([[1 + step / 2, 1 + step, 1 + 1.5 * step, 1.0, 1.0]])
    got = np.array([[1, 1, 1, 1 + 100 * step, 1]], ml_dtypes.bfloat16)
    made = picture(got, expected, "bfloat16")
    assert counted(made) == {0.5: 2, 1.0: 1, 2.0: 1, 256.0: 1}
    assert sum(made.ulp_counts) == 5


def test_the_map_holds_the_largest_error_over_its_limit_in_each_cell() -> None:
    expected = np.zeros((64, 100))
    got = np.zeros((64, 100), np.float32)
    # 64 rows make 32 cells of two; 100 columns make cells that begin at 100 * k // 32.
    got[5, 3] = 0.5
    got[4, 5] = 2.0
    made = picture(got, expected, limit=2.0)
    assert made.map_shape == (64, 100)
    cells = np.array(made.map)
    assert cells.shape == (32, 32)
    assert {(int(r), int(c)): cells[r, c] for r, c in np.argwhere(cells)} == {(2, 1): 1.0}


def test_a_small_output_has_a_cell_per_element_and_higher_ranks_are_rows() -> None:
    expected = np.zeros((2, 2, 3))
    got = np.zeros((2, 2, 3), np.float32)
    got[1, 0, 2] = 3.0
    made = picture(got, expected, limit=2.0)
    assert made.map_shape == (4, 3)
    assert made.map == ((0, 0, 0), (0, 0, 0), (0, 0, 1.5), (0, 0, 0))


def test_special_values_are_right_or_infinitely_wrong() -> None:
    expected = np.array([[np.nan, np.inf, 1.0, -np.inf, 1.0]])
    got = np.array([[np.nan, np.inf, np.nan, np.inf, 1.0]], np.float32)
    made = picture(got, expected)
    assert counted(made) == {0.5: 3, math.inf: 2}
    assert made.map == ((0, 0, math.inf, math.inf, 0),)


def test_where_no_error_is_allowed_any_is_infinite() -> None:
    made = picture(np.array([[1, 2]], np.int32), np.array([[1.0, 3.0]]), "int32", limit=0.0)
    assert made.map == ((0, math.inf),)
    assert counted(made) == {0.5: 1, 1.0: 1}


def test_outputs_that_cannot_be_compared_have_no_picture() -> None:
    spec = TensorSpec(name="out", shape=("R", "C"), dtype="float32")
    expected = np.ones((2, 2))
    for got in (np.ones((2, 3), np.float32), np.ones((2, 2))):
        assert picture_errors(spec, got, expected, hold(expected)) is None
    assert picture_errors(spec, np.ones((0, 2), np.float32), np.ones((0, 2)), hold(expected)) is None


def test_a_picture_survives_being_stored() -> None:
    made = picture(np.array([[np.nan, 1.0]], np.float32), np.array([[0.0, 1.0]]))
    assert ErrorPicture.model_validate_json(made.model_dump_json()) == made
