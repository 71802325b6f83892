"""`nki.language`: tensors, and tensors filled with constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index as as_index
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.frontend.errors import KernelError, KernelErrorKind
from pipeline.emulator.frontend.instructions import INSTRUCTIONS
from pipeline.emulator.frontend.session import active_recorder
from pipeline.emulator.frontend.tensor import NkiTensor
from pipeline.emulator.frontend.values import NAMES, WIDTHS, MemoryRegion, buffer_named, dtype_of
from pipeline.emulator.frontend.views import contiguous
from pipeline.emulator.targets import Target

__all__ = [
    "empty_like",
    "full",
    "ndarray",
    "new_tile",
    "ones",
    "rows_of",
    "zeros",
    "zeros_like",
]

#: Rows of an SBUF tile, and elements of a row that any data type fits several times over.
_PARTITIONS: Final = 128
_ROW: Final = 2048


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
        address: Where an on-chip tensor lies: first partition and first byte within a partition.
    """
    recorder = active_recorder()
    region = buffer_named(buffer)
    sizes = _sizes(shape)
    kind = dtype_of(dtype)
    place = _placed(address, region)
    storage = recorder.declare(sizes, NAMES[kind], region, name, address=place)
    tensor = NkiTensor(storage, kind, contiguous(sizes))
    if storage.on_chip:
        _check_tile(tensor, recorder.target, place or (0, 0))
    return tensor


def new_tile(shape: Sequence[int], dtype: Any, buffer: MemoryRegion = MemoryRegion.sbuf) -> NkiTensor:
    """Allocate the result of a language function: on chip, where a tensor has at least two dimensions."""
    return ndarray(shape if len(shape) > 1 else (*shape, 1), dtype, buffer)


def full(
    shape: Sequence[int], fill_value: float, dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = ""
) -> NkiTensor:
    """Allocate a tensor filled with a constant."""
    tensor = ndarray(shape, dtype, buffer, name)
    value = _fill_value(fill_value, tensor)
    memset = INSTRUCTIONS["memset"]
    if tensor._on_chip:
        memset(tensor, value)
        return tensor
    # Engines cannot write HBM: fill one tile and copy it over the rows.
    tile: NkiTensor | None = None
    for rows in rows_of(tensor):
        if tile is None:
            tile = new_tile(rows.shape, tensor.dtype)
            memset(tile, value)
        INSTRUCTIONS["dma_copy"](rows, tile[0 : rows.shape[0], 0 : rows.shape[1]])
    return tensor


def rows_of(tensor: NkiTensor) -> Iterator[NkiTensor]:
    """Yield a fresh HBM tensor piece by piece, the largest first, each as rows that fit an SBUF tile."""
    flat = tensor.reshape((tensor.size,))
    width = min(_ROW, tensor.size)
    whole = tensor.size // width
    for start in range(0, whole, _PARTITIONS):
        count = min(_PARTITIONS, whole - start)
        yield flat[start * width : (start + count) * width].reshape((count, width))
    if tensor.size % width:
        yield flat[whole * width :].reshape((1, tensor.size % width))


def zeros(shape: Sequence[int], dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """Allocate a tensor filled with zeros."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Sequence[int], dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    """Allocate a tensor filled with ones."""
    return full(shape, 1, dtype, buffer, name)


def zeros_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """Allocate zeros with the shape, and by default the data type, of `x`; in SBUF if no memory is given."""
    model = _model("zeros_like", x)
    kind = model.dtype if dtype is None else dtype
    return zeros(model.shape, kind, MemoryRegion.sbuf if buffer is None else buffer, name)


def empty_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """Allocate a tensor with the shape, and by default the data type and memory, of `x`."""
    model = _model("empty_like", x)
    kind = model.dtype if dtype is None else dtype
    return ndarray(model.shape, kind, model.buffer if buffer is None else buffer, name)


def _model(function: str, x: Any) -> NkiTensor:
    if isinstance(x, NkiTensor):
        return x
    raise KernelError(
        KernelErrorKind.COMPILE_ERROR, f"nl.{function} takes a tensor, not {type(x).__name__} {str(x)[:40]!r}"
    )


def _placed(address: Any, region: MemoryRegion) -> tuple[int, int] | None:
    """Return an address as the program holds it.

    Raises:
        KernelError: If it is no pair of integers, or the tensor lies in HBM.
    """
    if address is None:
        return None
    try:
        partition, byte = [as_index(part) for part in address]
    except (TypeError, ValueError):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            "nl.ndarray: address must be (first partition, first byte within a partition), not "
            f"{str(address)[:60]}",
        ) from None
    if region not in (MemoryRegion.sbuf, MemoryRegion.psum) or partition < 0 or byte < 0:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"nl.ndarray: address {(partition, byte)} in {region.name}; tensors in SBUF and PSUM have "
            "addresses, from (0, 0) on",
        )
    return partition, byte


def _sizes(shape: Any) -> tuple[int, ...]:
    try:
        sizes = tuple([as_index(size) for size in shape])
    except TypeError:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            "nl.ndarray: the shape must be a tuple of integers known at compile time, not "
            f"{str(shape)[:60]!r}",
        ) from None
    if not sizes or min(sizes) < 1:
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"nl.ndarray: shape {sizes}; every size must be at least 1"
        )
    return sizes


def _check_tile(tile: NkiTensor, target: Target, address: tuple[int, int]) -> None:
    """Refuse a tile that no on-chip memory could hold, where its author can see it."""
    storage, dtype, view, _ = tile._parts
    shape = view.shape
    in_sbuf = storage.memory == "sbuf"
    capacity = target.sbuf_bytes_per_partition if in_sbuf else target.psum_bytes_per_partition
    needed = storage.size // shape[0] * WIDTHS[dtype]
    partition, byte = address
    if len(shape) > 1 and partition + shape[0] <= target.partitions and byte + needed <= capacity:
        return
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
    if needed > capacity:
        raise KernelError(
            KernelErrorKind.ILLEGAL_ON_TARGET,
            f"{tile!r} needs {needed} bytes per partition; {tile.buffer.name} has {capacity} on "
            f"{target.name}; use smaller tiles",
        )
    raise KernelError(
        KernelErrorKind.ILLEGAL_ON_TARGET,
        f"{tile!r} at address {address} ends at partition {partition + shape[0]} and byte "
        f"{byte + needed}; {tile.buffer.name} has {target.partitions} partitions of {capacity} bytes on "
        f"{target.name}",
    )


def _fill_value(value: Any, tensor: NkiTensor) -> float | int:
    """Return a constant as `nisa.memset` takes it: whole numbers for what holds integers."""
    if not isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR,
            f"cannot fill {tensor!r} with {type(value).__name__} {str(value)[:40]!r}: the value must be a "
            "number",
        )
    number: float = value if isinstance(value, int | float) else value.item()
    if DTYPES[tensor.dtype].is_float:
        return number
    if not float(number).is_integer():
        raise KernelError(
            KernelErrorKind.COMPILE_ERROR, f"cannot fill {tensor!r} with {value}: it holds integers"
        )
    return int(number)
