"""Each pattern does what it is named for, and stays within what the dtype can hold."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pipeline.emulator.dtypes import dtype_named
from pipeline.execute.patterns import _PATTERNS, apply_pattern
from pipeline.types import Pattern

DTYPES = ("float32", "tfloat32", "bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")
#: IEEE 754 and the OCP 8-bit specification: largest finite and smallest normal numbers.
LARGEST = {
    "float32": 3.4028234663852886e38, "tfloat32": 3.4028234663852886e38, "bfloat16": 3.3895313892515355e38,
    "float16": 65504.0, "float8_e4m3": 240.0, "float8_e4m3fn": 448.0, "float8_e5m2": 57344.0,
}  # fmt: skip
every_pattern = pytest.mark.parametrize("pattern", [pattern.value for pattern in Pattern])
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def generator() -> np.random.Generator:
    return np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape)


def shape_and_round(pattern: str, values: np.ndarray, dtype: str) -> np.ndarray:
    """Values as a kernel gets them."""
    shaped = apply_pattern(pattern, values, generator(), dtype)
    return shaped.astype(dtype_named(dtype).storage).astype(np.float64)


@every_dtype
@every_pattern
def test_values_that_fill_the_range_of_the_dtype_stay_in_it(pattern: str, dtype: str) -> None:
    values = normal(9, 145)
    stored = shape_and_round(pattern, values * (LARGEST[dtype] / np.abs(values).max()), dtype)
    assert not np.isnan(stored).any()
    assert np.abs(stored[np.isfinite(stored)]).max() <= LARGEST[dtype]
    assert np.isfinite(stored).all() or pattern == "masked"


def test_there_is_one_for_every_name() -> None:
    assert set(_PATTERNS) == {pattern.value for pattern in Pattern}


@every_dtype
@every_pattern
def test_values_keep_their_shape_and_stay_numbers_that_the_dtype_has(pattern: str, dtype: str) -> None:
    values = normal(9, 145)
    before = values.copy()
    stored = shape_and_round(pattern, values, dtype)
    assert stored.shape == values.shape
    np.testing.assert_array_equal(values, before)
    finite = stored if pattern != "masked" else stored[np.isfinite(stored)]
    assert np.abs(finite).max() <= LARGEST[dtype]
    assert np.count_nonzero(finite) > finite.size / 2


@every_pattern
@pytest.mark.parametrize("shape", [(1,), (5,), (1, 1), (3, 1), (2, 3, 4)])
def test_any_shape_will_do(pattern: str, shape: tuple[int, ...]) -> None:
    assert apply_pattern(pattern, normal(*shape), generator(), "float32").shape == shape


@every_pattern
def test_values_that_are_all_zero_stay_numbers(pattern: str) -> None:
    shaped = apply_pattern(pattern, np.zeros((2, 4)), generator(), "bfloat16")
    assert not np.isnan(shaped).any()


@every_pattern
def test_infinities_that_a_task_draws_are_kept_where_they_stand(pattern: str) -> None:
    values = normal(4, 6)
    values[1, 2] = values[2, 0] = -np.inf
    shaped = apply_pattern(pattern, values, generator(), "float32")
    assert shaped[1, 2] == shaped[2, 0] == -np.inf
    assert not np.isnan(shaped).any()


@every_pattern
def test_the_same_generator_gives_the_same_values(pattern: str) -> None:
    one, other = (apply_pattern(pattern, normal(9, 20), generator(), "float16") for _ in range(2))
    assert one.tobytes() == other.tobytes()


def test_drawn_changes_nothing() -> None:
    np.testing.assert_array_equal(apply_pattern("drawn", normal(3, 4), generator(), "float32"), normal(3, 4))


def test_small_and_large_are_factors() -> None:
    np.testing.assert_allclose(
        apply_pattern("small", normal(3, 4), generator(), "float32"), 1e-3 * normal(3, 4)
    )
    np.testing.assert_array_equal(
        apply_pattern("large", normal(3, 4), generator(), "float32"), 64 * normal(3, 4)
    )


@every_dtype
def test_small_values_are_not_flushed(dtype: str) -> None:
    stored = shape_and_round("small", normal(9, 145), dtype)
    # Of a normal distribution 8 % lie below a tenth of its deviation.
    assert np.count_nonzero(stored) >= 0.9 * stored.size
    assert len(np.unique(np.abs(stored))) > 20


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_extreme_values_overflow_what_need_not_overflow_and_nothing_else(dtype: str) -> None:
    stored = shape_and_round("extreme", normal(9, 145), dtype).astype(np.float32)
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(stored)).any()
        assert np.isinf(stored.astype(np.float16) ** 2).any()
    assert np.isfinite(np.exp(stored - stored.max(axis=1, keepdims=True))).all()
    assert np.isfinite((stored**2).sum(axis=1)).all()
    assert np.isfinite(stored**4).all()
    assert np.abs(stored).max() <= 8192


@pytest.mark.parametrize("dtype", ["float8_e4m3", "float8_e4m3fn"])
def test_extreme_values_of_a_short_range_still_overflow_an_exponential(dtype: str) -> None:
    # exp overflows float32 from 88.8 (its largest number is e**88.72).
    assert np.abs(shape_and_round("extreme", normal(9, 145), dtype)).max() > 88.8 / 2


@every_dtype
def test_near_denormal_values_are_just_normal(dtype: str) -> None:
    smallest = {
        "float16": 2.0**-14,
        "float8_e5m2": 2.0**-14,
        "float8_e4m3": 2.0**-6,
        "float8_e4m3fn": 2.0**-6,
    }
    # Of float32's range the limits let one smallest normal be flushed: 1024 of them are still to be right.
    least = smallest.get(dtype, 1024 * 2.0**-126)
    stored = np.abs(shape_and_round("near_denormal", normal(9, 145), dtype))
    assert stored.min() >= least
    assert stored.max() <= 16 * least


def test_signed_values_are_negative_unless_the_task_draws_none() -> None:
    assert (apply_pattern("signed", normal(5, 6), generator(), "float32") <= 0).all()
    positive = np.abs(normal(5, 6))
    np.testing.assert_array_equal(apply_pattern("signed", positive, generator(), "float32"), positive)


@pytest.mark.parametrize(("dtype", "ratio"), [("float32", 1024), ("bfloat16", 32), ("float16", 256)])
def test_an_offset_leaves_the_spread_some_steps_of_the_dtype(dtype: str, ratio: int) -> None:
    # 8 bits of bfloat16 at 32 to 64 are steps of 1/4; 11 bits of float16 at 256 to 512 likewise.
    stored = shape_and_round("offset", normal(9, 145), dtype)
    assert ratio / 4 <= stored.mean() / stored.std() <= 2 * ratio
    assert len(np.unique(stored)) >= 12


def test_an_offset_shows_what_the_difference_of_mean_squares_loses() -> None:
    stored = shape_and_round("offset", normal(1, 145), "float32").astype(np.float32)
    variance = np.float32((stored * stored).mean(dtype=np.float32) - stored.mean(dtype=np.float32) ** 2)
    assert abs(variance / stored.var(dtype=np.float64) - 1) > 1e-3
    deviations = stored - stored.mean(dtype=np.float32)
    assert abs((deviations**2).mean() / stored.var(dtype=np.float64) - 1) < 1e-5


def test_constant_rows_hold_one_value_each() -> None:
    shaped = apply_pattern("constant_rows", normal(5, 6), generator(), "float32")
    assert (shaped == shaped[:, :1]).all()
    assert len(np.unique(shaped)) == 5


@every_dtype
def test_ties_are_few_values_that_the_dtype_holds_exactly(dtype: str) -> None:
    shaped = apply_pattern("ties", normal(9, 145), generator(), dtype)
    stored = shape_and_round("ties", normal(9, 145), dtype)
    np.testing.assert_array_equal(shaped, stored)
    assert 5 <= len(np.unique(stored)) <= 16


def test_sorted_rows_ascend() -> None:
    shaped = apply_pattern("sorted", normal(5, 40), generator(), "float32")
    assert (np.diff(shaped, axis=1) >= 0).all()
    np.testing.assert_array_equal(np.sort(normal(5, 40), axis=1), shaped)


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4096), ("float16", 4096), ("float8_e4m3", 64)])
def test_an_impulse_dominates_each_row(dtype: str, size: float) -> None:
    stored = np.abs(shape_and_round("impulse", normal(145, 145), dtype))
    ordered = np.sort(stored, axis=1)
    assert (ordered[:, -1] >= size).all()
    assert (ordered[:, -1] >= 128 * ordered[:, -2]).all()
    where = stored.argmax(axis=1)
    assert (where >= 128).any(), "no impulse in the tail"
    assert (where < 128).any()


def test_half_of_a_masked_row_is_minus_infinity_and_never_all_of_it() -> None:
    shaped = apply_pattern("masked", normal(2000, 4), generator(), "float32")
    masked = np.isneginf(shaped)
    assert not masked.all(axis=1).any()
    assert 0.3 < masked[::2].mean() < 0.5
    np.testing.assert_array_equal(shaped[~masked], normal(2000, 4)[~masked])


def test_every_other_masked_row_keeps_a_short_span_so_that_whole_tiles_are_masked() -> None:
    masked = np.isneginf(apply_pattern("masked", normal(40, 600), generator(), "float32"))
    kept = ~masked[1::2]
    assert kept.any(axis=1).all()
    assert kept.sum(axis=1).max() <= 7
    for row in kept:
        first, last = np.flatnonzero(row)[[0, -1]]
        assert row[first : last + 1].all()


def test_a_dtype_without_infinity_is_masked_with_its_lowest_number() -> None:
    stored = shape_and_round("masked", normal(20, 20), "float8_e4m3fn")
    assert stored.min() == -448
    assert np.isfinite(stored).all()


def test_narrow_ranges_end_where_the_dtypes_say() -> None:
    for name in ("float8_e4m3", "float8_e4m3fn", "float8_e5m2"):
        assert float(ml_dtypes.finfo(name).max) == LARGEST[name]


@pytest.mark.parametrize(("pattern", "dtype"), [("loud", "float32"), ("small", "float31")])
def test_an_unknown_name_is_refused(pattern: str, dtype: str) -> None:
    with pytest.raises(KeyError):
        apply_pattern(pattern, normal(2, 2), generator(), dtype)
