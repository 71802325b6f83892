"""Reference of fp8_matmul: the product of quantised operands in float64, times both scales."""

import numpy as np

LARGEST = 240.0  # of float8_e4m3


def make_inputs(rng, axes, case):
    """Draw operands as quantisation leaves them, and the scales that undo it.

    Values are unit normal, all positive (no sum cancels), or normal with a few outliers that claim the range for
    themselves; each operand is divided by its scale, so that its largest magnitude becomes 240.
    """
    m, k, n = axes["M"], axes["K"], axes["N"]
    quantised = {}
    for name, shape in (("lhs", (k, m)), ("rhs", (k, n))):
        if case["distribution"] == "positive":
            values = rng.uniform(0.5, 1.5, shape)
        else:
            values = rng.standard_normal(shape) * rng.uniform(0.5, 4.0)
            if case["distribution"] == "outliers":
                values = np.where(rng.random(shape) < 1e-3, 16.0 * values, values)
        scale = np.abs(values).max() / LARGEST
        quantised[name] = (np.clip(values / scale, -LARGEST, LARGEST), np.full((1, 1), scale))
    return {
        "lhsT": quantised["lhs"][0],
        "rhs": quantised["rhs"][0],
        "lhs_scale": quantised["lhs"][1],
        "rhs_scale": quantised["rhs"][1],
    }


def reference(inputs, axes):
    """Return the product of the operands times both scales."""
    product = np.matmul(inputs["lhsT"].T, inputs["rhs"])
    return {"out": product * (inputs["lhs_scale"] * inputs["rhs_scale"])}
