"""What the documentation says of numbers, in float64 and plain Python: what operations are compared with.

Engines read float32 values, compute in float32 and round once, to nearest even, when they write; integers
saturate (facts/nki.md section 7.3). Nothing here uses the emulator.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

__all__ = [
    "BYTES",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "SHAPES",
    "STORAGE",
    "bits",
    "engine",
    "is_within",
    "stored",
    "target_for",
    "tile",
    "values",
    "wrapped",
]

Array = np.ndarray[Any, Any]


class Format(NamedTuple):
    """Explicit mantissa bits, exponent of the least normal value, greatest value, and what lies beyond."""

    mantissa: int
    least_exponent: int
    greatest: float
    beyond: float = math.inf


FORMATS: Final = {
    "float32": Format(23, -126, (2 - 2.0**-23) * 2.0**127),
    "bfloat16": Format(7, -126, (2 - 2.0**-7) * 2.0**127),
    "float16": Format(10, -14, 65504.0),
    "float8_e4m3": Format(3, -6, 240.0),
    "float8_e4m3fn": Format(3, -6, 448.0, math.nan),
    "float8_e5m2": Format(2, -14, 57344.0),
}
STORAGE: Final[dict[str, np.dtype[Any]]] = {
    **{name: np.dtype(getattr(ml_dtypes, name, None) or name) for name in FORMATS},
    **{name: np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32")},
}
FLOATS: Final = sorted(FORMATS)
INTEGERS: Final = sorted(set(STORAGE) - set(FORMATS))
#: A type of each width, for what moves bits and computes nothing.
BYTES: Final = ["uint8", "float8_e5m2", "int16", "bfloat16", "float16", "float32", "int32"]

#: float32 values where something happens in one type or another: ties, ends of ranges, denormals, NaN.
EDGES: Final = [
    *(
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        3.0,
        100.0,
        127.5,
        128.0,
        -128.5,
        255.5,
        1 + 2.0**-8,
        1 - 2.0**-9,
    ),
    *(240.0, 248.0, 448.0, 464.0, 480.0, 57344.0, 61440.0, 65504.0, 65520.0, 32767.5, -32768.5, 65535.5),
    *(2.0**24, 2.0**24 + 2, -(2.0**31), 2.0**31, 2.0**32, 3.4e38, -3.4e38),
    *(2.0**-149, -(2.0**-149), 2.0**-126, 2.0**-133, 2.0**-134, -(2.0**-24), 2.0**-25, 2.0**-16, 2.0**-10),
    *(math.inf, -math.inf, math.nan),
]
NUMBERS: Final = st.sampled_from(EDGES).map(lambda value: float(np.float32(value))) | st.floats(width=32)
#: Partitions and elements of each, single ones and tails among them.
SHAPES: Final = st.sampled_from([(1, 1), (1, 7), (2, 3), (5, 2), (33, 1), (34, 3)])


def stored(exact: Any, dtype: str) -> Array:
    """What a type holds after a value was written, as float64: the nearest, of two equally near the even one.

    What becomes of NaN in an integer is not documented; 0 stands for it here, as in the emulator.
    """
    exact = np.asarray(exact, np.float64)
    if dtype in INTEGERS:
        bounds = np.iinfo(STORAGE[dtype])
        return np.clip(np.rint(np.where(np.isnan(exact), 0, exact)), bounds.min, bounds.max)
    kind = FORMATS[dtype]
    _, exponent = np.frexp(exact)
    step = np.ldexp(1.0, np.maximum(exponent - 1, kind.least_exponent) - kind.mantissa)
    rounded = np.rint(exact / step) * step  # divided by a power of two: exact
    rounded = np.where(np.isfinite(exact), rounded, exact)
    too_large = np.abs(rounded) > kind.greatest
    return np.where(too_large, np.copysign(kind.beyond, rounded), rounded)


def wrapped(value: int, dtype: str) -> int:
    """An integer in the two's complement of a type."""
    bounds = np.iinfo(STORAGE[dtype])
    return (value - int(bounds.min)) % (int(bounds.max) - int(bounds.min) + 1) + int(bounds.min)


def engine(exact: Any) -> Array:
    """One step of an engine: the exact result, rounded to float32."""
    return stored(exact, "float32")


def values(array: Array) -> Array:
    """What an engine reads from a tile: float32 values, as float64."""
    wide = array.astype(np.float32) if array.dtype.kind not in "iu" else array
    return engine(wide.astype(np.float64))


def is_within(got: Array, exact: Array, tolerance: Array, dtype: str) -> bool:
    """Whether a tile of a type holds what results within the tolerance of the exact ones round to."""
    least, greatest = (stored(engine(exact + sign * tolerance), dtype) for sign in (-1, 1))
    found = got.astype(np.float64).reshape(least.shape)
    return bool((((least <= found) & (found <= greatest)) | (np.isnan(found) & np.isnan(least))).all())


def target_for(*dtypes: str) -> st.SearchStrategy[str]:
    """A chip that has all these types."""
    return st.sampled_from(["trn3"] if "float8_e4m3fn" in dtypes else ["trn1", "trn2", "trn3"])


@st.composite
def tile(draw: Any, dtype: str, shape: tuple[int, ...], elements: Any = NUMBERS) -> Array:
    """A tile of a type; of a float one, numbers rounded to it."""
    if dtype in INTEGERS:
        return draw(arrays.arrays(STORAGE[dtype], shape))
    with np.errstate(all="ignore"):
        return draw(arrays.arrays(np.float32, shape, elements=elements)).astype(STORAGE[dtype])


@st.composite
def bits(draw: Any, dtype: str, shape: tuple[int, ...]) -> Array:
    """A tile of any bit patterns."""
    storage = STORAGE[dtype]
    return draw(arrays.arrays(f"u{storage.itemsize}", shape)).view(storage)
