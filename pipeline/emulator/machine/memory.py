"""Tensor storage: buffers, the views into them, and what uninitialised memory holds.

A view is ``np.ndarray(shape, dtype, buffer, offset, strides)`` over its own tensor's buffer: NumPy refuses
one that leaves the buffer, so no access pattern, however hostile, reaches other memory.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import AccessPattern, Tensor

__all__ = ["Array", "Store", "Window", "store_of", "window_of"]

Array = np.ndarray[Any, Any]

#: A view: its tensor, then np.ndarray's shape, dtype, byte offset and byte strides.
Window = tuple[int, tuple[int, ...], np.dtype[Any], int, tuple[int, ...]]

# Two poisons, so that two runs differ wherever memory is read that nothing wrote. NaN and 4 are what the
# vendor's simulator uses (facts/nki.md section 5); -1.5 is exact in every float type.
_FLOAT_POISON: Final = (np.nan, -1.5)
_INTEGER_POISON: Final = (4, 93)


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


def store_of(tensor: Tensor, *, exposed: bool) -> Store:
    """Return what a tensor needs of memory."""
    kind = DTYPES[tensor.dtype]
    elements = 1
    for size in tensor.shape:
        elements *= size
    poison: tuple[float, float] = _FLOAT_POISON if kind.is_float else _INTEGER_POISON
    return Store(elements, kind.storage, (False, True) if kind.storage == np.bool_ else poison, exposed)


def window_of(pattern: AccessPattern) -> Window:
    """Return where a pattern's elements lie in its tensor's buffer."""
    storage = DTYPES[pattern.dtype].storage
    itemsize = storage.itemsize
    shape = pattern.shape or (1,)
    strides = tuple([stride * itemsize for stride, _ in pattern.dims]) or (itemsize,)
    return pattern.tensor, shape, storage, pattern.offset * itemsize, strides
