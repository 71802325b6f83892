"""Limits where there is no size to be relative to, nothing to round, or nothing but flushing."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.compare.comparator import compare_output
from pipeline.compare.tolerance import derive_tolerance
from pipeline.types import Numerics, TensorSpec

INTEGERS = TensorSpec(name="q", shape=("R", "C"), dtype="int32")
FLOATS = TensorSpec(name="out", shape=("R", "C"), dtype="float32")
SMALLEST = 2.0**-126

LEVELS = np.array([[100.0, -50.0, 0.0, 27.0], [3.0, 4.0, 0.0, 0.0]])
#: Of LEVELS: root of (100**2 + 50**2 + 27**2 + 3**2 + 4**2) / 8.
RMS = (13254 / 8) ** 0.5


def passes(got: np.ndarray, numerics: Numerics) -> bool:
    limits = derive_tolerance(INTEGERS, LEVELS, np.zeros(LEVELS.shape, np.float32), (), numerics)
    return compare_output(INTEGERS, got.astype(np.int32), LEVELS, limits).passed


def test_integers_must_be_equal() -> None:
    off = LEVELS.copy()
    off[0, 3] += 1
    assert passes(LEVELS, Numerics())
    assert not passes(off, Numerics())


def test_a_task_may_let_integers_differ_by_a_step() -> None:
    # 1 / RMS allows a step even at 0, and less than two up to a value of RMS.
    numerics = Numerics(elementwise=1.01 / RMS, reason="a tie may be rounded either way")
    one, two = LEVELS.copy(), LEVELS.copy()
    one[1, 2] += 1
    two[1, 2] += 2
    assert passes(one, numerics)
    assert not passes(two, numerics)


def test_a_limit_on_the_whole_holds_for_integers_beside_that_of_elements() -> None:
    every = LEVELS + 1
    loose = Numerics(elementwise=1.01 / RMS, reason="ties")
    # All 8 off by one are sqrt(8) of sqrt(13254), 0.0246.
    strict = Numerics(elementwise=1.01 / RMS, rel_l2=0.02, reason="few ties")
    assert passes(every, loose)
    assert not passes(every, strict)


def test_the_reason_of_integers_limits_is_told() -> None:
    numerics = Numerics(elementwise=0.1, reason="ties go either way")
    limits = derive_tolerance(INTEGERS, LEVELS, np.zeros(LEVELS.shape, np.float32), (), numerics)
    assert limits.overridden
    assert limits.derivation[-1].endswith("ties go either way")


def test_a_zero_that_only_flushing_reaches_is_zero() -> None:
    # One value of 1 with an error of 1e-5 beside three that are masked.
    expected = np.array([[1.0, 0.0, 0.0, 0.0]])
    spread = np.array([[1e-5, SMALLEST, 2 * SMALLEST, 0.0]], np.float32)
    limits = derive_tolerance(FLOATS, expected, spread, (1e-5,), Numerics())
    assert (limits.elementwise[0, 1:] <= 25 * SMALLEST).all()
    assert (limits.elementwise[0, 1:] >= SMALLEST).all()
    assert limits.elementwise[0, 0] > 1e-4


def test_the_distance_of_numbers_at_zero_is_that_of_the_smallest() -> None:
    # A bfloat16 step at 0.5 is 2**-8, which would hide any error of an answer that is exactly 0.
    half = TensorSpec(name="out", shape=("R", "C"), dtype="bfloat16")
    spread = np.full((1, 2), 1e-9, np.float32)
    limits = derive_tolerance(half, np.array([[1e-6, 0.0]]), spread, (), Numerics())
    assert limits.elementwise[0, 1] < 1.2e-8


def test_a_zero_of_differences_keeps_the_error_of_its_row() -> None:
    expected = np.array([[1.0, 0.0, 0.0, 0.0]])
    spread = np.full((1, 4), 1e-7, np.float32)
    limits = derive_tolerance(FLOATS, expected, spread, (2e-7,), Numerics())
    assert limits.elementwise[0, 1] == pytest.approx(11e-7, rel=0.01)


def test_noise_scales_the_spread_of_an_answer_of_nothing_but_zeros() -> None:
    # Honest executions err by 3 times their bound: 10 of 3e-7, and 3e-7 for the row.
    expected, spread = np.zeros((2, 4)), np.full((2, 4), 1e-7, np.float32)
    limits = derive_tolerance(FLOATS, expected, spread, (3.0,), Numerics())
    np.testing.assert_allclose(limits.elementwise, 33e-7, rtol=0.01)


def test_without_noise_the_spread_of_zeros_stands_as_it_is() -> None:
    expected, spread = np.zeros((2, 4)), np.full((2, 4), 1e-7, np.float32)
    limits = derive_tolerance(FLOATS, expected, spread, (), Numerics())
    np.testing.assert_allclose(limits.elementwise, 11e-7, rtol=0.01)
