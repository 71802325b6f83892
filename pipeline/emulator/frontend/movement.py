"""`nki.language`: moving data between memories and across partitions. Source: their docstrings, NKI 0.6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.elementwise import require_tile
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion

__all__ = ["broadcast_to", "expand_dims", "load", "store"]

#: Columns of one matrix product: a float32 PSUM bank.
_BANK = 512


def load(src: Any, dtype: Any = None) -> NkiTensor:
    """Copy an HBM tensor into a new SBUF tile of the same shape."""
    _require_hbm(src, "load", "src")
    tile = new_tile(src.shape, src.dtype if dtype is None else dtype)
    INSTRUCTIONS["dma_copy"](tile, src)
    return tile


def store(dst: Any, value: Any) -> None:
    """Copy an SBUF tile to an HBM tensor."""
    _require_hbm(dst, "store", "dst")
    tile = require_tile(value, "store")
    if tile.buffer is MemoryRegion.psum:
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            f"nl.store from {tile!r}: DMA cannot read PSUM; copy it to SBUF first with nl.copy or "
            "nisa.tensor_copy",
        )
    INSTRUCTIONS["dma_copy"](dst, tile)


def expand_dims(x: Any, axis: int) -> NkiTensor:
    """Return a view with a new dimension of size 1."""
    tile = require_tile(x, "expand_dims")
    return tile.expand_dim(axis if axis >= 0 else axis + tile.ndim + 1)


def broadcast_to(x: Any, shape: Sequence[int], dtype: Any = None) -> NkiTensor:
    """Return a tile of `shape` that repeats `x` along its dimensions of size 1.

    Free dimensions are repeated by a view. Partitions are separate memories, so a row is repeated over them
    by the tensor engine: ones, transposed, times the row.
    """
    tile = require_tile(x, "broadcast_to")
    wanted = tuple(shape)
    if len(wanted) != tile.ndim or any(
        old not in (1, new) for old, new in zip(tile.shape, wanted, strict=False)
    ):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.broadcast_to of {tile!r} to {wanted}: same number of dimensions, each equal or repeated "
            "from size 1",
        )
    if wanted[0] != tile.shape[0]:
        tile = _repeat_partition(tile, wanted[0])
    for axis in range(1, tile.ndim):
        if tile.shape[axis] != wanted[axis]:
            tile = tile.broadcast(axis, wanted[axis])
    if dtype is not None and dtype != tile.dtype:
        cast = new_tile(wanted, dtype)
        INSTRUCTIONS["tensor_copy"](cast, tile)
        return cast
    return tile


def _repeat_partition(row: NkiTensor, partitions: int) -> NkiTensor:
    """Return a new SBUF tile with the one partition of `row` in each of `partitions`."""
    if row.dtype not in ("float32", "bfloat16", "float16"):
        raise KernelError(
            KernelErrorKind.UNSUPPORTED,
            f"nl.broadcast_to over partitions of {row!r}: the emulator does it for float32, bfloat16 and "
            "float16",
        )
    if row.buffer is MemoryRegion.psum:
        copied = new_tile(row.shape, row.dtype)
        INSTRUCTIONS["tensor_copy"](copied, row)
        row = copied
    result = new_tile((partitions, *row.shape[1:]), row.dtype)
    ones = new_tile((1, partitions), row.dtype)
    INSTRUCTIONS["memset"](ones, 1.0)
    flat_row = row.reshape((1, row.size))
    flat_result = result.reshape((partitions, row.size))
    for start in range(0, row.size, _BANK):
        stop = min(start + _BANK, row.size)
        product = new_tile((partitions, stop - start), "float32", MemoryRegion.psum)
        INSTRUCTIONS["nc_matmul"](product, ones, flat_row[:, start:stop])
        INSTRUCTIONS["tensor_copy"](flat_result[:, start:stop], product)
    return result


def _require_hbm(value: object, function: str, parameter: str) -> None:
    if not isinstance(value, NkiTensor):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{function}: {parameter} must be a tensor, not {type(value).__name__}",
        )
    if value._on_chip:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.{function}: {parameter} must lie in HBM, it is {value!r}; copy on-chip tiles with nl.copy",
        )
