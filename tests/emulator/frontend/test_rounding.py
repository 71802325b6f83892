"""`nl.floor`, `nl.ceil`, `nl.trunc`: exact for every float32, which no single instruction gives."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.emulator.frontend.execution import Array, run
from tests.emulator.frontend.kernels import record_body

NAMES = ("floor", "ceil", "trunc")
#: Ties, whole numbers, the last fractions of float32, and what no integer holds.
CORNERS = np.array(
    [
        [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 3.7, -3.7, 3.2, -3.2, 7.0],
        [
            8388607.5,
            -8388607.5,
            8388608.0,
            1e20,
            -1e20,
            np.inf,
            -np.inf,
            np.nan,
            1e-45,
            -1e-45,
            2.0**31,
            -1.0,
        ],
    ],
    dtype=np.float32,
)


@pytest.mark.parametrize("name", NAMES)
def test_corners(name: str) -> None:
    result = run(f"result = nl.{name}(nl.load(x))", x=CORNERS)
    np.testing.assert_array_equal(result, getattr(np, name)(CORNERS))


@given(arrays(np.float32, (4, 16), elements=st.floats(width=32)), st.sampled_from(NAMES))
@settings(max_examples=15, deadline=None)
def test_every_float_rounds_as_in_numpy(array: Array, name: str) -> None:
    result = run(f"result = nl.{name}(nl.load(x))", x=array)
    np.testing.assert_array_equal(result, getattr(np, name)(array))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ["trn1", "trn3"])
def test_bfloat16_stays_bfloat16_on_every_chip(name: str, target: str) -> None:
    array = CORNERS.astype(ml_dtypes.bfloat16)
    result = run(f"result = nl.{name}(nl.load(x))", target=target, x=array)
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result.astype(np.float32), getattr(np, name)(array.astype(np.float32)))


def test_the_result_can_be_an_integer_tile() -> None:
    result = run("result = nl.floor(nl.load(x), dtype=nl.int32)", x=CORNERS[:1])
    assert np.array_equal(result, np.floor(CORNERS[:1]).astype(np.int32))


def test_integers_are_copied_as_they_are() -> None:
    array = np.array([[2**30 + 1, -7]], dtype=np.int32)
    assert np.array_equal(run("result = nl.ceil(nl.load(x))", x=array), array)


def test_psum_tiles_are_rounded_in_place_of_being_copied_first() -> None:
    record_body("nl.floor(nl.zeros((4, 4), dtype=nl.float32, buffer=nl.psum))")
