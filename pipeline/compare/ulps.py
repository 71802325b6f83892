"""Units in the last place: how many numbers of a dtype lie between two values.

All representable numbers of a float dtype stand on one scale, a step apart: subnormals and normals, of either
sign, whatever their binade. A value between two of them has a place between theirs. The distance of two
values on that scale is their error in ulp; within one binade it is ``|a - b| / ulp``.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from pipeline.emulator.dtypes import DType

__all__ = ["measure_ulps"]


def measure_ulps(values: np.ndarray, expected: np.ndarray, dtype: DType) -> np.ndarray:
    """Return the distance of `values` from `expected` in ulp of `dtype`, as float64.

    Args:
        values: Finite float64 values.
        expected: The same; it need not be representable in `dtype`.
        dtype: A float type, or an integer type, where one ulp is 1.
    """
    if not dtype.is_float:
        return np.asarray(np.abs(values - expected))
    return np.asarray(np.abs(_place(values, dtype) - _place(expected, dtype)))


def _place(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Return where values stand on the scale; zero stands at 0.

    In the binade of exponent e, ``2**m`` steps wide for m mantissa bits, a number ``|x|`` is
    ``|x| * 2**(m - e)`` steps from zero if all steps were as wide as its own. Each of the binades between it
    and the subnormals holds as many steps again as that counts for all that lies below it together.
    """
    smallest = int(ml_dtypes.finfo(dtype.storage).minexp)  # type: ignore[no-untyped-call]
    magnitudes = np.abs(values)
    _, exponents = np.frexp(magnitudes)
    # NumPy gives zero the exponent of one half.
    binades = np.where(magnitudes > 0, np.maximum(exponents - 1, smallest), smallest)
    steps = np.ldexp(magnitudes, dtype.mantissa_bits - binades)
    return np.asarray(np.copysign(steps + (binades - smallest) * 2.0**dtype.mantissa_bits, values))
