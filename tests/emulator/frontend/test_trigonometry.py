"""`nl.sin`, `nl.cos`, `nl.tan`: accurate outside the scalar engine's [-pi, pi], unlike its own sine."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.emulator.frontend.execution import Array, run


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@given(array=arrays(np.float32, (4, 16), elements=st.floats(-50_000, 50_000, width=32)))
@settings(max_examples=10, deadline=None)
def test_functions_of_any_argument(name: str, array: Array) -> None:
    result = run(f"result = nl.{name}(nl.load(x))", x=array)
    expected = getattr(np, name)(array.astype(np.float64))
    # Near its poles a tangent multiplies the error of the argument by its own square.
    slack = 1 if name != "tan" else 1 + np.square(expected)
    # The reduced argument is rounded where it lies below 4 (2**-23 at most), once more after a quarter of a
    # turn is added (below 8: 2**-22), and the turn and its quarter are themselves rounded (2**-24 each).
    bound = 2**-23 + 2**-22 + 2**-24 + 2**-24
    assert np.all(np.abs(result - expected) <= 1.5 * bound * slack + 2e-6 * np.abs(expected))


def test_the_language_reduces_the_argument_and_the_instruction_does_not() -> None:
    nine = np.array([[9.0]], dtype=np.float32)
    assert run("result = nl.sin(nl.load(x))", x=nine)[0, 0] == pytest.approx(0.4121185, abs=1e-6)
    body = "t = nl.load(x)\nresult = nl.empty_like(t)\nnisa.activation(result, op=nl.sin, data=t)"
    # The documentation's example of the cubic that goes on outside the range.
    assert run(body, x=nine)[0, 0] == pytest.approx(27.65, abs=0.01)


def test_quarter_turns() -> None:
    turns = np.array([[0.0, np.pi / 2, np.pi, -np.pi, 3 * np.pi / 2, 2 * np.pi]], dtype=np.float32)
    np.testing.assert_allclose(run("result = nl.sin(nl.load(x))", x=turns), [[0, 1, 0, 0, -1, 0]], atol=1e-6)
    np.testing.assert_allclose(run("result = nl.cos(nl.load(x))", x=turns), [[1, 0, -1, -1, 0, 1]], atol=1e-6)


def test_bfloat16_arguments_are_reduced_in_float32() -> None:
    array = np.array([[100.0, 1000.0]]).astype(ml_dtypes.bfloat16)
    result = run("result = nl.cos(nl.load(x), dtype=nl.float32)", x=array)
    np.testing.assert_allclose(result, np.cos(array.astype(np.float64)), atol=1e-6)
