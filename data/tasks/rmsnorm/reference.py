"""Reference of rmsnorm: float64, epsilon inside the root, no mean subtraction."""

import numpy as np

EPSILON = 1e-6


def make_inputs(rng, axes, case):
    """Draw rows (unit normal with an offset, tiny, of different scale, or some all zero) and a gain around 1."""
    rows, columns = axes["R"], axes["D"]
    x = rng.standard_normal((rows, columns)) + 0.25
    if case["distribution"] == "small":
        x *= 1e-3
    elif case["distribution"] == "scaled":
        x *= rng.choice([1e-3, 1.0, 64.0, 1e4], size=(rows, 1))
    elif case["distribution"] == "zero_rows":
        x[::3] = 0.0
    return {"x": x, "gain": rng.uniform(0.5, 1.5, columns)}


def reference(inputs, axes):
    """Return the normalised and scaled rows."""
    x, gain = inputs["x"], inputs["gain"]
    mean_square = np.mean(np.square(x), axis=1, keepdims=True)
    return {"out": x / np.sqrt(mean_square + EPSILON) * gain}
