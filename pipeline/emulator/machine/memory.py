"""Tensor storage: buffers, the views into them, and what uninitialised memory holds.

A view is ``np.ndarray(shape, dtype, buffer, offset, strides)`` over its own tensor's buffer: NumPy refuses
one that leaves the buffer, so no access pattern, however hostile, reaches other memory.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.program.instructions import AccessPattern, Tensor

__all__ = ["Array", "Window", "allocate", "window_of"]

Array = np.ndarray[Any, Any]

#: Arguments of np.ndarray for a view: shape, dtype, byte offset, byte strides.
Window = tuple[tuple[int, ...], np.dtype[Any], int, tuple[int, ...]]

# Two poisons, so that two runs differ wherever memory is read that nothing wrote. NaN and 4 are what the
# vendor's simulator uses (facts/nki.md section 5); -1.5 is exact in every float type.
_FLOAT_POISON: Final = (np.nan, -1.5)
_INTEGER_POISON: Final = (4, 93)


def allocate(tensor: Tensor, poison: int) -> Array:
    """Return a one-dimensional buffer for a tensor, filled with poison 0 or 1."""
    kind = DTYPES[tensor.dtype]
    elements = 1
    for size in tensor.shape:
        elements *= size
    buffer = np.empty(elements, kind.storage)
    if kind.storage == np.bool_:
        buffer.fill(bool(poison))
    else:
        buffer.fill((_FLOAT_POISON if kind.is_float else _INTEGER_POISON)[poison])
    return buffer


def window_of(pattern: AccessPattern) -> Window:
    """Return where a pattern's elements lie in its tensor's buffer."""
    storage = DTYPES[pattern.dtype].storage
    itemsize = storage.itemsize
    shape = pattern.shape or (1,)
    strides = tuple([stride * itemsize for stride, _ in pattern.dims]) or (itemsize,)
    return shape, storage, pattern.offset * itemsize, strides
