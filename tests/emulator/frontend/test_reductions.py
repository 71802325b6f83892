"""Reductions and normalisations, along all free dimensions or the last of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.frontend.execution import Array, run
from tests.emulator.frontend.kernels import record_body, refusal

RNG = np.random.default_rng(9)
A = RNG.normal(size=(16, 24)).astype(np.float32)


def _softmax(x: Array, axis: int | tuple[int, ...]) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("nl.sum(a, axis=1)", lambda x: x.sum(1, keepdims=True)),
        ("nl.sum(a, axis=[1], keepdims=True)", lambda x: x.sum(1, keepdims=True)),
        ("nl.max(a, axis=-1)", lambda x: x.max(1, keepdims=True)),
        ("nl.min(a, axis=(1,))", lambda x: x.min(1, keepdims=True)),
        ("nl.prod(a, axis=1)", lambda x: x.prod(1, keepdims=True)),
        ("nl.mean(a, axis=1)", lambda x: x.mean(1, keepdims=True)),
        ("nl.var(a, axis=1)", lambda x: x.var(1, keepdims=True)),
        ("nl.sum(a.reshape((16, 4, 6)), axis=2)", lambda x: x.reshape(16, 4, 6).sum(2)),
        ("nl.sum(a.reshape((16, 4, 6)), axis=[1, 2], keepdims=True)", lambda x: x.sum(1).reshape(16, 1, 1)),
        ("nl.mean(a.reshape((16, 4, 6)), axis=2)", lambda x: x.reshape(16, 4, 6).mean(2)),
        ("nl.var(a.reshape((16, 4, 6)), axis=2)", lambda x: x.reshape(16, 4, 6).var(2, keepdims=True)),
        (
            "nl.var(a.reshape((16, 2, 2, 6)), axis=[2, 3])",
            lambda x: x.reshape(16, 2, 12).var(2)[..., None, None],
        ),
        ("nl.softmax(a)", lambda x: _softmax(x, 1)),
        ("nl.softmax(a.reshape((16, 4, 6)), axis=[1, 2])", lambda x: _softmax(x, 1).reshape(16, 4, 6)),
        ("nl.softmax(a.reshape((16, 4, 6)), axis=-1)", lambda x: _softmax(x.reshape(16, 4, 6), 2)),
        ("nl.rms_norm(a, b, axis=1, n=24)", lambda x: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * 2),
        (
            "nl.rms_norm(a.reshape((16, 4, 6)), b.reshape((16, 4, 6)), axis=2, n=3, epsilon=0.5)",
            lambda x: (y := x.reshape(16, 4, 6)) / np.sqrt((y * y).sum(2, keepdims=True) / 3 + 0.5) * 2,
        ),
    ],
)
def test_reductions_and_compositions(expression: str, reference: Callable[..., Array]) -> None:
    body = f"a = nl.load(x)\nb = nl.full(a.shape, 2.0, dtype=nl.float32)\nresult = {expression}"
    expected = reference(A.astype(np.float64))
    result = run(body, x=A)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, 1e-5, 1e-6)


@pytest.mark.parametrize(
    "function",
    ["sum({}, axis={})", "softmax({}, axis={})", "var({}, axis={})", "rms_norm({0}, {0}, axis={1}, n=8)"],
)
@pytest.mark.parametrize("axis", [2, (1, 2)])
def test_strided_tiles_are_reduced_as_numpy_does(function: str, axis: int | tuple[int, ...]) -> None:
    # Every second column: the free dimensions do not lie side by side.
    body = f"a = nl.load(x).reshape((16, 3, 8))[:, :, 0:8:2]\nresult = nl.{function.format('a', axis)}"
    x = A.astype(np.float64).reshape(16, 3, 8)[:, :, ::2]
    expected = {
        "sum": lambda: x.sum(axis),
        "softmax": lambda: _softmax(x, axis),
        "var": lambda: x.var(axis, keepdims=True),
        "rms_norm": lambda: x * x / np.sqrt((x * x).sum(axis, keepdims=True) / 8 + 1e-6),
    }[function.partition("(")[0]]()
    np.testing.assert_allclose(run(body, x=A).reshape(expected.shape), expected, 1e-5, 1e-6)


@given(st.lists(st.sampled_from([0.0, 1.0, -2.0, 0.5]), min_size=1, max_size=6))
@settings(max_examples=12, deadline=None)
def test_all_is_one_where_nothing_is_zero(row: list[float]) -> None:
    result = run("result = nl.all(nl.load(x), axis=1)", x=np.array([row], dtype=np.float32))
    assert result.tolist() == [[1.0 if all(row) else 0.0]]


def test_softmax_of_large_values_does_not_overflow() -> None:
    row = np.array([[1000.0, 999.0, -1000.0]], dtype=np.float32)
    np.testing.assert_allclose(run("result = nl.softmax(nl.load(x), axis=1)", x=row), _softmax(row, 1), 1e-6)


def test_means_of_bfloat16_are_taken_in_float32() -> None:
    # 256 + 1 is 256 in bfloat16: a sum rounded on the way would stay there.
    row = np.array([[256.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]], dtype=np.float32)
    body = "result = nl.mean(nl.load(x, dtype=nl.bfloat16), axis=1, dtype=nl.float32)"
    assert run(body, x=row)[0, 0] == pytest.approx(264 / 9, rel=1e-6)


def test_integers_are_summed_through_float32() -> None:
    row = np.array([[2**24, 1, 1]], dtype=np.int32)
    # Strictly in order: 2**24 + 1 rounds back to 2**24, twice.
    assert run("result = nl.sum(nl.load(x), axis=1)", x=row).tolist() == [[2**24]]


def test_shapes_drop_or_keep_the_reduced_dimensions() -> None:
    record_body(
        "t = nl.load(x).reshape((128, 2, 4, 64))\n"
        "assert nl.max(t, axis=3).shape == (128, 2, 4)\n"
        "assert nl.max(t, axis=(2, 3), keepdims=True).shape == (128, 2, 1, 1)\n"
        "assert nl.max(t, axis=[1, 2, 3]).shape == (128, 1)\n"
        "assert nl.all(t, axis=[2, 3]).shape == (128, 2)\n"
        "assert nl.var(t, axis=[2, 3]).shape == (128, 2, 1, 1)\n"
        "assert nl.sum(t, axis=3, dtype=nl.bfloat16).dtype == nl.bfloat16\n"
    )


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("nl.sum(t, axis=0)", "without dimension 0"),
        ("nl.sum(t, axis=1)", "last free dimensions"),
        ("nl.sum(t, axis=[])", "last free dimensions"),
        ("nl.sum(t, axis=3)", "axis 3 does not exist"),
        ("nl.sum(t)", "missing 1 required positional argument: 'axis'"),
        ("nl.all(t, axis=2, keepdims=True)", "keepdims"),
        ("nl.softmax(t, axis=1)", "last free dimensions"),
        ("nl.rms_norm(t, t[:, :, 0:2], axis=2, n=4)", "shapes must be equal"),
        ("nl.mean(x, axis=1)", "not on chip"),
    ],
)
def test_what_is_refused(statement: str, fragment: str) -> None:
    error = refusal(f"t = nl.zeros((128, 2, 4), dtype=nl.float32)\n{statement}")
    assert error.kind == "compile_error"
    assert fragment in error.message
