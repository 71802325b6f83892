"""Reference of layernorm: float64, two passes, population variance, epsilon inside the root."""

import numpy as np

EPSILON = 1e-5


def make_inputs(rng, axes, case):
    """Draw rows near or far from zero, of tiny deviation, constant, or mixed; gamma around 1, beta around 0."""
    rows, columns = axes["R"], axes["D"]
    x = rng.standard_normal((rows, columns)) + 0.5
    offsets = rng.choice([-1.0, 1.0], (rows, 1)) * rng.uniform(500.0, 1000.0, (rows, 1))
    if case["distribution"] == "offset":
        x += offsets
    elif case["distribution"] == "small":
        x *= 1e-3
    elif case["distribution"] == "constant":
        x = np.broadcast_to(rng.uniform(-2.0, 2.0, (rows, 1)), (rows, columns))
    elif case["distribution"] == "mixed":
        x = (x + offsets * rng.choice([0.0, 1.0], (rows, 1))) * rng.choice([1e-2, 1.0, 64.0], (rows, 1))
    return {"x": x, "gamma": rng.uniform(0.5, 1.5, columns), "beta": 0.5 * rng.standard_normal(columns)}


def reference(inputs, axes):
    """Return the normalised, scaled and shifted rows."""
    x = inputs["x"]
    centred = x - np.mean(x, axis=1, keepdims=True)
    variance = np.mean(np.square(centred), axis=1, keepdims=True)
    return {"out": centred / np.sqrt(variance + EPSILON) * inputs["gamma"] + inputs["beta"]}
