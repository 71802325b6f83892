"""Reference of attention: softmax(q k^T / sqrt(D)) v in float64."""

import math

import numpy as np


def make_inputs(rng, axes, case):
    """Draw queries, keys and values.

    They are unit normal; or logits are in the hundreds, or all of them hundreds below zero; keys grow along T, slowly,
    or with the queries along S until logits of the last ones are thousands above all others; or one key's value dwarfs
    all others; or values of one sign sum up to more than 65504, float16's largest, before they are normalised.
    """
    queries, keys, depth = axes["S"], axes["T"], axes["D"]
    q_t, k_t = rng.standard_normal((depth, queries)), rng.standard_normal((depth, keys))
    if case["distribution"] == "large":
        q_t, k_t = 8.0 * q_t, 8.0 * k_t
    elif case["distribution"] == "rising":
        k_t = k_t * np.linspace(0.25, 4.0, keys)
    elif case["distribution"] == "steep":
        q_t = 128.0 * q_t * np.geomspace(1 / 64, 1.0, queries)
        k_t = 128.0 * k_t * np.geomspace(1 / 64, 1.0, keys)
    elif case["distribution"] == "opposed":
        q_t, k_t = 8.0 * (0.25 + np.abs(q_t)), -8.0 * (0.25 + np.abs(k_t))
    v = rng.standard_normal((keys, depth))
    if case["distribution"] == "dominant":
        v[rng.integers(0, keys)] *= 1024.0
    elif case["distribution"] == "heavy":
        k_t, v = 0.125 * k_t, 2e3 * (1.0 + np.abs(v))
    return {"qT": q_t, "kT": k_t, "v": v}


def reference(inputs, axes):
    """Return the attention of every query."""
    logits = np.matmul(inputs["qT"].T, inputs["kT"]) * (1.0 / math.sqrt(axes["D"]))
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    return {"out": np.matmul(probabilities, inputs["v"])}
