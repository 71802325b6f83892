"""Reference of rope: half-split rotation in float64 with tables that are inputs."""

import numpy as np

BASE = 10000.0


def make_inputs(rng, axes, case):
    """Draw unit normal vectors, or of different length, and the tables of running, random or packed positions."""
    tokens, heads, size = axes["T"], axes["H"], axes["D"]
    x = rng.standard_normal((tokens, heads, size))
    if case["distribution"] == "scaled":
        x *= rng.choice([1e-3, 1.0, 64.0, 1e4], size=(tokens, heads, 1))
    if case["distribution"] == "packed":
        # Sequences of different length lie one behind the other: positions start anew, at no multiple of a tile.
        positions = np.arange(tokens) % int(rng.integers(3, 60))
    else:
        positions = np.arange(tokens) + int(rng.integers(1, 4096))
    frequencies = BASE ** (-np.arange(size // 2) / (size // 2))
    angles = positions[:, None] * frequencies
    return {"x": x, "cos": np.cos(angles), "sin": np.sin(angles)}


def reference(inputs, axes):
    """Return the rotated vectors."""
    half = axes["D"] // 2
    first, second = inputs["x"][:, :, :half], inputs["x"][:, :, half:]
    cos, sin = inputs["cos"][:, None, :], inputs["sin"][:, None, :]
    return {"out": np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=2)}
