"""What the output's dtype costs by itself is measured apart."""

import ml_dtypes
import numpy as np
import pytest

from tests.compare.limits import compare, hold


def test_the_rounding_of_the_reference_itself_is_reported_beside_the_error() -> None:
    # One bfloat16 step above 1 is 2**-7, so 1 + 2**-9 rounds to 1: an error of 2**-9 over 1 + 2**-9.
    expected = np.full((2, 3), 1 + 2**-9)
    got = np.full((2, 3), 1 + 2**-7, dtype=ml_dtypes.bfloat16)
    error = compare(got, expected, hold(expected, 0.1, 0.1, 0.1), "bfloat16").error
    assert error is not None
    assert error.rounding_rel_l2 == pytest.approx(2**-9 / (1 + 2**-9))
    assert error.rel_l2 == pytest.approx((2**-7 - 2**-9) / (1 + 2**-9))
    # A quarter of a step lies below the reference, so three quarters lie above it.
    assert error.ulps == 0.75


def test_an_output_that_holds_the_reference_exactly_has_no_rounding() -> None:
    expected = np.array([[1.0, 0.5, np.inf, np.nan]])
    error = compare(expected.astype(np.float32), expected).error
    assert error is not None
    assert error.rounding_rel_l2 == 0
