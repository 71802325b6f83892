"""`nki.language`: softmax and root-mean-square normalisation. Source: their docstrings, NKI 0.6.

How they are composed of instructions is not documented; every intermediate value is float32 here.
"""

from __future__ import annotations

from typing import Any

from pipeline.emulator.frontend.elementwise import ELEMENTWISE, require_tile
from pipeline.emulator.frontend.emission import activated, combined, scaled
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.reductions import Axis, free_axes, reduced, with_rows
from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = ["rms_norm", "softmax"]


def softmax(x: Any, axis: Axis = -1, dtype: Any = None) -> NkiTensor:
    """Return ``exp(x - max(x)) / sum(exp(x - max(x)))`` along `axis`, the last free dimensions."""
    tile = require_tile(x, "softmax")
    axes = free_axes("softmax", tile, axis)
    lowest = reduced(tile, "maximum", axes, "float32", negate=True)
    if lowest.size == lowest.shape[0]:
        # One maximum per partition: the scalar engine subtracts it on the way.
        powers = activated(tile, "exp", "float32", bias=lowest.reshape((lowest.shape[0], 1)))
    else:
        powers = activated(with_rows(tile, "add", lowest), "exp")
    total = reduced(powers, "add", axes)
    inverse = ELEMENTWISE["reciprocal"](total)
    return with_rows(powers, "multiply", inverse, tile.dtype if dtype is None else dtype)


def rms_norm(
    x: Any, w: Any, axis: Axis, n: int, epsilon: float = 1e-6, dtype: Any = None, compute_dtype: Any = None
) -> NkiTensor:
    """Return ``x / sqrt(sum(x * x) / n + epsilon) * w``.

    Args:
        x: Tile.
        w: Tile of its shape.
        axis: The last free dimensions.
        n: How many values the sum is divided by.
        epsilon: Added to the mean of squares.
        dtype: Of the result; that of `x` by default.
        compute_dtype: Of squares and scaled values; float32 by default.
    """
    tile, weight = require_tile(x, "rms_norm"), require_tile(w, "rms_norm")
    axes = free_axes("rms_norm", tile, axis)
    if tile.shape != weight.shape:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.rms_norm of {tile!r} with weights {weight!r}: shapes must be equal; use nl.broadcast_to",
        )
    working = "float32" if compute_dtype is None else compute_dtype
    total = reduced(activated(tile, "square", working), "add", axes, "float32")
    shifted = scaled(total, "multiply", 1.0 / n, "add", epsilon)
    scale = with_rows(tile, "multiply", ELEMENTWISE["rsqrt"](shifted), working)
    return combined(scale, "multiply", weight, tile.dtype if dtype is None else dtype)
