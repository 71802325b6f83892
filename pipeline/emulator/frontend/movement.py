"""`nki.language`: moving data between memories and across partitions. Source: their docstrings, NKI 0.6."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from typing import Any, Final

from pipeline.emulator.frontend.creation import new_tile
from pipeline.emulator.frontend.elementwise import require_tile
from pipeline.emulator.frontend.emission import copied, repeated
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion

__all__ = ["broadcast_to", "device_print", "expand_dims", "load", "load_transpose2d", "store"]

#: Partitions that one shuffle reaches.
_QUADRANT: Final = 32


def load(src: Any, dtype: Any = None) -> NkiTensor:
    """Copy an HBM tensor into a new SBUF tile of the same shape."""
    source = _require_hbm(src, "load", "src")
    tile = new_tile(source.shape, source.dtype if dtype is None else dtype)
    INSTRUCTIONS["dma_copy"](tile, source)
    return tile


def load_transpose2d(src: Any, dtype: Any = None) -> NkiTensor:
    """Copy the transpose of a two-dimensional HBM tensor into a new SBUF tile."""
    source = _require_hbm(src, "load_transpose2d", "src")
    if source.ndim != 2:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"nl.load_transpose2d of {source!r}: it needs two dimensions"
        )
    tile = new_tile((source.shape[1], source.shape[0]), source.dtype)
    INSTRUCTIONS["dma_transpose"](tile, source, axes=(1, 0))
    return tile if dtype is None or dtype == source.dtype else copied(tile, dtype)


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
    try:
        position = as_index(axis)
    except TypeError:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.expand_dims: axis must be an integer, not {type(axis).__name__}",
        ) from None
    return tile.expand_dim(position if position >= 0 else position + tile.ndim + 1)


def broadcast_to(x: Any, shape: Sequence[int], dtype: Any = None) -> NkiTensor:
    """Return a tile of `shape` that repeats `x` along its dimensions of size 1.

    Free dimensions are repeated by a view. Partitions are separate memories, so a row is copied into them,
    a quadrant of 32 at a time.
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
    view = repeated(tile, wanted)
    return view if dtype is None or dtype == view.dtype else copied(view, dtype)


def device_print(print_prefix: str, tensor: Any) -> None:
    """Accept a debug print; values do not exist while recording, and printing changes none.

    Args:
        print_prefix: A string known at compile time.
        tensor: Tensor in SBUF or HBM.
    """
    if not isinstance(print_prefix, str):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.device_print: print_prefix must be a string, not {type(print_prefix).__name__}",
        )
    if not isinstance(tensor, NkiTensor):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.device_print prints tensors, not {type(tensor).__name__}; use print for what is known at "
            "compile time",
        )
    if tensor.buffer is MemoryRegion.psum:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.device_print of {tensor!r}: it prints tensors in SBUF and HBM; copy it to SBUF first",
        )


def _repeat_partition(row: NkiTensor, partitions: int) -> NkiTensor:
    """Return a new SBUF tile with the one partition of `row` in each of `partitions`."""
    result = new_tile((partitions, *row.shape[1:]), row.dtype)
    for start in range(0, partitions, _QUADRANT):
        count = min(_QUADRANT, partitions - start)
        # 255 leaves a partition alone: those after the last are not ours.
        mask = [0] * count + [255] * (_QUADRANT - count)
        INSTRUCTIONS["nc_stream_shuffle"](result[start : start + count], row, mask)
    return result


def _require_hbm(value: object, function: str, parameter: str) -> NkiTensor:
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
    return value
