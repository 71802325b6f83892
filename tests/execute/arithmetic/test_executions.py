"""Honest executions against float32 arithmetic done step by step."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pipeline.execute.arithmetic.executions import Execution, Order
from pipeline.execute.arithmetic.formats import round_to
from pipeline.execute.arithmetic.value import Value

SERIAL = Order(None)


def value(
    numbers: np.ndarray | list[float],
    *,
    compute: str = "float32",
    storage: str = "float32",
    order: Order = SERIAL,
    seed: int | None = None,
) -> Value:
    rng = None if seed is None else np.random.default_rng(seed)
    arithmetic = Execution(compute, storage, order, rng)
    return Value(arithmetic, arithmetic.represent(np.asarray(numbers, np.float64)), derived=False)


def add_up(numbers: np.ndarray) -> np.float32:
    total = np.float32(0)
    for number in numbers.astype(np.float32):
        total = np.float32(total + number)
    return total


TERMS = np.random.default_rng(1).standard_normal(1000).astype(np.float32).astype(np.float64)
BLOCKS = [TERMS[i : i + 128] for i in range(0, 1000, 128)]

SUMS = {
    "one after the other": (Order(None), add_up(TERMS)),
    "last first": (Order(None, backwards=True), add_up(TERMS[::-1])),
    "blocks of 128": (Order(128), add_up(np.array([add_up(block) for block in BLOCKS]))),
}


@pytest.mark.parametrize("order", SUMS)
def test_terms_are_added_in_float32_in_order(order: str) -> None:
    how, expected = SUMS[order]
    assert value(TERMS, order=how).sum().values == expected


def test_short_blocks_are_summed_until_one_is_left() -> None:
    # 2**24 + 1 rounds to 2**24, so where the ones stand decides what they come to.
    terms = [2.0**24, 1.0, 1.0, 1.0]
    assert value(terms).sum().values == 2.0**24
    assert value(terms, order=Order(2)).sum().values == 2.0**24 + 2


def test_prefixes_are_added_within_blocks_and_then_across() -> None:
    terms = [2.0**24, 1.0, 1.0, 1.0]
    np.testing.assert_array_equal(np.cumsum(value(terms)).values, [2.0**24] * 4)
    np.testing.assert_array_equal(
        np.cumsum(value(terms, order=Order(2))).values, [2.0**24, 2.0**24, 2.0**24, 2.0**24 + 2]
    )


def test_matrices_are_multiplied_in_blocks() -> None:
    terms = np.array([2.0**24, 1.0, 1.0, 1.0])
    left = value(terms[None], order=Order(2))
    assert (left @ np.ones((4, 1))).values == 2.0**24 + 2


def test_every_result_is_rounded_to_float32() -> None:
    assert (value([1.0]) + 2.0**-30).values == 1.0
    assert (value([1.0]) / 3.0).values == np.float32(1) / np.float32(3)


def test_a_result_is_stored_when_it_is_read() -> None:
    third = value([1.0], storage="bfloat16") / 3.0
    assert third.values == np.float32(1 / 3)
    assert (third * 3.0).values == np.float32(3.0 * float(ml_dtypes.bfloat16(1 / 3)))


def test_what_the_storage_dtype_cannot_hold_is_not_stored_in_it() -> None:
    large = value([6e4], storage="float16") * 2.0
    assert (large * 0.25).values == 3e4


def test_operands_of_products_are_rounded() -> None:
    third = float(np.float32(1 / 3))
    product = value([[third]], compute="bfloat16") @ np.ones((1, 1))
    assert product.values == float(ml_dtypes.bfloat16(third))


def test_approximated_functions_err_at_random_within_their_bound() -> None:
    x = np.linspace(-3, 3, 4000)
    relative = np.exp(value(x, seed=3)).values / np.exp(x) - 1
    assert np.abs(relative).max() <= 2.0**-16 + 2.0**-23
    assert np.sqrt(np.mean(relative**2)) == pytest.approx(2.0**-16 / np.sqrt(3), rel=0.05)
    np.testing.assert_array_equal(np.exp(value(x)).values, np.exp(x).astype(np.float32))


def test_a_machine_repeats_itself() -> None:
    first, second = (np.tanh(value(TERMS, seed=9)).values for _ in range(2))
    np.testing.assert_array_equal(first, second)


ROUNDINGS = {
    ("bfloat16", 1 + 2.0**-8): 1.0,  # a tie goes to even
    ("bfloat16", 1 + 2.0**-8 + 2.0**-20): 1 + 2.0**-7,
    ("tfloat32", 1 + 2.0**-10 - 2.0**-23): 1.0,  # truncated
    ("float16", 1e6): np.inf,
    ("float8_e4m3", 1e6): 240.0,  # clipped, as honest kernels do
    ("float8_e5m2", -1e6): -57344.0,
    ("float32", 1 + 2.0**-30): 1.0,
}


@pytest.mark.parametrize(("dtype", "number"), ROUNDINGS)
def test_rounding(dtype: str, number: float) -> None:
    assert round_to(np.array([number]), dtype)[0] == ROUNDINGS[dtype, number]


def test_nan_stays_nan_when_truncated() -> None:
    assert np.isnan(round_to(np.array([np.nan]), "tfloat32")[0])
    assert np.isnan(round_to(np.array([0x7F800001], np.uint32).view(np.float32), "tfloat32")[0])
