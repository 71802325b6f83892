"""Reference of matmul_tiled: out = lhsT.T @ rhs in float64."""

import numpy as np


def make_inputs(rng, axes, case):
    """Draw both operands: unit normal, all positive (no sum cancels), or rows of very different scale."""
    m, k, n = axes["M"], axes["K"], axes["N"]
    if case["distribution"] == "positive":
        return {"lhsT": rng.uniform(0.5, 1.5, (k, m)), "rhs": rng.uniform(0.5, 1.5, (k, n))}
    lhs_t, rhs = rng.standard_normal((k, m)), rng.standard_normal((k, n))
    if case["distribution"] == "scaled":
        lhs_t *= rng.choice([1e-3, 1.0, 64.0], size=(1, m))
    return {"lhsT": lhs_t, "rhs": rhs}


def reference(inputs, axes):
    """Return the product."""
    return {"out": np.matmul(inputs["lhsT"].T, inputs["rhs"])}
