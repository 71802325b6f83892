"""How values enter and leave an engine: up to float32 on read, one rounding on write.

Source: facts/nki.md section 7.3. Float destinations round to nearest even; what exceeds their largest value
becomes infinity, or NaN where the type has no infinity (``float8_e4m3fn``). Integer destinations round to
nearest even and saturate (NKI 0.6.0 release notes); NaN becomes 0, which is not documented. How the engines
round to ``float8_e8m0fnu`` is not documented either: nearest exponent here, NaN for what is not positive.

Arrays meet by their flattened order, so a shape that only differs in its grouping of elements is reshaped.
Eight-bit floats go through tables, which is several times faster than their casts
(facts/technology.md section 7). Of wide types (`dtypes.wide_twin`) float64 values are read, and written as
they are or, to integers, rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.call import Operand

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = [
    "FLOAT32",
    "FLOAT64",
    "Array",
    "bit_pattern",
    "broadcast_operand",
    "decoding_table",
    "integer_range",
    "loader",
    "writer",
]

Array = np.ndarray[Any, Any]
FLOAT32: Final = np.dtype(np.float32)
FLOAT64: Final = np.dtype(np.float64)

_LOW_HALF: Final = np.uint32(0xFFFF)
_HALF_WIDTH: Final = np.uint32(16)


def loader(operand: Operand, shape: tuple[int, ...]) -> Callable[[Array], Array]:
    """Return a function from the operand's array to float32 values of `shape`, the array itself if it can.

    Of a wide type it returns float64 values.

    Raises:
        TypeError: If the operand's type is packed: only the MX instructions see its elements.
    """
    kind = DTYPES[operand.dtype]
    if kind.is_packed:
        raise TypeError(f"{operand.dtype} holds four values per element")
    same_shape = operand.shape == shape
    if kind.wide and not kind.is_float:
        return lambda array: array.astype(FLOAT64).reshape(shape)
    if kind.storage == FLOAT32 or kind.wide:
        return _identity if same_shape else lambda array: array.reshape(shape)
    if kind.is_float and kind.itemsize == 1:
        table = decoding_table(kind.storage)
        return lambda array: np.take(table, array.view(np.uint8)).reshape(shape)
    if same_shape:
        return lambda array: array.astype(np.float32)
    return lambda array: array.astype(np.float32).reshape(shape)


def _identity(array: Array) -> Array:
    return array


@cache
def decoding_table(storage: np.dtype[Any]) -> Array:
    """Return the float32 value of each of the 256 patterns of an 8-bit float, or the 16 of a 4-bit one."""
    patterns = 1 << (4 if "float4" in storage.name else 8)
    return np.arange(patterns, dtype=np.uint8).view(storage).astype(np.float32)


@cache
def _encoding_table(storage: np.dtype[Any]) -> Array:
    """Return the pattern of an 8-bit float for each upper half of a float32.

    The lowest bit of the half stands for everything below it, too: an 8-bit float keeps at most 3 bits of
    mantissa, so that one bit beyond the rounding position is all that rounding to nearest even needs.
    """
    halves = np.arange(1 << 16, dtype=np.uint32) << _HALF_WIDTH
    with np.errstate(all="ignore"):
        return halves.view(np.float32).astype(storage).view(np.uint8)


def writer(dtype: str) -> Callable[[Array, Array], None]:
    """Return a function that writes values into a destination of NKI type `dtype`, rounding once.

    The function takes the destination and a float, integer or Boolean array of as many elements. Floats are
    float32; wider ones, intermediate results of a function, are rounded to float32 first as an engine would.

    Raises:
        TypeError: If `dtype` is packed.
    """
    kind = DTYPES[dtype]
    if kind.is_packed:
        raise TypeError(f"{dtype} holds four values per element")
    if kind.wide:
        return _write_wide if kind.is_float else _integer_writer(dtype)
    if kind.is_float:
        return _eight_bit_writer(kind.storage) if kind.itemsize == 1 else _write_float
    return _write_flag if kind.storage == np.bool_ else _integer_writer(dtype)


def _write_float(destination: Array, value: Array) -> None:
    destination[...] = value.astype(np.float32, copy=False).reshape(destination.shape)


def _write_wide(destination: Array, value: Array) -> None:
    destination[...] = value.reshape(destination.shape)


def _write_flag(destination: Array, value: Array) -> None:
    destination[...] = (value != 0).reshape(destination.shape)


def _eight_bit_writer(storage: np.dtype[Any]) -> Callable[[Array, Array], None]:
    table = _encoding_table(storage)

    def write_eight_bits(destination: Array, value: Array) -> None:
        bits = value.astype(np.float32, copy=False).view(np.uint32).reshape(destination.shape)
        keys = bits & _LOW_HALF
        keys += _LOW_HALF  # carries into bit 16 unless the low half is zero
        keys |= bits
        keys >>= _HALF_WIDTH
        # No key is out of bounds; mode="raise" would only make NumPy buffer the result.
        np.take(table, keys, out=destination.view(np.uint8), mode="clip")

    return write_eight_bits


def _integer_writer(dtype: str) -> Callable[[Array, Array], None]:
    low, high = integer_range(dtype)
    kind = DTYPES[dtype]
    storage, precision = kind.storage, (FLOAT64 if kind.wide else FLOAT32)
    # float32 holds the bounds of 32-bit integers only to the next power of two, which is out of range.
    least, beyond = precision.type(low), precision.type(high + 1)
    greatest = np.nextafter(beyond, precision.type(0))

    def write_integer(destination: Array, value: Array) -> None:
        if value.dtype.kind != "f":
            _write_whole(destination, value, low, high)
            return
        rounded = np.rint(value.astype(precision, copy=False)).reshape(destination.shape)
        # NaN makes both comparisons false.
        if rounded.min() >= least and rounded.max() < beyond:
            np.copyto(destination, rounded, casting="unsafe")
            return
        saturated = rounded >= beyond
        np.clip(rounded, least, greatest, out=rounded)
        rounded[np.isnan(rounded)] = 0
        whole = rounded.astype(storage)
        whole[saturated] = high
        destination[...] = whole

    return write_integer


def _write_whole(destination: Array, value: Array, low: int, high: int) -> None:
    """Write integers or flags, saturating: exact, as no engine converts them to float32 in between."""
    if value.dtype.kind != "b":
        bounds = np.iinfo(value.dtype)
        if bounds.min < low or bounds.max > high:
            value = np.clip(value, max(low, bounds.min), min(high, bounds.max))
    np.copyto(destination, value.reshape(destination.shape), casting="unsafe")


def broadcast_operand(
    operand: Operand | None, number: Scalar, shape: tuple[int, ...], precision: np.dtype[Any] = FLOAT32
) -> Callable[[Array | None], Any]:
    """Return a function yielding a scalar operand as the engine sees it, ready to broadcast against `shape`.

    Args:
        operand: The (P, 1) tile, or None where the argument is `number`.
        number: The compile-time value.
        shape: Shape of the data it meets; the first dimension is P.
        precision: In what the engine computes (`Call.precision`).
    """
    if operand is None:
        value = precision.type(number if isinstance(number, int | float) else 0.0)
        return lambda _: value
    return loader(operand, (operand.partitions, *(1 for _ in shape[1:])))  # type: ignore[return-value]


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
