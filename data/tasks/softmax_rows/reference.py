"""Reference of softmax_rows: softmax over the last axis in float64."""

import numpy as np


def make_inputs(rng, axes, case):
    """Draw attention scores: unit normal, huge with an offset per row, partly masked, or constant per row."""
    rows, columns = axes["R"], axes["C"]
    x = rng.standard_normal((rows, columns))
    if case["distribution"] == "large":
        x = 300.0 * x + rng.uniform(-1e4, 1e4, (rows, 1))
    elif case["distribution"] == "masked":
        masked = rng.random((rows, columns)) < 0.5
        masked[np.arange(rows), rng.integers(0, columns, rows)] = False
        x = np.where(masked, -np.inf, 4.0 * x)
    elif case["distribution"] == "constant":
        x = np.broadcast_to(rng.uniform(-100.0, 100.0, (rows, 1)), (rows, columns))
    return {"x": x}


def reference(inputs, axes):
    """Return the softmax of each row."""
    x = inputs["x"]
    exponentials = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": exponentials / exponentials.sum(axis=1, keepdims=True)}
