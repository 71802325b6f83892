"""Running error bounds against sums done by hand: u is 2**-24, and independent errors add in squares."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.execute.arithmetic.bounds import RunningError
from pipeline.execute.arithmetic.value import Value

U = 2.0**-24
APPROXIMATION = 2.0**-16


def value(*numbers: float, compute: str = "float32", storage: str = "float32") -> Value:
    arithmetic = RunningError(compute, storage)
    return Value(arithmetic, arithmetic.represent(np.array(numbers, np.float64)), derived=False)


def bound(result: Value) -> list[float]:
    return [float(error) for error in result.parts[1].reshape(-1)]


def test_an_input_has_no_error() -> None:
    assert bound(value(1.5, -3.0)) == [0.0, 0.0]


def test_a_sum_of_two_rounds_once() -> None:
    assert bound(value(1.0, 2.0) + value(3.0, -7.0)) == pytest.approx([4 * U, 5 * U])


def test_a_product_of_an_inexact_value_carries_its_error() -> None:
    third = value(1.0) + value(2.0)  # 3, off by 3u
    assert bound(third * 5.0) == pytest.approx([np.hypot(5 * 3 * U, 15 * U)])


def test_squares_double_the_relative_error() -> None:
    third = value(1.0) + value(2.0)
    for square in (third * third, third**2, np.square(third)):
        assert bound(square) == pytest.approx([np.hypot(2 * 3 * 3 * U, 9 * U)])


def test_a_maximum_takes_the_error_of_what_it_takes() -> None:
    assert bound(np.maximum(value(1.0, 2.0) + 1.0, 2.5)) == pytest.approx([0.0, 3 * U])
    assert bound((value(1.0, 2.0) + 1.0).max()) == pytest.approx([3 * U])


def test_where_two_values_may_be_taken_for_each_other_the_larger_error_counts() -> None:
    inexact = value(1.0) + 1.0  # 2, off by 2u
    for near in (2.0, 2.0 + 4 * U, 2.0 - 7 * U):
        assert bound(np.maximum(inexact, near)) == pytest.approx([2 * U])
        assert bound(np.minimum(inexact, near)) == pytest.approx([2 * U])
        assert bound(np.where([True], inexact, near)) == pytest.approx([2 * U])
        assert bound(np.where([False], inexact, near)) == pytest.approx([2 * U])
    # Beyond 4 bounds nobody takes the other one.
    assert bound(np.maximum(inexact, 2.0 + 9 * U)) == [0.0]
    assert bound(np.where([False], inexact, 2.0 + 9 * U)) == [0.0]
    assert bound(np.where([True], inexact, -np.inf)) == pytest.approx([2 * U])


def test_magnitude_and_sign_change_no_error() -> None:
    assert bound(abs(-(value(1.0) + 2.0))) == pytest.approx([3 * U])


def test_functions_of_the_scalar_engine_are_approximated() -> None:
    own = np.hypot(U, APPROXIMATION)
    assert bound(np.exp(value(2.0))) == pytest.approx([np.e**2 * own])
    assert bound(1.0 / value(4.0)) == pytest.approx([0.25 * own])
    assert bound(np.sqrt(value(9.0))) == pytest.approx([3 * own])


def test_division_by_a_constant_is_a_product() -> None:
    assert bound(value(12.0) / 3.0) == pytest.approx([4 * U])


def test_an_exponential_turns_absolute_errors_into_relative_ones() -> None:
    ten = value(4.0) + 6.0  # off by 10u
    assert bound(np.exp(ten)) == pytest.approx([np.exp(10) * np.hypot(10 * U, np.hypot(U, APPROXIMATION))])


def test_a_root_at_zero_does_not_blow_up() -> None:
    zero = value(1.0) - (value(0.5) + 0.5)  # 0, off by u
    assert bound(np.sqrt(zero)) == pytest.approx([np.sqrt(U)], rel=1e-3)


def test_a_sum_of_equal_terms_errs_by_its_partial_sums() -> None:
    # 1 + 1 + ...: partial sums 1 to 100, so u * sqrt(1 + 4 + ... + 100**2).
    ones = value(*np.ones(100))
    assert bound(ones.sum()) == pytest.approx([U * np.sqrt(338350)])


def test_a_mean_divides_error_and_sum() -> None:
    ones = value(*np.ones(100))
    assert bound(np.mean(ones)) == pytest.approx([np.hypot(U * np.sqrt(338350) / 100, U)])


def test_a_single_term_is_no_sum() -> None:
    assert bound(value(3.0).sum()) == [0.0]


def test_prefixes_err_by_the_partial_sums_so_far() -> None:
    # 1, 3, 6: the first is exact.
    expected = [0.0, U * np.sqrt(1 + 9), U * np.sqrt(1 + 9 + 36)]
    assert bound(np.cumsum(value(1.0, 2.0, 3.0))) == pytest.approx(expected, abs=1e-36)


def test_terms_that_cancel_in_this_order_need_not_in_another() -> None:
    # 9 - 9: the partial sums 9 and 0 of this order say less than those of any: Q = 162, S = 0.
    assert bound(np.cumsum(value(9.0, -9.0, 9.0)))[1] == pytest.approx(U * 9)
    # 1 - 9 + 9: 1, -8, 1, or -9, 0, 1.
    shuffled = U * np.sqrt(3 * (1 / 3 + 163 / 6))
    assert shuffled > U * np.sqrt(1 + 64 + 1)
    assert bound(value(1.0, -9.0, 9.0).sum()) == pytest.approx([shuffled])
    assert bound(np.cumsum(value(1.0, -9.0, 9.0)))[2] == pytest.approx(shuffled)


def test_sorted_terms_cost_what_they_reach_before_they_cancel() -> None:
    # -2, -1, 1, 2: partial sums -2, -3, -2, 0.
    assert bound(value(-2.0, -1.0, 1.0, 2.0).sum()) == pytest.approx([U * np.sqrt(4 + 9 + 4)])


def test_a_product_of_matrices_rounds_its_partial_sums() -> None:
    # S = 32, Q = 4**2 + 10**2 + 18**2 = 440, K = 3.
    product = value(1.0, 2.0, 3.0) @ value(4.0, 5.0, 6.0)
    assert bound(product) == pytest.approx([U * np.sqrt(3 * (32**2 / 3 + 440 / 6))])


def test_operands_that_are_exact_in_the_compute_dtype_lose_nothing() -> None:
    assert bound(value(1.5, compute="bfloat16")[None] @ np.ones((1, 1))) == pytest.approx(
        [U * 1.5 * np.sqrt(1 / 3 + 1 / 6)]
    )


def test_operands_that_are_not_lose_exactly_what_rounding_takes() -> None:
    # 1 + 2**-9 is half way between 1 and 1 + 2**-7 no more: it rounds to 1.
    product = value(1 + 2.0**-9, compute="bfloat16")[None] @ np.ones((1, 1))
    assert bound(product) == pytest.approx([2.0**-9], rel=1e-6)


def test_results_that_are_operands_may_lose_half_a_unit() -> None:
    product = (value(1.0, compute="bfloat16") + 1.0)[None] @ np.ones((1, 1))
    assert bound(product) == pytest.approx([2 * 2.0**-8], rel=1e-6)


def test_tfloat32_truncates() -> None:
    product = (value(1.0, compute="tfloat32") + 1.0)[None] @ np.ones((1, 1))
    assert bound(product) == pytest.approx([2 * 2.0**-10], rel=1e-6)


def test_a_result_is_rounded_to_the_storage_dtype_when_it_is_read() -> None:
    two = value(1.0, storage="bfloat16") + 1.0
    assert bound(two) == pytest.approx([2 * U])
    assert bound(two + 1.0) == pytest.approx([2 * 2.0**-8], rel=1e-6)


def test_an_input_is_not_stored_again() -> None:
    assert bound(value(1.0, storage="bfloat16") + 1.0) == pytest.approx([2 * U])


def test_subnormal_storage_loses_half_its_spacing() -> None:
    # float16's subnormals are 2**-24 apart.
    tiny = value(2.0**-20, storage="float16") * 1.0
    assert bound(tiny + 0.0) == pytest.approx([2.0**-25], rel=1e-6)


def test_a_cast_errs_by_a_step_only_near_a_boundary() -> None:
    half = np.dtype(np.float16)
    far = (value(1.0) + 1.0).astype(half)
    near = (value(1.0) + (1.0 + 2.0**-10)).astype(half)  # half way between 2 and 2 + 2**-9
    assert bound(far) == [0.0]  # type: ignore[arg-type]
    assert bound(near) == pytest.approx([2.0**-9])  # type: ignore[arg-type]


def test_a_step_is_seen_within_the_error() -> None:
    whole = value(1.0) + 2.0
    assert bound(np.floor(whole)) == [1.0]
    assert bound(np.floor(whole + 0.5)) == [0.0]


def test_where_the_value_is_infinite_there_is_no_error() -> None:
    assert bound(np.log(value(0.0))) == [0.0]
    assert bound(np.exp(value(-np.inf))) == pytest.approx([0.0], abs=1e-37)
