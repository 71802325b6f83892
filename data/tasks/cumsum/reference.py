"""Reference of cumsum: the inclusive prefix sum along the last axis in float64."""

import numpy as np


def make_inputs(rng, axes, case):
    """Draw signed numbers whose sums cancel, positive ones whose sums grow, or masks of zeros and ones."""
    shape = (axes["R"], axes["C"])
    if case["distribution"] == "positive":
        return {"x": rng.uniform(0.5, 1.5, shape)}
    if case["distribution"] == "mask":
        return {"x": np.where(rng.random(shape) < 0.3, 1.0, 0.0)}
    return {"x": rng.standard_normal(shape)}


def reference(inputs, axes):
    """Return the running sums of each row."""
    return {"out": np.cumsum(inputs["x"], axis=1)}
