"""Element-wise functions of `nki.language`, executed and compared with NumPy in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pipeline.emulator.targets import ENGINES
from tests.emulator.frontend.execution import Array, run
from tests.emulator.frontend.kernels import record_body, refusal, resolved

RNG = np.random.default_rng(7)
A = RNG.normal(size=(16, 24)).astype(np.float32)
B = RNG.normal(size=(16, 24)).astype(np.float32)
POSITIVE = np.abs(A) + np.float32(0.25)
INTEGERS = RNG.integers(0, 100, size=(16, 24), dtype=np.int32)

_erf = np.vectorize(math.erf)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("add", np.add),
        ("subtract", np.subtract),
        ("multiply", np.multiply),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
        ("less", np.less),
        ("less_equal", np.less_equal),
        ("greater", np.greater),
        ("greater_equal", np.greater_equal),
        ("equal", np.equal),
        ("not_equal", np.not_equal),
        ("logical_and", np.logical_and),
        ("logical_or", np.logical_or),
        ("logical_xor", np.logical_xor),
    ],
)
def test_binary_functions_of_two_tiles_and_of_a_tile_and_a_number(
    name: str, reference: Callable[..., Array]
) -> None:
    loads = "a = nl.load(x)\nb = nl.load(y)\n"
    wide, other = A.astype(np.float64), B.astype(np.float64)
    np.testing.assert_allclose(
        run(f"{loads}result = nl.{name}(a, b)", x=A, y=B), reference(wide, other), 1e-6
    )
    np.testing.assert_allclose(
        run(f"{loads}result = nl.{name}(a, 0.5)", x=A, y=B), reference(wide, 0.5), 1e-6
    )
    np.testing.assert_allclose(
        run(f"{loads}result = nl.{name}(0.5, a)", x=A, y=B), reference(0.5, wide), 1e-6
    )


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        # The signed value of the greater or smaller magnitude, the second on a tie.
        ("abs_max", lambda x, y: np.where(np.abs(x) > np.abs(y), x, y)),
        ("abs_min", lambda x, y: np.where(np.abs(x) < np.abs(y), x, y)),
    ],
)
def test_magnitudes_are_compared_on_trn3_only(name: str, reference: Callable[..., Array]) -> None:
    body = f"result = nl.{name}(nl.load(x), nl.load(y))"
    assert np.array_equal(run(body, target="trn3", x=A, y=B), reference(A, B))
    with pytest.raises(Exception, match=name):
        run(body, target="trn2", x=A, y=B)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("exp", np.exp),
        ("log", np.log),
        ("sqrt", np.sqrt),
        ("rsqrt", lambda x: 1 / np.sqrt(x)),
        ("tanh", np.tanh),
        ("sigmoid", _sigmoid),
        ("relu", lambda x: np.maximum(x, 0)),
        ("silu", lambda x: x * _sigmoid(x)),
        ("silu_dx", lambda x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x)))),
        ("gelu", lambda x: x / 2 * (1 + _erf(x / np.sqrt(2)))),
        ("gelu_dx", lambda x: (1 + _erf(x / np.sqrt(2))) / 2 + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)),
        (
            "gelu_apprx_tanh",
            lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        ),
        ("gelu_apprx_sigmoid", lambda x: x * _sigmoid(1.702 * x)),
        ("erf", _erf),
        ("erf_dx", lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x)),
        ("softplus", lambda x: np.log1p(np.exp(x))),
        ("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
        ("arctan", lambda x: np.arctan(x)),
        ("sign", np.sign),
        ("abs", np.abs),
        ("square", np.square),
        ("reciprocal", np.reciprocal),
        ("negative", np.negative),
        ("copy", np.copy),
    ],
)
def test_unary_functions(name: str, reference: Callable[..., Array]) -> None:
    result = run(f"result = nl.{name}(nl.load(x))", x=POSITIVE)
    np.testing.assert_allclose(result, reference(POSITIVE.astype(np.float64)), 2e-6, 1e-7)


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("nl.bitwise_and(a, 12)", lambda x: x & 12),
        ("nl.bitwise_or(a, b)", lambda x: x | 3),
        ("nl.bitwise_xor(a, 255)", lambda x: x ^ 255),
        ("nl.left_shift(a, 2)", lambda x: x << 2),
        ("nl.left_shift(1, b)", lambda x: np.full_like(x, 8)),
        ("nl.right_shift(a, 1)", lambda x: x >> 1),
        ("nl.invert(a)", np.invert),
    ],
)
def test_bitwise_functions(expression: str, reference: Callable[..., Array]) -> None:
    body = f"a = nl.load(x)\nb = nl.full(a.shape, 3, dtype=nl.int32)\nresult = {expression}"
    assert np.array_equal(run(body, x=INTEGERS), reference(INTEGERS))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8", "int16", "int32"])
def test_inverting_flips_every_bit_of_every_integer_type(dtype: str) -> None:
    array = INTEGERS.astype(dtype)
    assert np.array_equal(run("result = nl.invert(nl.load(x))", x=array), np.invert(array))


def test_logical_not_of_zeros_and_ones() -> None:
    flags = (A > 0).astype(np.float32)
    assert np.array_equal(run("result = nl.logical_not(nl.load(x))", x=flags), 1 - flags)


@given(
    arrays(np.float32, (4, 16), elements=st.floats(width=32, allow_subnormal=False)),
    st.sampled_from(["bfloat16", "float16", "float32"]),
)
@settings(max_examples=12, deadline=None)
def test_a_result_is_rounded_once_to_the_type_asked_for(array: Array, dtype: str) -> None:
    result = run(f"result = nl.add(nl.load(x), 0.0, dtype=nl.{dtype})", x=array)
    with np.errstate(over="ignore"):
        expected = (array + np.float32(0)).astype(np.dtype(dtype))
    np.testing.assert_array_equal(result.astype(np.float32), expected.astype(np.float32))


def test_results_take_the_type_of_their_input_or_the_one_asked_for() -> None:
    record_body(
        "a = nl.load(x, dtype=nl.bfloat16)\n"
        "assert a.dtype == nl.bfloat16\n"
        "assert nl.exp(a).dtype == nl.bfloat16\n"
        "assert nl.exp(a, dtype=nl.float32).dtype == nl.float32\n"
        "assert nl.add(a, nl.load(x)).dtype == nl.float32\n"
        "assert nl.less(a, 0.0).dtype == nl.bfloat16\n"
        "assert nl.less(a, 0.0, dtype=nl.uint8).dtype == nl.uint8\n"
    )


def test_rsqrt_runs_on_gpsimd_since_nki_0_5_and_on_the_scalar_engine_before() -> None:
    def engine(version: str) -> str:
        entries = resolved(record_body("nl.rsqrt(nl.load(x))", version=version))
        return ENGINES[entries[1].engine]

    assert engine("0.5") == "gpsimd"
    assert engine("0.4") == "scalar"
    body = "nl.rsqrt(nl.zeros((128, 4), dtype=nl.float32, buffer=nl.psum))"
    error = refusal(body)
    assert error.kind == "illegal_on_target"
    assert "nisa.activation" in error.message
    record_body(body, version="0.4")


def test_power_takes_two_tiles_and_no_number() -> None:
    body = "a = nl.load(x)\nresult = nl.power(a, nl.full(a.shape, 3.0, dtype=nl.float32))"
    np.testing.assert_allclose(run(body, x=A), A.astype(np.float64) ** 3, 1e-5)
    for call in ("nl.power(nl.load(x), 2.0)", "nl.power(2.0, nl.load(x))"):
        error = refusal(call)
        assert error.kind == "illegal_on_target"
        assert "two tiles" in error.message


@pytest.mark.parametrize("name", ["divide", "mod", "fmod"])
def test_what_only_the_simulator_has_is_refused_with_a_way_round(name: str) -> None:
    error = refusal(f"nl.{name}(nl.load(x), nl.load(x))")
    assert error.kind == "illegal_on_target"
    assert f"nl.{name} runs in the simulator only" in error.message


class TestCopy:
    """`nl.copy` is exact since NKI 0.6; before, the scalar engine made it, through float32."""

    WIDE = np.array([[2**24 + 1, -(2**31) + 1]], dtype=np.int32)

    def test_copies_bit_for_bit_and_out_of_psum(self) -> None:
        assert np.array_equal(run("result = nl.copy(nl.load(x))", x=self.WIDE), self.WIDE)
        body = "t = nl.zeros((4, 4), dtype=nl.float32, buffer=nl.psum)\nassert nl.copy(t).buffer == nl.sbuf"
        record_body(body)

    def test_loses_wide_integers_before_0_6(self) -> None:
        result = run("result = nl.copy(nl.load(x))", version="0.5", x=self.WIDE)
        assert result.tolist() == [[2**24, -(2**31)]]

    def test_does_not_reach_psum_before_0_6(self) -> None:
        error = refusal("nl.copy(nl.zeros((4, 4), dtype=nl.float32, buffer=nl.psum))", version="0.5")
        assert error.kind == "illegal_on_target"
        assert "nisa.tensor_copy" in error.message

    def test_is_an_activation_before_0_6(self) -> None:
        entries = resolved(record_body("nl.copy(nl.load(x))", version="0.5"))
        assert (entries[1].operation, ENGINES[entries[1].engine]) == ("activation", "scalar")

    def test_converts(self) -> None:
        result = run("result = nl.copy(nl.load(x), dtype=nl.bfloat16)", x=A)
        assert np.array_equal(result, A.astype(ml_dtypes.bfloat16))
