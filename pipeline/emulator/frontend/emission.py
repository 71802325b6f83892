"""One instruction into a new SBUF tile: the steps that language functions are composed of."""

from __future__ import annotations

from typing import Any

from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.functions import named
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor

__all__ = ["activated", "combined", "copied", "repeated", "scaled"]


def copied(tile: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return a copy, as `dtype` where one is given: `nisa.tensor_copy`."""
    result = _like(tile, dtype)
    INSTRUCTIONS["tensor_copy"](result, tile)
    return result


def scaled(
    tile: NkiTensor,
    op0: str,
    operand0: float | NkiTensor | None,
    op1: str | None = None,
    operand1: float | NkiTensor | None = None,
    *,
    reverse: bool = False,
    dtype: Any = None,
) -> NkiTensor:
    """Return ``(tile op0 operand0) op1 operand1``: `nisa.tensor_scalar`.

    Args:
        tile: (P, ...).
        op0: Name of the first operator.
        operand0: A number or a (P, 1) tile; None for an operator of one input.
        op1: Name of the second operator, if any.
        operand1: As `operand0`.
        reverse: Whether `operand0` is the left operand.
        dtype: Of the result; that of `tile` by default.
    """
    result = _like(tile, dtype)
    second = {} if op1 is None else {"op1": named(op1), "operand1": operand1}
    INSTRUCTIONS["tensor_scalar"](result, tile, op0=named(op0), operand0=operand0, reverse0=reverse, **second)
    return result


def combined(first: NkiTensor, op: str, second: NkiTensor, dtype: Any = None) -> NkiTensor:
    """Return ``first op second`` for two tiles of one shape: `nisa.tensor_tensor`."""
    result = _like(first, dtype)
    INSTRUCTIONS["tensor_tensor"](result, first, second, op=named(op))
    return result


def activated(
    tile: NkiTensor, function: str, dtype: Any = None, *, bias: NkiTensor | None = None
) -> NkiTensor:
    """Return ``function(tile + bias)`` with a (P, 1) bias: `nisa.activation`."""
    result = _like(tile, dtype)
    shift = {} if bias is None else {"bias": bias}
    INSTRUCTIONS["activation"](result, op=named(function), data=tile, **shift)
    return result


def repeated(tile: NkiTensor, shape: tuple[int, ...]) -> NkiTensor:
    """Return the view of `tile` that repeats its free dimensions of size 1 up to `shape`."""
    for axis in range(1, tile.ndim):
        if tile.shape[axis] != shape[axis]:
            tile = tile.broadcast(axis, shape[axis])
    return tile


def _like(tile: NkiTensor, dtype: Any) -> NkiTensor:
    return new_tile(tile.shape, tile.dtype if dtype is None else dtype)
