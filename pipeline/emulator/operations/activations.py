"""The scalar engine's activation functions, evaluated as the mathematics says.

The device evaluates piecewise polynomials whose error is not published, so everything but the exactly
representable functions is `Fidelity.APPROXIMATE`. Outside a function's documented domain the device's results
are invalid; of ``sin`` alone it is documented what they are. Source: nki.api.shared.rst, Supported Activation
Functions (facts/nki.md section 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pipeline.emulator.operations.table import Fidelity

__all__ = ["ACTIVATIONS", "Activation", "erf", "erfc"]

Array = np.ndarray[Any, Any]

# erfc(z) = t * exp(-z*z + g(t)) with t = 2 / (2 + z): g is smooth, so a polynomial interpolated at Chebyshev
# nodes from math.erfc does. z <= 10.5 covers float32: erfc(10.06) is its smallest subnormal. Degree 14 leaves
# a relative error below 1e-9 (tests/emulator/operations/test_activations.py), far under float32's 6e-8.
_ERFC_Z_MAX: Final = 10.5
_ERFC_T_MIN: Final = 2 / (2 + _ERFC_Z_MAX)
_ERFC_DEGREE: Final = 14


def _erfc_exponent(u: float) -> float:
    """Return g at ``u`` in [-1, 1], the interval mapped onto t."""
    t = (u + 1) / 2 * (1 - _ERFC_T_MIN) + _ERFC_T_MIN
    z = 2 / t - 2
    return math.log(math.erfc(z)) + z * z - math.log(t)


def _fit_erfc_exponent() -> list[float]:
    """Return the coefficients of the interpolating polynomial, lowest power first."""
    nodes = np.polynomial.chebyshev.chebpts1(_ERFC_DEGREE + 1)
    values = [_erfc_exponent(float(node)) for node in nodes]
    series = np.polynomial.chebyshev.chebfit(nodes, values, _ERFC_DEGREE)
    return [float(coefficient) for coefficient in np.polynomial.chebyshev.cheb2poly(series)]


_ERFC_POLYNOMIAL: Final = _fit_erfc_exponent()


def _erfc_positive(z: Array) -> Array:
    """Return erfc of float64 values in [0, inf]."""
    t = 2 / (2 + np.minimum(z, _ERFC_Z_MAX))
    u = (t - _ERFC_T_MIN) * (2 / (1 - _ERFC_T_MIN)) - 1
    exponent = np.full_like(u, _ERFC_POLYNOMIAL[-1])
    for coefficient in reversed(_ERFC_POLYNOMIAL[:-1]):
        exponent *= u
        exponent += coefficient
    exponent -= z * z
    return np.where(z > _ERFC_Z_MAX, 0.0, t * np.exp(exponent))


def erfc(value: Array) -> Array:
    """Return the complementary error function.

    Args:
        value: Any shape; computed in float64.

    Returns:
        float64 array of the same shape, accurate to float32 (relative error below 1e-9 where the result is a
        normal float32, absolute below 1e-45 elsewhere).
    """
    z = np.asarray(value, dtype=np.float64)
    tail = _erfc_positive(np.abs(z))
    return np.where(z < 0, 2 - tail, tail)


def erf(value: Array) -> Array:
    """Return the error function.

    Args:
        value: Any shape; computed in float64.

    Returns:
        float64 array of the same shape, relative error below 1e-9 (1 - erfc, and the Taylor series about 0
        where that difference would cancel).
    """
    z = np.asarray(value, dtype=np.float64)
    square = z * z
    series = (2 / math.sqrt(math.pi)) * z * (1 - square * (1 / 3 - square * (1 / 10 - square / 42)))
    return np.where(np.abs(z) < 0.1, series, np.copysign(1 - _erfc_positive(np.abs(z)), z))


def _wide(x: Array) -> Array:
    # An exponential multiplies the relative error of its argument by that argument: keep it in float64.
    return x.astype(np.float64)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _normal_cdf(x: Array) -> Array:
    return 0.5 * erfc(_wide(x) * -math.sqrt(0.5))


def _limit_product(x: Array, gate: Array) -> Array:
    # A gate that underflowed to zero wins over an infinite input: the limit at -inf is 0, not NaN.
    return np.where(gate == 0, 0 * gate, x * gate)


def _gelu(x: Array) -> Array:
    return _limit_product(x, _normal_cdf(x))


def _gelu_dx(x: Array) -> Array:
    density = np.exp(-0.5 * np.square(_wide(x))) / math.sqrt(2 * math.pi)
    return _normal_cdf(x) + _limit_product(x, density)


def _gelu_tanh(x: Array) -> Array:
    x = _wide(x)
    # 0.5 * (1 + tanh(a)) is sigmoid(2a), which does not cancel for negative a.
    return _limit_product(x, _sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _gelu_sigmoid(x: Array) -> Array:
    return _limit_product(x, _sigmoid(1.702 * _wide(x)))


def _gelu_sigmoid_dx(x: Array) -> Array:
    scaled = 1.702 * _wide(x)
    gate = _sigmoid(scaled)
    return gate + _limit_product(scaled, gate * (1 - gate))


def _silu(x: Array) -> Array:
    return _limit_product(x, _sigmoid(x))


def _silu_dx(x: Array) -> Array:
    gate = _sigmoid(x)
    return gate + _limit_product(x, gate * (1 - gate))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(np.float32(0), x))


def _mish(x: Array) -> Array:
    return _limit_product(x, np.tanh(_softplus(x)))


def _erf_dx(x: Array) -> Array:
    return np.asarray((2 / math.sqrt(math.pi)) * np.exp(-np.square(_wide(x))))


def _sin(x: Array) -> Array:
    """Sine without range reduction: a cubic about the nearer of -pi and pi continues it outside.

    That is the Taylor cubic of sine there; it gives the documentation's sin(9.0) = 27.65.
    """
    value = np.sin(x)
    outside = np.abs(x) > math.pi
    if outside.any():
        beyond = np.abs(_wide(x[outside])) - math.pi
        value[outside] = np.sign(x[outside]) * (beyond * beyond * beyond / 6 - beyond)
    return np.asarray(value)


def _rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(_wide(x)))


def _copy(x: Array) -> Array:
    return x


def _relu(x: Array) -> Array:
    return np.asarray(np.maximum(x, np.float32(0)))


def _prelu(x: Array, slope: Any = 0) -> Array:
    return np.where(x < 0, x * slope, x)


@dataclass(frozen=True, slots=True)
class Activation:
    """One activation function.

    Attributes:
        name: Name in `nki.language`.
        function: From float32 arrays to float32 or float64 arrays of the same shape. Where `sloped`, takes a
            second argument: the slope for negative inputs.
        fidelity: Exact where the result is representable, approximate where the device interpolates.
        domain: Least and greatest input for which the device's result is valid; None where every input is.
        by_magnitude: Whether `domain` bounds the input's magnitude.
        sloped: Whether it takes a parameter.
    """

    name: str
    function: Callable[..., Array]
    fidelity: Fidelity = Fidelity.APPROXIMATE
    domain: tuple[float, float] | None = None
    by_magnitude: bool = False
    sloped: bool = False

    def outside(self, values: Array) -> tuple[float, float] | None:
        """Return the least and the greatest of inputs that leave the domain, or None if all are within.

        NaN is nowhere. Magnitudes are returned where the domain bounds magnitudes.
        """
        if self.domain is None:
            return None
        low, high = self.domain
        values = np.abs(values) if self.by_magnitude else values
        if values.min() >= low and values.max() <= high:  # false if there is a NaN
            return None
        least, greatest = float(np.fmin.reduce(values, axis=None)), float(np.fmax.reduce(values, axis=None))
        return (least, greatest) if least < low or greatest > high else None


# Rounded to float32, as a kernel that clips to pi holds it.
_PI: Final = float(np.float32(math.pi))
_HALF_PI: Final = float(np.float32(math.pi / 2))

ACTIVATIONS: Final[dict[str, Activation]] = {
    activation.name: activation
    for activation in (
        Activation("copy", _copy, Fidelity.EXACT),
        Activation("square", np.square, Fidelity.EXACT),
        Activation("relu", _relu, Fidelity.EXACT),
        Activation("prelu", _prelu, Fidelity.EXACT, sloped=True),
        Activation("abs", np.abs, Fidelity.EXACT),
        Activation("sign", np.sign, Fidelity.EXACT),
        Activation("sigmoid", _sigmoid),
        Activation("gelu", _gelu),
        Activation("gelu_dx", _gelu_dx),
        Activation("gelu_apprx_tanh", _gelu_tanh),
        Activation("gelu_apprx_sigmoid", _gelu_sigmoid),
        Activation("gelu_apprx_sigmoid_dx", _gelu_sigmoid_dx),
        Activation("silu", _silu),
        Activation("silu_dx", _silu_dx),
        Activation("tanh", np.tanh),
        Activation("softplus", _softplus),
        Activation("mish", _mish),
        Activation("erf", erf),
        Activation("erf_dx", _erf_dx),
        Activation("exp", np.exp),
        Activation("log", np.log, domain=(2.0**-64, 2.0**64)),
        Activation("sin", _sin, domain=(-_PI, _PI)),
        Activation("arctan", np.arctan, domain=(-_HALF_PI, _HALF_PI)),
        Activation("sqrt", np.sqrt, domain=(2.0**-116, 2.0**118)),
        Activation("rsqrt", _rsqrt, domain=(2.0**-87, 2.0**97)),
        Activation("reciprocal", np.reciprocal, domain=(2.0**-42, 2.0**42), by_magnitude=True),
    )
}
