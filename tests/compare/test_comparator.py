"""The comparator: expected values are worked out by hand in each test."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pipeline.compare.comparator import Comparison
from pipeline.types import OutputError
from tests.compare.limits import compare, hold


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


def test_the_message_gives_the_worst_place_its_values_and_what_they_exceed() -> None:
    got = ones(4, 20)
    got[3, 17] = 1.0
    expected = np.ones((4, 20))
    expected[3, 17] = 1.25
    comparison = compare(got, expected)
    assert not comparison.passed
    # ||error|| = 0.25; ||expected||**2 = 79 + 1.5625; the row has 19 + 1.5625; 2**21 steps lie between.
    rel_l2, row = 0.25 / np.sqrt(80.5625), 0.25 / np.sqrt(20.5625)
    assert comparison.message.startswith(
        "output 'out' differs at [3, 17]: got 1, expected 1.25 (2.1e+06 ulp apart); "
        f"rel-L2 {rel_l2:.3g} exceeds 1e-05, worst row rel-L2 {row:.3g} exceeds 1e-05, "
    )
    assert (
        "; 1 of 80 elements (1.25%), in [3:4, 17:18] beyond their limit; one element alone"
        in comparison.message
    )
    error = comparison.error
    assert error is not None
    assert error.rel_l2 == pytest.approx(rel_l2)
    assert error.worst_row_rel_l2 == pytest.approx(row)
    assert error.worst_elementwise == pytest.approx(0.25 / (1.25 + np.sqrt(80.5625 / 80)))
    assert (error.worst_index, error.beyond, error.elements) == ((3, 17), 1, 80)
    assert error.ulps == 2**21


def test_what_it_was_held_to_is_recorded_with_the_distances() -> None:
    expected = np.array([[3.0, 4.0], [0.0, 12.0]])
    limits = hold(expected, 1e-3, 2e-3, 3e-3)
    error = compare(expected.astype(np.float32), expected, limits).error
    assert error is not None
    assert error.tolerance is not None
    assert (error.tolerance.rel_l2, error.tolerance.row_rel_l2) == (1e-3, 2e-3)
    assert error.tolerance.elementwise == pytest.approx(3e-3)
    assert (error.tolerance.derivation, error.tolerance.overridden) == (("by hand",), False)


def test_each_element_and_each_row_is_held_to_its_own_limit() -> None:
    expected = np.ones((2, 2))
    loose = np.array([[0.1, 0.2], [0.1, 0.4]])
    limits = replace(hold(expected, 1, 1), elementwise=loose)
    got = np.array([[1.0, 1.15], [1.0, 1.3]], np.float32)
    inside = compare(got, expected, limits)
    assert inside.passed
    # The worst is what uses up most of its limit, 0.15 of 0.2 or 0.3 of 0.4, and not what is farthest off.
    got[0, 1] = 1.19
    error = compare(got, expected, limits).error
    assert error is not None
    assert error.worst_index == (0, 1)
    rows = compare(got, expected, replace(limits, row_rel_l2=np.array([0.13, 0.3])))
    assert not rows.passed
    assert rows.error is not None
    assert rows.error.worst_row_rel_l2 == pytest.approx(0.19 / np.sqrt(2), rel=1e-6)
    assert rows.error.tolerance is not None
    assert rows.error.tolerance.row_rel_l2 == 0.13
    assert rows.error.beyond == 0


def test_a_missing_tail_is_told_by_the_box_around_it_and_by_what_it_means() -> None:
    got = ones(200, 40)
    got[128:] = 0
    message = compare(got, np.ones((200, 40))).message
    assert "2880 of 8000 elements (36%), in [128:200, 0:40] beyond their limit" in message
    assert message.endswith(
        "they are exactly rows 128:200, the last partial tile of 128 rows: give the last tile its own size,"
        " in its loads, its instructions and its store"
    )


def test_no_share_of_wrong_elements_is_forgiven() -> None:
    expected = np.random.default_rng(0).standard_normal((1000, 100))
    got = expected.astype(np.float32)
    got[123, 45] += 1.0
    comparison = compare(got, expected, hold(expected, 1, 1, 1e-3))
    assert not comparison.passed
    assert comparison.error is not None
    assert (comparison.error.beyond, comparison.error.elements) == (1, 100_000)


def test_a_lost_digit_everywhere_is_told_as_such() -> None:
    expected, noise = np.random.default_rng(0).standard_normal((2, 20, 30))
    got = (expected * (1 + 1e-4 * noise)).astype(np.float32)
    comparison = compare(got, expected, hold(expected, 1e-5, 1, 1))
    assert not comparison.passed
    assert comparison.message.endswith("all of it is a little less precise")


# Traps of numpy.allclose (facts/grading.md section 2, rows 11 and 33).


class _Agreeable(np.ndarray):
    """An array that agrees with everything."""

    shape = (2, 3)

    def __array_ufunc__(self, *_: object, **__: object) -> np.ndarray:
        return np.zeros((2, 3))

    def __array_function__(self, *_: object, **__: object) -> bool:
        return True

    def __eq__(self, _: object) -> bool:
        return True

    def astype(self, *_: object, **__: object) -> np.ndarray:
        return np.ones((2, 3))


def test_a_subclass_is_judged_by_its_values_alone() -> None:
    assert np.allclose(np.zeros((2, 3), np.float32).view(_Agreeable), np.ones((2, 3)))
    assert not compare(np.zeros((2, 3), np.float32).view(_Agreeable), np.ones((2, 3))).passed
    assert not compare(np.zeros((7, 3), np.float32).view(_Agreeable), np.ones((2, 3))).passed
    masked = np.ma.masked_all((2, 3), np.float32)
    masked.data[:] = 0
    assert not compare(masked, np.ones((2, 3))).passed


def test_nothing_is_not_close_to_everything() -> None:
    assert np.allclose(np.ones((0, 3)), np.zeros((1, 3)))
    for nothing in (np.ones((0, 3), np.float32), np.float32(1.0)):
        itself = compare(nothing, nothing)  # type: ignore[arg-type]
        assert not itself.passed
        assert "has nothing to compare" in itself.message
    assert not compare(np.float32(0), np.zeros((4, 4))).passed  # type: ignore[arg-type]


# What others would say.


def error_of(comparison: Comparison) -> OutputError:
    assert comparison.error is not None
    return comparison.error


def test_the_rule_of_aws_measures_against_the_largest_element() -> None:
    # 1e-5 of 1000 is 1e-2, which a thousandth of the small element lies far within.
    expected = np.array([[1000.0, 1.0]])
    got = np.array([[1000.0, 1.001]], np.float32)
    error = error_of(compare(got, expected))
    assert (error.aws_rule, error.allclose) == (True, False)
    error = error_of(compare(np.array([[1000.0, 1.02]], np.float32), expected))
    assert (error.aws_rule, error.allclose) == (False, False)
    # 2e-2 of 1000 for bfloat16.
    sixteen = np.array([[1000.0, 17.0]], ml_dtypes.bfloat16)
    assert error_of(compare(sixteen, expected, dtype="bfloat16")).aws_rule


@given(
    hnp.arrays(np.float32, (3, 4), elements=st.floats(-10, 10, width=32)),
    hnp.arrays(np.float32, (3, 4), elements=st.floats(-(2.0**-15), 2.0**-15, width=32)),
)
def test_numpys_rule_is_numpys(expected: np.ndarray, noise: np.ndarray) -> None:
    got = expected + noise
    said = error_of(compare(got, expected)).allclose
    assert said == np.allclose(got.astype(np.float64), expected.astype(np.float64), rtol=1e-5, atol=1e-8)


def test_nan_fails_however_loose_the_limits() -> None:
    got = ones(2, 2)
    got[1, 0] = np.nan
    comparison = compare(got, np.ones((2, 2)), hold(np.ones((2, 2)), 1e300, 1e300, 1e290))
    assert not comparison.passed
    assert comparison.message.startswith(
        "output 'out' differs at [1, 0]: got nan, expected 1; "
        "NaN or infinity disagree in 1 of 4 elements (25%), in [1:2, 0:1]; a NaN comes from"
    )
    assert comparison.error is not None
    assert comparison.error.beyond == 1


def test_nan_fails_where_a_number_is_given_instead() -> None:
    assert not compare(ones(1, 2), [[1.0, np.nan]]).passed


def test_what_a_lost_infinity_usually_means_is_said() -> None:
    assert "a mask" in compare(ones(1, 2), [[1.0, -np.inf]]).message
    assert "overflowed" in compare(np.array([[1, np.inf]], np.float32), [[1.0, 1.0]]).message


def test_infinities_must_have_the_right_sign() -> None:
    got = np.array([[np.inf, 1.0]], dtype=np.float32)
    assert compare(got, [[np.inf, 1.0]]).passed
    both = np.array([[np.inf, -np.inf]], dtype=np.float32)
    assert compare(both, [[np.inf, -np.inf]]).passed
    undefined = replace(hold([[1.0, 1.0]]), elementwise=np.array([[np.nan, 0.0]]))
    assert compare(got, [[np.inf, 1.0]], undefined).passed
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


def test_a_zero_reference_has_no_relative_error_and_its_elements_decide() -> None:
    zeros = np.zeros((2, 3), dtype=np.float32)
    assert compare(zeros, zeros).passed
    assert compare(-zeros, zeros).passed
    wrong = zeros.copy()
    wrong[0, 1] = 1e-30
    comparison = compare(wrong, zeros, hold(zeros, 1e6, 1e6, 1e6))
    assert not comparison.passed
    assert comparison.error is not None
    assert comparison.error.rel_l2 == np.inf
    # What the engines flush may differ: limits say so for each element.
    allowed = replace(hold(zeros, 0, 0), elementwise=np.full((2, 3), 2e-30))
    flushed = compare(wrong, zeros, allowed)
    assert flushed.passed
    assert flushed.error is not None
    assert (flushed.error.rel_l2, flushed.error.worst_elementwise) == (0.0, 0.0)


def test_a_row_of_zeros_has_no_relative_error_and_its_elements_decide() -> None:
    expected = np.zeros((2, 4))
    expected[0] = 2.0
    got = expected.astype(np.float32)
    got[1, 3] = 1e-3
    # The root mean square is sqrt(2): 1e-3 is 7.1e-4 of it.
    inside = compare(got, expected, hold(expected, 1e-2, 0, 7.2e-4))
    assert inside.passed
    assert inside.error is not None
    assert inside.error.worst_row_rel_l2 == 0
    outside = compare(got, expected, hold(expected, 1e-2, 1e6, 7e-4))
    assert not outside.passed
    assert outside.error is not None
    assert outside.error.worst_row_rel_l2 == np.inf


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
    comparison = compare(got, expected, hold(expected, rel_l2=1e-2, row=1e-1, elementwise=1e-2))
    assert not comparison.passed
    assert comparison.error is not None
    assert comparison.error.worst_elementwise == pytest.approx(0.25, rel=1e-5)
    assert comparison.error.worst_index == (500, 500)


def test_half_a_unit_in_the_last_place_passes_where_the_tolerance_is_that_and_a_whole_one_does_not() -> None:
    # bfloat16 has 1 and 1 + 2**-7 next to each other; the reference lies halfway.
    expected = np.full((1, 4), 1 + 2.0**-8)
    half = hold(expected, 2.0**-8, 2.0**-8, 2.0**-8)
    assert compare(np.full((1, 4), 1.0, ml_dtypes.bfloat16), expected, half, dtype="bfloat16").passed
    assert compare(np.full((1, 4), 1 + 2.0**-7, ml_dtypes.bfloat16), expected, half, dtype="bfloat16").passed
    assert not compare(
        np.full((1, 4), 1 + 2.0**-6, ml_dtypes.bfloat16), expected, half, dtype="bfloat16"
    ).passed


def test_integers_are_counted_one_by_one() -> None:
    got = np.array([[1, 2, 2**30]], dtype=np.int32)
    assert compare(got, [[1, 2, 2.0**30]], hold(got, 0, 0, 0), dtype="int32").passed
    off = compare(got, [[1, 2, 2.0**30 + 1]], hold(got, 0, 0, 0), dtype="int32")
    assert not off.passed
    assert off.error is not None
    assert off.error.ulps == 1


def test_magnitudes_whose_squares_overflow_or_vanish_are_measured() -> None:
    infinite = np.full((2, 2), np.inf, dtype=np.float32)
    assert compare(infinite, np.full((2, 2), 1e300)).passed  # beyond float32: infinity is right
    for magnitude in (1e-200, 1e-170):
        # Rounds to zero in float32, which is all of the error.
        lost = compare(np.zeros((2, 2), np.float32), np.full((2, 2), magnitude)).error
        assert lost is not None
        assert (lost.rel_l2, lost.worst_row_rel_l2) == pytest.approx((1, 1))
    for size in (1e-30, 1e30):
        off = compare(np.full((2, 2), 1.5 * size, np.float32), np.full((2, 2), size)).error
        assert off is not None
        assert off.rel_l2 == pytest.approx(0.5, rel=1e-6)


def test_one_dimensional_outputs_are_one_row() -> None:
    comparison = compare(np.array([3.0, 4.0], np.float32), [3.0, 5.0])
    assert comparison.error is not None
    assert comparison.error.worst_row_rel_l2 == pytest.approx(1 / np.sqrt(34))
    assert comparison.error.worst_index == (1,)


FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5)


@given(hnp.arrays(np.float32, SHAPES, elements=FLOATS))
def test_every_array_agrees_with_itself(values: np.ndarray) -> None:
    assert compare(values, values.astype(np.float64), hold(values, 0, 0, 0)).passed


@given(hnp.arrays(np.float32, (3, 4), elements=FLOATS), hnp.arrays(np.float32, (3, 4), elements=FLOATS))
def test_exact_limits_pass_equal_arrays_only(got: np.ndarray, expected: np.ndarray) -> None:
    passed = compare(got, expected, hold(expected, 0, 0, 0)).passed
    assert passed == np.array_equal(got, expected, equal_nan=True)
