"""The activation functions in double precision, by Python's math module."""

from __future__ import annotations

import math

__all__ = ["REFERENCES"]


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def normal_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def softplus(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


REFERENCES = {
    "copy": lambda x: x,
    "square": lambda x: x * x,
    "relu": lambda x: max(x, 0.0),
    "prelu": lambda x: max(x, 0.0),  # without a slope
    "abs": abs,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "sigmoid": sigmoid,
    "gelu": lambda x: x * normal_cdf(x),
    "gelu_dx": lambda x: normal_cdf(x) + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "gelu_apprx_tanh": lambda x: x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)),
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "gelu_apprx_sigmoid_dx": lambda x: (
        sigmoid(1.702 * x) + 1.702 * x * sigmoid(1.702 * x) * sigmoid(-1.702 * x)
    ),
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": lambda x: sigmoid(x) + x * sigmoid(x) * sigmoid(-x),
    "tanh": math.tanh,
    "softplus": softplus,
    "mish": lambda x: x * math.tanh(softplus(x)),
    "erf": math.erf,
    "erf_dx": lambda x: 2 / math.sqrt(math.pi) * math.exp(-x * x),
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "arctan": math.atan,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "reciprocal": lambda x: 1 / x,
}
