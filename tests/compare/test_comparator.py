"""The comparator: expected values are worked out by hand in each test."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pipeline.compare.comparator import Comparison, compare_output
from pipeline.types import Numerics, TensorSpec


def limits(rel_l2: float = 1e-5, row: float = 1e-5, elementwise: float = 1e-5) -> Numerics:
    return Numerics(rel_l2=rel_l2, row_rel_l2=row, elementwise=elementwise, reason="by hand")


def compare(
    got: np.ndarray, expected: object, numerics: Numerics | None = None, dtype: str = "float32"
) -> Comparison:
    spec = TensorSpec(name="out", shape=("R", "C"), dtype=dtype)
    return compare_output(spec, got, np.asarray(expected, dtype=np.float64), numerics or limits())


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, dtype=np.float32)


def test_equal_arrays_agree_with_no_distance_at_all() -> None:
    comparison = compare(ones(2, 3), np.ones((2, 3)))
    assert comparison.passed
    assert comparison.error is not None
    assert (comparison.error.rel_l2, comparison.error.worst_row_rel_l2) == (0.0, 0.0)
    assert comparison.error.worst_elementwise == 0.0


@pytest.mark.parametrize("shape", [(3, 2), (2, 1), (6,), (2, 3, 1), (0, 3)])
def test_another_shape_fails_even_where_numpy_would_broadcast(shape: tuple[int, ...]) -> None:
    comparison = compare(ones(*shape), np.ones((2, 3)))
    assert not comparison.passed
    assert comparison.message == f"output 'out' has shape {list(shape)}, expected [2, 3]"
    assert comparison.error is None


def test_another_dtype_fails_even_with_equal_values() -> None:
    comparison = compare(np.ones((2, 2), dtype=np.float64), np.ones((2, 2)))
    assert not comparison.passed
    assert comparison.message == "output 'out' has dtype float64, expected float32"


def test_the_message_gives_the_worst_place_and_its_values() -> None:
    got = ones(4, 20)
    got[3, 17] = 0.0
    expected = np.ones((4, 20))
    expected[3, 17] = 1.25
    comparison = compare(got, expected)
    assert not comparison.passed
    # ||error|| = 1.25; ||expected||**2 = 79 + 1.5625; the row has 19 + 1.5625.
    rel_l2, row = 1.25 / np.sqrt(80.5625), 1.25 / np.sqrt(20.5625)
    assert comparison.message.startswith(
        "output 'out' differs at [3, 17]: got 0, expected 1.25; "
        f"rel-L2 {rel_l2:.3g} exceeds 1e-05, worst row rel-L2 {row:.3g} exceeds 1e-05"
    )
    assert comparison.message.endswith("1 of 80 elements, in [3:4, 17:18]")
    assert comparison.error is not None
    assert comparison.error.rel_l2 == pytest.approx(rel_l2)
    assert comparison.error.worst_row_rel_l2 == pytest.approx(row)
    assert comparison.error.worst_elementwise == pytest.approx(1.25 / (1.25 + np.sqrt(80.5625 / 80)))
    assert comparison.error.worst_index == (3, 17)


def test_a_missing_tail_is_told_by_the_box_around_it() -> None:
    got = ones(200, 40)
    got[128:, 32:] = 0
    assert "576 of 8000 elements, in [128:200, 32:40]" in compare(got, np.ones((200, 40))).message


def test_nan_fails_however_loose_the_limits() -> None:
    got = ones(2, 2)
    got[1, 0] = np.nan
    comparison = compare(got, np.ones((2, 2)), limits(1e300, 1e300, 1e300))
    assert not comparison.passed
    assert comparison.message == (
        "output 'out' differs at [1, 0]: got nan, expected 1; "
        "NaN or infinity disagree in 1 of 4 elements, in [1:2, 0:1]"
    )


def test_nan_fails_where_a_number_is_given_instead() -> None:
    assert not compare(ones(1, 2), [[1.0, np.nan]]).passed


def test_infinities_must_have_the_right_sign() -> None:
    got = np.array([[np.inf, 1.0]], dtype=np.float32)
    assert compare(got, [[np.inf, 1.0]]).passed
    assert not compare(got, [[-np.inf, 1.0]]).passed


def test_special_values_that_agree_do_not_hide_a_wrong_number() -> None:
    got = np.array([[np.nan, -np.inf, 2.0]], dtype=np.float32)
    comparison = compare(got, [[np.nan, -np.inf, 1.0]])
    assert not comparison.passed
    assert comparison.error is not None
    assert comparison.error.worst_index == (0, 2)
    assert comparison.error.rel_l2 == 1.0


def test_a_reference_beyond_the_dtypes_range_is_an_infinity() -> None:
    # The largest finite float16 is 65504.
    assert compare(np.array([[np.inf, 1]], np.float16), [[7e4, 1.0]], dtype="float16").passed


def test_a_zero_reference_accepts_zeros_and_nothing_else() -> None:
    zeros = np.zeros((2, 3), dtype=np.float32)
    assert compare(zeros, zeros).passed
    assert compare(-zeros, zeros).passed
    wrong = zeros.copy()
    wrong[0, 1] = 1e-30
    comparison = compare(wrong, zeros, limits(1e6, 1e6, 1e6))
    assert not comparison.passed
    assert comparison.error is not None
    assert comparison.error.rel_l2 == np.inf


def test_a_row_of_zeros_is_measured_against_the_other_rows() -> None:
    expected = np.zeros((2, 4))
    expected[0] = 2.0
    got = expected.astype(np.float32)
    got[1, 3] = 1e-3
    comparison = compare(got, expected, limits(row=1e-2, rel_l2=1e-2, elementwise=1e-2))
    assert comparison.passed
    assert comparison.error is not None
    # Row norms are 4 and 0, their root mean square 4 / sqrt(2).
    assert comparison.error.worst_row_rel_l2 == pytest.approx(1e-3 / (4 / np.sqrt(2)))


def test_a_wrong_small_row_fails_though_the_whole_is_close() -> None:
    expected = np.vstack([np.full((1, 8), 1e4), np.full((1, 8), 1e-3)])
    got = expected.astype(np.float32)
    got[1] = 2e-3
    comparison = compare(got, expected)
    assert not comparison.passed
    assert comparison.error is not None
    assert comparison.error.rel_l2 <= 1e-5
    assert comparison.error.worst_elementwise <= 1e-5
    assert comparison.error.worst_row_rel_l2 == pytest.approx(1.0)
    assert comparison.error.worst_index[0] == 1


def test_one_wrong_element_among_many_fails_though_the_norm_is_small() -> None:
    expected = np.ones((1000, 1000))
    got = expected.astype(np.float32)
    got[500, 500] = 0.5
    comparison = compare(got, expected, limits(rel_l2=1e-2, row=1e-1, elementwise=1e-2))
    assert not comparison.passed
    assert comparison.error is not None
    assert comparison.error.worst_elementwise == pytest.approx(0.25, rel=1e-5)
    assert comparison.error.worst_index == (500, 500)


def test_half_a_unit_in_the_last_place_passes_where_the_tolerance_is_that_and_a_whole_one_does_not() -> None:
    # bfloat16 has 1 and 1 + 2**-7 next to each other; the reference lies halfway.
    expected = np.full((1, 4), 1 + 2.0**-8)
    half = limits(2.0**-8, 2.0**-8, 2.0**-8)
    assert compare(np.full((1, 4), 1.0, ml_dtypes.bfloat16), expected, half, dtype="bfloat16").passed
    assert compare(np.full((1, 4), 1 + 2.0**-7, ml_dtypes.bfloat16), expected, half, dtype="bfloat16").passed
    assert not compare(
        np.full((1, 4), 1 + 2.0**-6, ml_dtypes.bfloat16), expected, half, dtype="bfloat16"
    ).passed


def test_integers_must_be_equal_whatever_the_tolerance() -> None:
    got = np.array([[1, 2, 2**30]], dtype=np.int32)
    assert compare(got, [[1, 2, 2.0**30]], limits(1, 1, 1), dtype="int32").passed
    assert not compare(got, [[1, 2, 2.0**30 + 1]], limits(1, 1, 1), dtype="int32").passed


def test_magnitudes_whose_squares_overflow_are_measured() -> None:
    expected = np.full((2, 2), 1e300)
    spec = TensorSpec(name="out", shape=("R", "C"), dtype="float32")
    got = np.full((2, 2), np.inf, dtype=np.float32)
    assert compare_output(spec, got, expected, limits()).passed  # beyond float32: infinity is right
    small = np.full((2, 2), 1e-30)
    comparison = compare_output(spec, (small * 1.5).astype(np.float32), small, limits())
    assert comparison.error is not None
    assert comparison.error.rel_l2 == pytest.approx(0.5, rel=1e-6)


def test_one_dimensional_outputs_are_one_row() -> None:
    comparison = compare(np.array([3.0, 4.0], np.float32), [3.0, 5.0])
    assert comparison.error is not None
    assert comparison.error.worst_row_rel_l2 == pytest.approx(1 / np.sqrt(34))
    assert comparison.error.worst_index == (1,)


FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5)


@given(hnp.arrays(np.float32, SHAPES, elements=FLOATS))
def test_every_array_agrees_with_itself(values: np.ndarray) -> None:
    assert compare(values, values.astype(np.float64), limits(0, 0, 0)).passed


@given(hnp.arrays(np.float32, (3, 4), elements=FLOATS), hnp.arrays(np.float32, (3, 4), elements=FLOATS))
def test_exact_limits_pass_equal_arrays_only(got: np.ndarray, expected: np.ndarray) -> None:
    passed = compare(got, expected.astype(np.float64), limits(0, 0, 0)).passed
    assert passed == np.array_equal(got, expected, equal_nan=True)
