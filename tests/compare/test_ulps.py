"""Distances in units in the last place, against all numbers of a dtype in their order."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pipeline.compare.ulps import measure_ulps
from pipeline.emulator.dtypes import DTYPES

#: Storage and bits of the types that are small enough to write all their numbers down.
SMALL = {
    "float16": np.uint16,
    "bfloat16": np.uint16,
    "float8_e4m3": np.uint8,
    "float8_e4m3fn": np.uint8,
    "float8_e5m2": np.uint8,
}


def distance(value: float, expected: float, dtype: str) -> float:
    return float(measure_ulps(np.float64(value), np.float64(expected), DTYPES[dtype]))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SMALL)
def test_neighbours_are_one_apart_through_all_binades_and_subnormals_and_zero(name: str) -> None:
    storage = DTYPES[name].storage
    with np.errstate(invalid="ignore"):
        patterns = np.arange(np.iinfo(SMALL[name]).max + 1).astype(SMALL[name])
        everything = patterns.view(storage).astype(np.float64)
    ordered = np.unique(everything[np.isfinite(everything)])
    assert (measure_ulps(ordered[1:], ordered[:-1], DTYPES[name]) == 1).all()
    assert distance(ordered[-1], ordered[0], name) == len(ordered) - 1


@pytest.mark.parametrize(
    ("value", "expected", "dtype", "ulps"),
    [
        (1.0, 1.0, "float32", 0),
        (1 + 2.0**-23, 1.0, "float32", 1),
        # Below 1 the steps are half as wide.
        (1 - 2.0**-24, 1.0, "float32", 1),
        # From 1 to 2 lie 2**23 steps, and as many from 2 to 4.
        (4.0, 1.0, "float32", 2**24),
        (1.0, 1 + 2.0**-24, "float32", 0.5),
        (2.0**-149, 0.0, "float32", 1),
        (2.0**-149, -(2.0**-149), "float32", 2),
        (2.0**-126, 2.0**-126 - 2.0**-149, "float32", 1),
        (0.0, 1e-300, "float32", 0),
        (1.0, 1 + 2.0**-7, "bfloat16", 1),
        (7, 10, "int32", 3),
    ],
)
def test_distances_by_hand(value: float, expected: float, dtype: str, ulps: float) -> None:
    assert distance(value, expected, dtype) == pytest.approx(ulps, abs=1e-9)
    assert distance(-value, -expected, dtype) == pytest.approx(ulps, abs=1e-9)


def test_float32_agrees_with_the_order_of_its_bit_patterns() -> None:
    bits = np.random.default_rng(0).integers(0, 0x7F800000, size=(2, 500), dtype=np.int64)
    first, second = bits.astype(np.uint32).view(np.float32).astype(np.float64)
    assert np.array_equal(measure_ulps(first, second, DTYPES["float32"]), np.abs(bits[0] - bits[1]))


def test_scales_without_mantissa_are_counted_in_exponents() -> None:
    assert ml_dtypes.finfo(ml_dtypes.float8_e8m0fnu).minexp == -127
    assert distance(2.0**-127, 2.0**-124, "float8_e8m0fnu") == 3
