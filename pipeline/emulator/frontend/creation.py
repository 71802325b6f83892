"""`nki.language`: tensors, and tensors filled with constants."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index as as_index
from typing import Any

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.recorder import active_recorder
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import MemoryRegion, buffer_named, dtype_of
from pipeline.emulator.frontend.views import contiguous
from pipeline.emulator.targets import Target

__all__ = [
    "empty_like",
    "full",
    "ndarray",
    "new_tile",
    "ones",
    "zeros",
    "zeros_like",
]


def ndarray(
    shape: Sequence[int],
    dtype: Any,
    buffer: Any = MemoryRegion.sbuf,
    name: str = "",
    address: tuple[int, int] | None = None,
) -> NkiTensor:
    """Allocate a tensor; its contents are undefined.

    Args:
        shape: Elements per dimension; on chip the first is the partition dimension, at most 128.
        dtype: Data type.
        buffer: Memory.
        name: What messages call it.
        address: Fixed address; not emulated.
    """
    recorder = active_recorder()
    region = buffer_named(buffer)
    sizes = _sizes(shape)
    kind = dtype_of(dtype)
    if address is not None:
        raise KernelError(
            KernelErrorKind.UNSUPPORTED,
            "nl.ndarray(address=) is not emulated yet: overlapping allocations cannot be modelled",
        )
    storage = recorder.declare(sizes, str(kind), region, name)
    tensor = NkiTensor(storage, kind, contiguous(sizes))
    if storage.on_chip:
        _check_tile(tensor, recorder.target)
    return tensor


def new_tile(shape: Sequence[int], dtype: Any, buffer: MemoryRegion = MemoryRegion.sbuf) -> NkiTensor:
    """Allocate the result of a language function: on chip, where a tensor has at least two dimensions."""
    return ndarray(shape if len(shape) > 1 else (*shape, 1), dtype, buffer)


def full(
    shape: Sequence[int], fill_value: float, dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = ""
) -> NkiTensor:
    """Allocate a tensor filled with a constant."""
    tensor = ndarray(shape, dtype, buffer, name)
    value = fill_value if DTYPES[tensor.dtype].is_float else _whole(fill_value, tensor)
    memset = INSTRUCTIONS["memset"]
    if tensor._on_chip:
        memset(tensor, value)
        return tensor
    # Engines cannot write HBM: fill one tile and copy it over the rows.
    rows = tensor.reshape((prod(tensor.shape[:-1]), tensor.shape[-1]))
    height = min(128, rows.shape[0])
    tile = ndarray((height, rows.shape[1]), dtype)
    memset(tile, value)
    for start in range(0, rows.shape[0], height):
        count = min(height, rows.shape[0] - start)
        INSTRUCTIONS["dma_copy"](rows[start : start + count], tile[0:count])
    return tensor


def zeros(shape: Sequence[int], dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """Allocate a tensor filled with zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Sequence[int], dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """Allocate a tensor filled with ones."""
    return full(shape, 1, dtype, buffer, name)


def zeros_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """Allocate zeros with the shape, and by default the data type, of `x`; in SBUF if no memory is given."""
    kind = x.dtype if dtype is None else dtype
    return zeros(x.shape, kind, MemoryRegion.sbuf if buffer is None else buffer, name)


def empty_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """Allocate a tensor with the shape, and by default the data type and memory, of `x`."""
    return ndarray(x.shape, x.dtype if dtype is None else dtype, x.buffer if buffer is None else buffer, name)


def _sizes(shape: Any) -> tuple[int, ...]:
    try:
        sizes = tuple([as_index(size) for size in shape])
    except TypeError:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            "nl.ndarray: the shape must be a tuple of integers known at compile time, not "
            f"{str(shape)[:60]!r}",
        ) from None
    if not sizes or any(size < 1 for size in sizes):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"nl.ndarray: shape {sizes}; every size must be at least 1"
        )
    return sizes


def _check_tile(tile: NkiTensor, target: Target) -> None:
    """Refuse a tile that no on-chip memory could hold, where its author can see it."""
    shape = tile.shape
    if len(shape) < 2:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"{tile!r} has one dimension; on-chip tensors have a partition and at least one free dimension, "
            f"for example ({shape[0]}, 1)",
        )
    if shape[0] > target.partitions:
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            f"{tile!r}: size of partition dimension {shape[0]} exceeds architecture limitation of "
            f"{target.partitions}; loop over tiles of {target.partitions} rows",
        )
    in_sbuf = tile.buffer is MemoryRegion.sbuf
    capacity = target.sbuf_bytes_per_partition if in_sbuf else target.psum_bytes_per_partition
    needed = tile.size // shape[0] * DTYPES[tile.dtype].itemsize
    if needed > capacity:
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            f"{tile!r} needs {needed} bytes per partition; {tile.buffer.name} has {capacity} on "
            f"{target.name}; use smaller tiles",
        )


def _whole(value: float, tensor: NkiTensor) -> int:
    if not float(value).is_integer():
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"cannot fill {tensor!r} with {value}: it holds integers"
        )
    return int(value)
