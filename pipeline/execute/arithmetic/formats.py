"""Rounding to NKI's float formats, and how much it costs."""

from __future__ import annotations

from typing import Final

import ml_dtypes
import numpy as np

from pipeline.emulator.dtypes import DType, dtype_named

__all__ = ["APPROXIMATION", "SMALLEST", "UNIT", "largest", "round_to", "smallest_normal", "unit_roundoff"]

#: Unit roundoff of float32, in which all engines compute (facts/nki.md section 7.3).
UNIT: Final = 2.0**-24
#: Largest relative error of a function that the scalar engine approximates by piecewise polynomials: RMSNorm
#: is off by 1.5e-5 on the device where exact float32 gives 4e-7 (facts/timeline_findings.md).
APPROXIMATION: Final = 2.0**-16
#: The smallest normal float32: what is smaller may be flushed to zero.
SMALLEST: Final = 2.0**-126

#: Explicit mantissa bits that tfloat32 drops from float32.
_TFLOAT32_DROPPED: Final = 13


def unit_roundoff(name: str) -> float:
    """Return the largest relative error of rounding to the float dtype `name`, not below float32's.

    The tensor engine truncates to tfloat32 instead of rounding, which costs twice as much.

    Raises:
        KeyError: If there is no such dtype.
        ValueError: If it is not a float dtype.
    """
    dtype = _float(name)
    return max(2.0 ** -(dtype.mantissa_bits + (name != "tfloat32")), UNIT)


def largest(name: str) -> float:
    """Return the largest finite number of the float dtype `name`.

    Raises:
        KeyError: If there is no such dtype.
        ValueError: If it is not a float dtype.
    """
    return float(ml_dtypes.finfo(_float(name).storage).max)  # type: ignore[no-untyped-call]


def smallest_normal(name: str) -> float:
    """Return the smallest normal number of the float dtype `name`.

    Raises:
        KeyError: If there is no such dtype.
        ValueError: If it is not a float dtype.
    """
    limits = ml_dtypes.finfo(_float(name).storage)  # type: ignore[no-untyped-call]
    return float(limits.smallest_normal)


def round_to(values: np.ndarray, name: str) -> np.ndarray:
    """Return `values` rounded to the float dtype `name`, as float32.

    Eight-bit formats saturate, because honest kernels clip to what they can hold (facts/nki.md section 7.3).

    Raises:
        KeyError: If there is no such dtype.
        ValueError: If it is not a float dtype.
    """
    dtype = _float(name)
    with np.errstate(over="ignore", invalid="ignore"):
        if name == "tfloat32":
            return _truncate(values.astype(np.float32))
        if dtype.itemsize == 1:
            values = np.clip(values, -largest(name), largest(name))
        if dtype.storage == np.float32:
            return values.astype(np.float32)
        # Through float32, as the engines write, and not from float64 in one step.
        return values.astype(np.float32).astype(dtype.storage).astype(np.float32)


def _truncate(values: np.ndarray) -> np.ndarray:
    kept = values.view(np.uint32) >> np.uint32(_TFLOAT32_DROPPED) << np.uint32(_TFLOAT32_DROPPED)
    # The mantissa of a NaN may lie in the dropped bits alone.
    return np.where(np.isnan(values), values, kept.view(np.float32))


def _float(name: str) -> DType:
    dtype = dtype_named(name)
    if not dtype.is_float:
        raise ValueError(f"{name} is not a float dtype")
    return dtype
