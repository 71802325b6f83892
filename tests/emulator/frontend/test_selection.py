"""`nl.where` and `nl.gather_flattened`."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.emulator.frontend.execution import Array, run
from tests.emulator.frontend.kernels import refusal

RNG = np.random.default_rng(11)
A = RNG.normal(size=(8, 12)).astype(np.float32)
B = RNG.normal(size=(8, 12)).astype(np.float32)


@given(arrays(np.float32, (3, 4), elements=st.sampled_from([0.0, 1.0])))
@settings(max_examples=10, deadline=None)
def test_where_takes_x_at_one_and_y_at_zero(flags: Array) -> None:
    result = run("result = nl.where(nl.load(c), nl.load(x), nl.load(y))", c=flags, x=A[:3, :4], y=B[:3, :4])
    assert np.array_equal(result, np.where(flags == 1, A[:3, :4], B[:3, :4]))


def test_where_moves_elements_and_computes_nothing_with_them() -> None:
    x = np.array([[np.inf, 1.0]], dtype=np.float32)
    y = np.array([[2.0, np.nan]], dtype=np.float32)
    result = run(
        "result = nl.where(nl.load(c), nl.load(x), nl.load(y))",
        c=np.array([[0.0, 1.0]], dtype=np.float32),
        x=x,
        y=y,
    )
    assert result.tolist() == [[2.0, 1.0]]


def test_where_follows_a_comparison_and_converts() -> None:
    body = (
        "a = nl.load(x)\nresult = nl.where(nl.less(a, 0.0, dtype=nl.uint8), a, nl.load(y), dtype=nl.bfloat16)"
    )
    expected = np.where(A < 0, A, B).astype(ml_dtypes.bfloat16)
    assert np.array_equal(run(body, x=A, y=B), expected)


def test_where_takes_tiles_of_two_types() -> None:
    body = "result = nl.where(nl.load(c), nl.load(x), nl.load(y))"
    result = run(body, c=np.eye(4, dtype=np.float32), x=A[:4, :4], y=B[:4, :4].astype(ml_dtypes.bfloat16))
    expected = np.where(np.eye(4) == 1, A[:4, :4], B[:4, :4].astype(ml_dtypes.bfloat16).astype(np.float32))
    assert result.dtype == np.float32
    assert np.array_equal(result, expected)


def test_gather_counts_through_the_flattened_free_dimensions() -> None:
    indices = RNG.integers(0, 12, size=(8, 5), dtype=np.uint32)
    body = "result = nl.gather_flattened(nl.load(x).reshape((8, 3, 4)), nl.load(i))"
    assert np.array_equal(run(body, x=A, i=indices), np.take_along_axis(A, indices.astype(np.int64), 1))


def test_gather_converts_afterwards() -> None:
    indices = np.zeros((8, 2), dtype=np.uint32)
    result = run("result = nl.gather_flattened(nl.load(x), nl.load(i), dtype=nl.float16)", x=A, i=indices)
    assert np.array_equal(result, np.repeat(A[:, :1], 2, 1).astype(np.float16))


@pytest.mark.parametrize(
    ("statement", "kind", "fragment"),
    [
        ("nl.where(t, t, 0.0)", "unsupported", "y is 0.0"),
        ("nl.where(t, t, t[:, 0:4])", "compile_error", "shapes must be equal"),
        ("nl.where(x, t, t)", "compile_error", "not on chip"),
        ("nl.gather_flattened(t, t, axis=1)", "unsupported", "axis=1"),
    ],
)
def test_what_is_refused(statement: str, kind: str, fragment: str) -> None:
    error = refusal(f"t = nl.zeros((128, 8), dtype=nl.float32)\n{statement}")
    assert error.kind == kind
    assert fragment in error.message
