"""`nki.language`: matrix products and transposes. Source: their docstrings, NKI 0.6."""

from __future__ import annotations

from typing import Any

from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.elementwise import require_tile
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion

__all__ = ["matmul", "transpose"]


def matmul(x: Any, y: Any, transpose_x: bool = False) -> NkiTensor:
    """Return ``x.T @ y`` in PSUM, as float32."""
    left, right = require_tile(x, "matmul"), require_tile(y, "matmul")
    if not transpose_x:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            "nl.matmul needs transpose_x=True: the tensor engine contracts over partitions, so pass x "
            "transposed",
        )
    if left.ndim != 2 or right.ndim != 2 or left.shape[0] != right.shape[0]:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.matmul of {left!r} and {right!r}: both need two dimensions and the same partition "
            "(contraction) size",
        )
    result = new_tile((left.shape[1], right.shape[1]), "float32", MemoryRegion.psum)
    INSTRUCTIONS["nc_matmul"](result, left, right)
    return result


def transpose(x: Any, dtype: Any = None) -> NkiTensor:
    """Return the transpose of a two-dimensional tile, in PSUM.

    The tensor engine transposes without converting, so another data type costs a copy.
    """
    tile = require_tile(x, "transpose")
    if tile.ndim != 2:
        raise KernelError(KernelErrorKind.COMPILE_ERROR, f"nl.transpose of {tile!r}: it needs two dimensions")
    shape = (tile.shape[1], tile.shape[0])
    result = new_tile(shape, tile.dtype, MemoryRegion.psum)
    INSTRUCTIONS["nc_transpose"](result, tile)
    if dtype is None or dtype == tile.dtype:
        return result
    converted = new_tile(shape, dtype, MemoryRegion.psum)
    INSTRUCTIONS["tensor_copy"](converted, result)
    return converted
