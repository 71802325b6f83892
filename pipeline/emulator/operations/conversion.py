"""How values enter and leave an engine: up to float32 on read, one rounding on write.

Source: facts/nki.md section 7.3. Float destinations round to nearest even; integer destinations round to
nearest even and saturate, and NaN becomes 0 (undocumented). Arrays meet by their flattened order, so a shape
that only differs in its grouping of elements is reshaped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.call import Operand

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["FLOAT32", "Array", "bit_pattern", "broadcast_operand", "integer_range", "loader", "writer"]

Array = np.ndarray[Any, Any]
FLOAT32: Final = np.dtype(np.float32)


def loader(operand: Operand, shape: tuple[int, ...]) -> Callable[[Array], Array]:
    """Return a function from the operand's array to float32 values of `shape`, the array itself if it can."""
    same_shape = operand.shape == shape
    if DTYPES[operand.dtype].storage == FLOAT32:
        return _identity if same_shape else lambda array: array.reshape(shape)
    if same_shape:
        return lambda array: array.astype(np.float32)
    return lambda array: array.astype(np.float32).reshape(shape)


def _identity(array: Array) -> Array:
    return array


def writer(dtype: str) -> Callable[[Array, Array], None]:
    """Return a function that writes values into a destination of NKI type `dtype`, rounding once.

    The function takes the destination and a float, integer or Boolean array of as many elements.
    """
    kind = DTYPES[dtype]
    if kind.is_float:
        return _write_float
    if kind.storage == np.bool_:
        return _write_flag
    low, high = integer_range(dtype)

    def write_integer(destination: Array, value: Array) -> None:
        # float32 cannot hold the bounds of 32-bit integers; float64 holds them all.
        rounded = np.rint(value.astype(np.float64))
        np.clip(rounded, low, high, out=rounded)
        rounded[np.isnan(rounded)] = 0
        destination[...] = rounded.astype(destination.dtype).reshape(destination.shape)

    return write_integer


def _write_float(destination: Array, value: Array) -> None:
    destination[...] = value.astype(np.float32, copy=False).reshape(destination.shape)


def _write_flag(destination: Array, value: Array) -> None:
    destination[...] = (value != 0).reshape(destination.shape)


def broadcast_operand(
    operand: Operand | None, number: Scalar, shape: tuple[int, ...]
) -> Callable[[Array | None], Any]:
    """Return a function yielding a scalar operand as float32, ready to broadcast against `shape`.

    Args:
        operand: The (P, 1) tile, or None where the argument is `number`.
        number: The compile-time value.
        shape: Shape of the data it meets; the first dimension is P.
    """
    if operand is None:
        value = np.float32(number if isinstance(number, int | float) else 0.0)
        return lambda _: value
    column = (operand.partitions, *(1 for _ in shape[1:]))
    return lambda array: array.astype(np.float32, copy=False).reshape(column)  # type: ignore[union-attr]


def integer_range(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer NKI type."""
    kind = DTYPES[dtype]
    width = 8 * kind.itemsize
    return (0, (1 << width) - 1) if kind.kind == "uint" else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


def bit_pattern(number: int, storage: np.dtype[Any]) -> Array:
    """Return an integer constant as a zero-dimensional array of `storage`, wrapped to its width."""
    width = 8 * storage.itemsize
    unsigned = np.array(number & ((1 << width) - 1), dtype=f"u{storage.itemsize}")
    return unsigned.view(storage)
