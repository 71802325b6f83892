"""Reference of bias_gelu_residual: exact GELU in float64, through the standard library's error function."""

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def make_inputs(rng, axes, case):
    """Draw an MLP layer's activations: unit normal, wide enough to saturate GELU, or without a residual."""
    rows, columns = axes["R"], axes["C"]
    x = rng.standard_normal((rows, columns))
    if case["distribution"] == "large":
        x = 30.0 * x
    residual = rng.standard_normal((rows, columns))
    if case["distribution"] == "zero_residual":
        residual = np.zeros_like(residual)
    return {"x": x, "bias": 0.5 * rng.standard_normal(columns), "residual": residual}


def reference(inputs, axes):
    """Return gelu(x + bias) + residual."""
    z = inputs["x"] + inputs["bias"]
    return {"out": 0.5 * z * (1.0 + _erf(z / math.sqrt(2.0))) + inputs["residual"]}
