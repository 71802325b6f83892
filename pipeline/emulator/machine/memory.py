"""Tensor storage: buffers, the views into them, and what uninitialised memory holds.

A view is ``np.ndarray(shape, dtype, buffer, offset, strides)`` over its own tensor's buffer: NumPy refuses
one that leaves the buffer, so no access pattern, however hostile, reaches other memory. Tensors that their
author placed share one buffer per memory and core, the arena, so that those that overlap do alias.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.machine.errors import MachineError
from pipeline.emulator.program.instructions import AccessPattern, Tensor

__all__ = [
    "Array",
    "Place",
    "Store",
    "Window",
    "arena_pitches",
    "arena_store",
    "place_of",
    "store_of",
    "window_of",
]

Array = np.ndarray[Any, Any]

#: A view: its buffer, then np.ndarray's shape, dtype, byte offset and byte strides.
Window = tuple[int, tuple[int, ...], np.dtype[Any], int, tuple[int, ...]]

# Two poisons, so that two runs differ wherever memory is read that nothing wrote. NaN and 4 are what the
# vendor's simulator uses (facts/nki.md section 5); -1.5 is exact in every float type.
_FLOAT_POISON: Final = (np.nan, -1.5)
_INTEGER_POISON: Final = (4, 93)
# The arena holds bytes: 0xff makes NaN of every float type, 0xc0 a number.
_BYTE_POISON: Final = (0xFF, 0xC0)
_PARTITIONS: Final = 128
_ALIGNMENT: Final = 64


class Store(NamedTuple):
    """What a tensor needs of memory.

    Attributes:
        elements: How many.
        storage: Type of one element.
        poison: The two values that stand for uninitialised elements.
        exposed: Whether an instruction may see or leave elements that nothing wrote. Else its first use
            writes all of it, and poisoning would be wasted.
    """

    elements: int
    storage: np.dtype[Any]
    poison: tuple[float, float]
    exposed: bool

    def allocate(self, poison: int) -> Array:
        """Return a one-dimensional buffer, filled with poison 0 or 1 where that can matter."""
        buffer = np.empty(self.elements, self.storage)
        if self.exposed:
            buffer.fill(self.poison[poison])
        return buffer


class Place(NamedTuple):
    """Where the rows of a tensor lie in its buffer.

    Attributes:
        buffer: Index of the buffer: the tensor's own, or its arena's.
        origin: First byte.
        width: Bytes of one partition of the tensor; 0 where the tensor is one run of bytes.
        pitch: Bytes from one partition to the next.
    """

    buffer: int
    origin: int = 0
    width: int = 0
    pitch: int = 0


def store_of(tensor: Tensor, *, exposed: bool) -> Store:
    """Return what a tensor needs of memory."""
    kind = DTYPES[tensor.dtype]
    elements = 1
    for size in tensor.shape:
        elements *= size
    # Packed floats are stored as words.
    poison: tuple[float, float] = _INTEGER_POISON if kind.storage.kind in "iu" else _FLOAT_POISON
    return Store(elements, kind.storage, (False, True) if kind.storage == np.bool_ else poison, exposed)


def arena_pitches(tensors: Iterable[Tensor]) -> dict[tuple[int, str], int]:
    """Return the bytes per partition that placed tensors need, by core and memory."""
    pitches: dict[tuple[int, str], int] = {}
    for tensor in tensors:
        if tensor.address is not None:
            key = (tensor.core, tensor.buffer)
            end = tensor.address[1] + _partition_bytes(tensor)
            pitches[key] = max(pitches.get(key, 0), -(-end // _ALIGNMENT) * _ALIGNMENT)
    return pitches


def arena_store(pitch: int) -> Store:
    """Return what an arena needs of memory."""
    return Store(_PARTITIONS * pitch, np.dtype(np.uint8), _BYTE_POISON, exposed=True)


def place_of(index: int, tensor: Tensor, arenas: dict[tuple[int, str], int], pitch: int) -> Place:
    """Return where a tensor lies.

    Args:
        index: Of the tensor.
        tensor: Its declaration.
        arenas: Index of the arena's buffer, by core and memory.
        pitch: Bytes per partition of its arena.
    """
    if tensor.address is None:
        return Place(index)
    partition, byte = tensor.address
    return Place(
        arenas[tensor.core, tensor.buffer], partition * pitch + byte, _partition_bytes(tensor), pitch
    )


def window_of(pattern: AccessPattern, place: Place) -> Window:
    """Return where a pattern's elements lie in its buffer; of a dynamic one, before run time adds to it.

    Raises:
        MachineError: If the pattern of a placed tensor does not stay within the columns of the tensor, which
            legality would have refused.
    """
    storage = DTYPES[pattern.dtype].storage
    itemsize = storage.itemsize
    shape = pattern.shape or (1,)
    strides = tuple([stride * itemsize for stride, _ in pattern.dims]) or (itemsize,)
    offset = pattern.offset * itemsize
    if not place.width:
        return place.buffer, shape, storage, offset, strides
    row, column = divmod(offset, place.width)
    steps, rest = divmod(strides[0], place.width)
    low = column + sum(s * (n - 1) for s, n in zip(strides[1:], shape[1:], strict=True) if s < 0)
    high = column + sum(s * (n - 1) for s, n in zip(strides[1:], shape[1:], strict=True) if s > 0)
    if (rest and shape[0] > 1) or low < 0 or high + itemsize > place.width:
        raise MachineError("illegal", "a view of a placed tensor crosses its partitions")
    return (
        place.buffer,
        shape,
        storage,
        place.origin + row * place.pitch + column,
        (steps * place.pitch, *strides[1:]),
    )


def _partition_bytes(tensor: Tensor) -> int:
    size = DTYPES[tensor.dtype].itemsize
    for extent in tensor.shape[1:]:
        size *= extent
    return size
