"""Each activation against Python's math module in double precision."""

import math

import numpy as np
import pytest

from pipeline.emulator.operations import ACTIVATIONS, Fidelity
from pipeline.emulator.operations.activations import erf, erfc
from pipeline.emulator.reference import VALID_RANGES
from tests.emulator.operations.activation_references import REFERENCES

F32 = np.float32
TINY = 2.0**-149  # the smallest float32
POSITIVE = {"log", "sqrt", "rsqrt", "reciprocal"}


CANCELLING = {"gelu_dx", "silu_dx", "gelu_apprx_sigmoid_dx"}


def inputs(name):
    if name in POSITIVE:
        return np.geomspace(2.0**-42, 2.0**42, 401, dtype=F32)
    span = math.pi if name == "sin" else 20
    return np.concatenate([np.linspace(-span, span, 401), [0.0, 1e-6, -1e-6, 1e-20]]).astype(F32)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activation_agrees_with_double_precision(name):
    x = inputs(name)
    x = x[np.abs(x) <= math.pi] if name == "sin" else x
    got = np.asarray(ACTIVATIONS[name].function(x), dtype=F32)
    expected = np.array([REFERENCES[name](float(v)) for v in x])
    # A few roundings of float32, relative to the result or, where terms cancel, to the input's own scale.
    scale = np.maximum(np.abs(expected), 1.0 if name in CANCELLING else 0.0)
    assert (np.abs(got - expected) <= 16 * 2**-24 * scale + TINY).all()


@pytest.mark.parametrize(
    ("name", "at_minus_infinity", "at_infinity"),
    [
        ("sigmoid", 0, 1),
        ("gelu", 0, math.inf),
        ("gelu_dx", 0, 1),
        ("gelu_apprx_tanh", 0, math.inf),
        ("gelu_apprx_sigmoid", 0, math.inf),
        ("gelu_apprx_sigmoid_dx", 0, 1),
        ("silu", 0, math.inf),
        ("silu_dx", 0, 1),
        ("tanh", -1, 1),
        ("softplus", 0, math.inf),
        ("mish", 0, math.inf),
        ("erf", -1, 1),
        ("erf_dx", 0, 0),
        ("exp", 0, math.inf),
        ("relu", 0, math.inf),
    ],
)
def test_activation_reaches_its_limits_and_keeps_nan(name, at_minus_infinity, at_infinity):
    with np.errstate(all="ignore"):
        got = np.asarray(ACTIVATIONS[name].function(np.array([-np.inf, np.inf, np.nan], F32)), dtype=F32)
    assert got[:2].tolist() == [at_minus_infinity, at_infinity]
    assert np.isnan(got[2])


def test_erf_and_erfc_agree_with_the_math_module_far_below_float32_rounding():
    z = np.concatenate([np.linspace(-6, 10, 4001), np.geomspace(1e-30, 1, 300), [0.0]])
    exact = np.array([math.erf(v) for v in z])
    assert (np.abs(erf(z) - exact) <= 1e-9 * np.abs(exact)).all()
    exact = np.array([math.erfc(v) for v in z])
    assert (np.abs(erfc(z) - exact) <= 1e-9 * exact + 1e-45).all()


def test_erf_is_odd_and_keeps_the_sign_of_zero():
    z = np.array([0.3, 2.0, 0.0])
    assert (erf(-z) == -erf(z)).all()
    assert np.signbit(erf(np.array([-0.0]))).all()


def test_sine_outside_its_range_is_the_cubic_the_documentation_shows():
    # nki.api.shared.rst: sin(9.0) returns about 27.65.
    got = ACTIVATIONS["sin"].function(np.array([9.0, -9.0, math.pi / 2], F32))
    assert got[0] == pytest.approx(27.65, abs=0.005)
    assert got[1] == -got[0]
    assert got[2] == pytest.approx(1, abs=1e-7)


def test_only_functions_with_representable_results_claim_to_be_exact():
    exact = {name for name, activation in ACTIVATIONS.items() if activation.fidelity is Fidelity.EXACT}
    assert exact == {"copy", "square", "relu", "prelu", "abs", "sign"}


def test_prelu_multiplies_negative_inputs_by_its_slope():
    x = np.array([[-2, -0.5, 0, 3], [-2, -np.inf, np.inf, 1]], F32)
    got = ACTIVATIONS["prelu"].function(x, np.array([[0.25], [-1.0]], F32))
    assert got.tolist() == [[-0.5, -0.125, 0, 3], [2, math.inf, math.inf, 1]]
    assert np.isnan(ACTIVATIONS["prelu"].function(np.array([np.nan], F32), F32(2)))
    assert [name for name, activation in ACTIVATIONS.items() if activation.sloped] == ["prelu"]


#: nki.api.shared.rst, Supported Activation Functions: least and greatest valid input, and inputs just beyond.
DOMAINS = {
    "log": (2.0**-64, 2.0**64, (2.0**-65, 0.0, -1.0, 2.0**65, np.inf)),
    "sin": (-math.pi, math.pi, (-3.15, 3.15, 9.0, np.inf)),
    "arctan": (-math.pi / 2, math.pi / 2, (-1.58, 1.58, np.inf)),
    "sqrt": (2.0**-116, 2.0**118, (0.0, -1.0, 2.0**119)),
    "rsqrt": (2.0**-87, 2.0**97, (0.0, 2.0**-88, 2.0**98)),
    "reciprocal": (2.0**-42, 2.0**42, (0.0, 2.0**-43, -(2.0**-43), 2.0**43, -np.inf)),
}


def test_the_other_functions_take_every_input():
    everything = np.array([-np.inf, -1e38, 0, 1e38, np.inf, np.nan], F32)
    bounded = {name for name, activation in ACTIVATIONS.items() if activation.outside(everything)}
    assert bounded == set(DOMAINS) == set(VALID_RANGES)


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_a_domain_ends_where_the_documentation_says(name):
    low, high, beyond = DOMAINS[name]
    activation = ACTIVATIONS[name]
    inside = np.array([low, high, (low + high) / 2 or 1.0, np.nan], F32)
    assert activation.outside(inside) is None
    assert activation.outside(np.full((2, 2), np.nan, F32)) is None
    for value in beyond:
        assert activation.outside(np.append(inside, F32(value))) is not None, value


def test_what_lies_outside_is_told_by_its_extremes():
    assert ACTIVATIONS["sin"].outside(np.array([[1, 9], [-4, np.nan]], F32)) == (-4, 9)
    # Magnitudes, where the domain is one of magnitudes.
    assert ACTIVATIONS["reciprocal"].outside(np.array([-8, 0, 2], F32)) == (0, 8)
    assert ACTIVATIONS["reciprocal"].outside(np.array([-8, 2], F32)) is None
