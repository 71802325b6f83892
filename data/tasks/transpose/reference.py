"""Reference of transpose."""

import numpy as np


def make_inputs(rng, axes, case):
    """Draw unit normal values, or values of every magnitude between 2**-100 and 2**100."""
    x = rng.standard_normal((axes["R"], axes["C"]))
    if case["distribution"] == "wide":
        x = x * 2.0 ** rng.integers(-100, 101, x.shape)
    return {"x": x}


def reference(inputs, axes):
    """Return the transposed matrix."""
    return {"out": np.transpose(inputs["x"])}
