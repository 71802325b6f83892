"""Patterns of input values that break kernels which are right on random numbers.

A pattern takes what a task draws and shapes it within the range of the dtype that it is rounded to. A right
kernel passes: nothing that it must form overflows, and what tells values apart survives their rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import ml_dtypes
import numpy as np

from pipeline.emulator.dtypes import dtype_named

__all__ = ["apply_pattern"]

#: Far beyond where exp() overflows float32 (from 88.8) and squares overflow float16 (from 256), while fourth
#: powers and sums of thousands of them stay far inside float32.
_EXTREME: Final = 2.0**13
#: What a dominant term has over the spread of the others: beyond bfloat16's and float16's precision, inside
#: float32's, where a running sum that is kept in a narrow type loses all other terms.
_IMPULSE: Final = 2.0**12
#: Mean over spread. E[x^2] - E[x]^2 then loses 20 of float32's 24 bits, x - E[x] loses 10.
_OFFSET: Final = 2.0**10
#: How far below the largest number of a dtype values that are scaled up stay: a sum of a few still fits.
_HEADROOM: Final = 4.0
#: Spread over the smallest normal number that values keep beside an impulse: they keep their precision.
_FLOOR: Final = 8.0


@dataclass(frozen=True, slots=True)
class _Range:
    """What values of a dtype can be.

    Attributes:
        largest: Largest finite number.
        smallest: Smallest normal number, of float32 if that is larger: the engines compute in float32.
        tiny: Smallest normal number of the dtype itself.
        spread_steps: Largest ratio of mean to spread at which the spread still takes four steps of the dtype.
        infinite: Whether it has infinities.
    """

    largest: float
    smallest: float
    tiny: float
    spread_steps: float
    infinite: bool

    @staticmethod
    def of(name: str) -> _Range:
        dtype = dtype_named(name)
        limits = ml_dtypes.finfo(dtype.storage)  # type: ignore[no-untyped-call]
        with np.errstate(over="ignore", invalid="ignore"):
            infinite = bool(np.isinf(np.array([np.inf]).astype(dtype.storage).astype(np.float64))[0])
        tiny = float(limits.smallest_normal)
        return _Range(
            largest=float(limits.max),
            smallest=max(tiny, float(np.finfo(np.float32).smallest_normal)),
            tiny=tiny,
            spread_steps=2.0 ** max(dtype.mantissa_bits - 2, 0),
            infinite=infinite,
        )


_Shaping: TypeAlias = Callable[[np.ndarray, np.random.Generator, _Range], np.ndarray]


def apply_pattern(pattern: str, values: np.ndarray, rng: np.random.Generator, dtype: str) -> np.ndarray:
    """Return `values` in `pattern`; infinities and NaN that a task drew itself are kept where they stand.

    Rows are along the last axis; a vector is one row. What each catches:

    - ``drawn``: nothing is changed.
    - ``small`` (by 1e-3; less where the dtype would flush that): epsilons in the wrong place or left out,
      absolute tolerances inside the kernel.
    - ``large`` (by 64): saturation, narrow intermediates, approximations that hold near zero only.
    - ``extreme`` (largest magnitude up to 8192): exponentials without subtracting the maximum (exp overflows
      float32 from 88.8), squares in float16. Squares of float32 that overflow are left out: they begin at
      1.8e19, where layer norms and products of right kernels overflow as well.
    - ``near_denormal`` (magnitudes from 1 to about 6 times the dtype's smallest normal number, or 1024
      times that of float32, of which the limits allow one to be flushed): flushing of what need not be
      flushed, division by what underflowed.
    - ``signed`` (all negative, unless a task draws nothing negative): maxima that start from zero instead of
      minus infinity, sums that only came out right because their terms cancel.
    - ``offset`` (mean over spread 1024, or what leaves the spread four steps of the dtype):
      E[x^2] - E[x]^2, means in narrow types.
    - ``constant_rows``: variances of zero, reductions over the wrong axis, broadcasts of the wrong element.
    - ``ties`` (multiples of the spread): what relies on a maximum being unique, off-by-one thresholds.
    - ``sorted``: running maxima and rescaling that are only tried when a later tile is larger.
    - ``impulse`` (one element per row is 4096 times the spread, 1024 in float8_e4m3): dropped terms, running
      sums in narrow types, tails that are skipped.
    - ``masked`` (half of the values; in every other row all but a short span): minus infinity minus itself,
      fully masked tiles, exp of what is not a number.

    Args:
        pattern: A `types.Pattern`.
        values: Float64 of any shape of at least one dimension, as the task draws it.
        rng: Used where positions are drawn.
        dtype: NKI dtype that the caller rounds the result to.

    Returns:
        Float64 of the same shape; `values` is not changed.

    Raises:
        KeyError: If there is no such pattern or dtype.
    """
    kind = _Range.of(dtype)
    shaped = _PATTERNS[pattern](np.asarray(values, np.float64), rng, kind)
    if pattern != "drawn":
        # Values that a task draws up to the end of the range have no room for an offset or an impulse.
        shaped = shaped * _fitting(1.0, shaped, kind.largest)
    return np.where(np.isfinite(values), shaped, values)


def _keep(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    return values


def _shrink(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    least = 8 * kind.tiny / _spread(values)
    return values * max(1e-3, min(1.0, least))


def _enlarge(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    return values * max(1.0, _fitting(64.0, values, kind.largest / _HEADROOM))


def _exaggerate(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    return values * max(1.0, _fitting(np.inf, values, min(_EXTREME, kind.largest / 2)))


def _bring_near_denormal(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    least = max(kind.smallest, _ABOVE_FLUSHING)
    magnitudes = least * (1 + np.abs(values) / _spread(values))
    return np.asarray(np.copysign(magnitudes, values))


def _make_negative(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    return values if (_finite(values) >= 0).all() else -np.abs(values)


def _shift(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    return values + _spread(values) * min(_OFFSET, kind.spread_steps)


def _make_rows_constant(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    return np.broadcast_to(values[..., :1], values.shape)


def _make_ties(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    spread = _spread(values)
    return np.asarray(np.round(values / spread) * spread)


def _sort(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    return np.asarray(np.sort(values, axis=-1))


def _add_impulses(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    rows = values.reshape(-1, values.shape[-1]).copy()
    where = np.arange(len(rows)), rng.integers(0, rows.shape[1], len(rows))
    ratio = min(_IMPULSE, _power_of_two(kind.largest / (_FLOOR * kind.tiny)))
    rows[where] = np.copysign(ratio * _spread(values), rows[where])
    return rows.reshape(values.shape)


def _mask(values: np.ndarray, rng: np.random.Generator, kind: _Range) -> np.ndarray:
    rows = values.reshape(-1, values.shape[-1])
    masked = rng.random(rows.shape) < 0.5
    kept = rng.integers(0, rows.shape[1], len(rows))
    masked[1::2] = np.abs(np.arange(rows.shape[1]) - kept[1::2, None]) > _SPAN
    masked[np.arange(len(rows)), kept] = False
    return np.where(masked, -np.inf if kind.infinite else -kind.largest, rows).reshape(values.shape)


#: By value of `types.Pattern`: importing that model would load all of pydantic into every worker.
_PATTERNS: Final[dict[str, _Shaping]] = {
    "drawn": _keep,
    "small": _shrink,
    "large": _enlarge,
    "extreme": _exaggerate,
    "near_denormal": _bring_near_denormal,
    "signed": _make_negative,
    "offset": _shift,
    "constant_rows": _make_rows_constant,
    "ties": _make_ties,
    "sorted": _sort,
    "impulse": _add_impulses,
    "masked": _mask,
}


#: The limits allow one smallest normal float32 to be flushed: that must not be all there is.
_ABOVE_FLUSHING: Final = 1024 * 2.0**-126
#: Columns left on either side of the one that a row keeps.
_SPAN: Final = 3


def _finite(values: np.ndarray) -> np.ndarray:
    return np.asarray(values[np.isfinite(values)])


def _spread(values: np.ndarray) -> float:
    """Return the standard deviation, to the nearest power of two; of equal values their magnitude."""
    finite = _finite(values)
    if not finite.size:
        return 1.0
    deviation = float(finite.std())
    greatest = float(np.abs(finite).max())
    # What equal values deviate by is rounding.
    return float(2.0 ** np.round(np.log2(deviation if deviation > 1e-9 * greatest else greatest or 1.0)))


def _fitting(factor: float, values: np.ndarray, largest: float) -> float:
    """Return `factor`, or the largest power of two below it that keeps `values` up to `largest`."""
    greatest = float(np.abs(_finite(values)).max(initial=0.0))
    if not greatest:
        return 1.0
    return min(factor, _power_of_two(largest / greatest))


def _power_of_two(size: float) -> float:
    """Return the largest power of two up to `size`."""
    return float(2.0 ** np.floor(np.log2(size)))
