"""`nki.language`: reductions along the last free dimensions. Source: their docstrings, NKI 0.6."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import Any

from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.elementwise import require_tile
from pipeline.emulator.frontend.emission import activated, combined, repeated, scaled
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.functions import named
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = ["Axis", "all_", "free_axes", "max_", "mean", "min_", "prod", "reduced", "sum_", "var", "with_rows"]

Axis = int | Sequence[int]


def free_axes(name: str, tile: NkiTensor, axis: Axis) -> tuple[int, ...]:
    """Return the reduced dimensions, ascending.

    Raises:
        KernelError: If they are not the last free dimensions.
    """
    given = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    if any(not isinstance(position, int) or not -tile.ndim <= position < tile.ndim for position in given):
        raise KernelError(KernelErrorKind.COMPILE_ERROR, f"nl.{name} of {tile!r}: axis {axis} does not exist")
    axes = tuple(sorted({position % tile.ndim for position in given}))
    if not axes or axes[0] == 0 or axes != tuple(range(axes[0], tile.ndim)):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{name} of {tile!r}: axis {axis} must be the last free dimensions, without dimension 0; "
            "reduce over partitions with a matmul by ones",
        )
    return axes


def reduced(
    tile: NkiTensor,
    operator: str,
    axes: tuple[int, ...],
    dtype: Any = None,
    *,
    keepdims: bool = True,
    negate: bool = False,
) -> NkiTensor:
    """Return the reduction of a tile along its last free dimensions: `nisa.tensor_reduce`.

    Args:
        tile: (P, ...).
        operator: Name of the operator.
        axes: From `free_axes`.
        dtype: Of the result; that of `tile` by default.
        keepdims: Whether reduced dimensions stay, with size 1.
        negate: Whether the result is multiplied by -1.
    """
    shape = [1 if place in axes else size for place, size in enumerate(tile.shape)]
    if not keepdims:
        shape = [size for place, size in enumerate(tile.shape) if place not in axes]
    result = new_tile(shape, tile.dtype if dtype is None else dtype)
    INSTRUCTIONS["tensor_reduce"](
        result, op=named(operator), data=tile, axis=axes, negate=negate, keepdims=keepdims
    )
    return result


def with_rows(tile: NkiTensor, operator: str, rows: NkiTensor, dtype: Any = "float32") -> NkiTensor:
    """Return ``tile operator rows``, where `rows` holds one element per reduced row, with dimensions kept.

    One element per partition is an operand of `nisa.tensor_scalar`; several are repeated by a view.
    """
    if rows.size == rows.shape[0]:
        return scaled(tile, operator, rows.reshape((rows.shape[0], 1)), dtype=dtype)
    return combined(tile, operator, repeated(rows, tile.shape), dtype)


def sum_(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the sum along `axis`."""
    return _reduce("sum", "add", x, axis, dtype, keepdims)


def max_(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the maximum along `axis`."""
    return _reduce("max", "maximum", x, axis, dtype, keepdims)


def min_(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the minimum along `axis`."""
    return _reduce("min", "minimum", x, axis, dtype, keepdims)


def prod(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the product along `axis`."""
    return _reduce("prod", "multiply", x, axis, dtype, keepdims)


def all_(x: Any, axis: Axis, dtype: Any = None) -> NkiTensor:
    """Return 1 where all elements along `axis` are other than 0, else 0."""
    return _reduce("all", "logical_and", x, axis, dtype, False)


def mean(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the arithmetic mean along `axis`, with float32 intermediates."""
    tile = require_tile(x, "mean")
    axes = free_axes("mean", tile, axis)
    total = reduced(tile, "add", axes, "float32", keepdims=keepdims)
    return scaled(total, "multiply", 1.0 / _count(tile, axes), dtype=tile.dtype if dtype is None else dtype)


def var(x: Any, axis: Axis, dtype: Any = None, keepdims: bool = False) -> NkiTensor:
    """Return the population variance along `axis`; reduced dimensions stay, as documented."""
    tile = require_tile(x, "var")
    axes = free_axes("var", tile, axis)
    average = mean(tile, axes, "float32", keepdims=True)
    squares = activated(with_rows(tile, "subtract", average), "square")
    return mean(squares, axes, tile.dtype if dtype is None else dtype, keepdims=True)


def _reduce(name: str, operator: str, x: Any, axis: Axis, dtype: Any, keepdims: bool) -> NkiTensor:
    tile = require_tile(x, name)
    return reduced(tile, operator, free_axes(name, tile, axis), dtype, keepdims=keepdims)


def _count(tile: NkiTensor, axes: tuple[int, ...]) -> int:
    return product(tile.shape[axis] for axis in axes)
