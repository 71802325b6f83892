"""Limits: how far an output may be from the reference, element by element, row by row and as a whole.

What a right kernel cannot avoid has two parts. One is the rounding to the output's dtype, which is known to
the bit for each draw. The other is the rounding on the way there. A running error analysis of the reference
says how it is distributed over the elements (the *spread*); honest executions of the same formula in the
task's dtypes say how large it is (the *noise*). Both come with the draw, see `pipeline.execute.arithmetic`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import ml_dtypes
import numpy as np

from pipeline.emulator.dtypes import DTYPES, DType
from pipeline.types import Numerics, TensorSpec

__all__ = ["Limits", "derive_tolerance"]


class _Factors(NamedTuple):
    """How many times the expected error is allowed.

    Attributes:
        element: For one element: over 2**20 of them a normal deviate reaches 5, and partial sums that happen
            to be large double that.
        line: For a row: its elements may share one error, of a sum or a root; over 4096 rows it reaches 4.
        whole: For the whole: another order of sums, one rounding more, a scalar that divides everything.
    """

    element: float
    line: float
    whole: float


_WIDE: Final = _Factors(10.0, 6.0, 4.0)
#: Where intermediate results are stored in fewer bits than bfloat16's. Their roundings outweigh all else, and
#: none of them exceeds 2.5 times its root mean square. More would hide one lost term of 256, which is 6 %.
_NARROW: Final = _Factors(5.0, 5.0, 2.0)
_NARROW_BITS: Final = 7
#: Of the reference's own rounding error: a few elements round the other way than it does.
_ROUNDING: Final = 1.1
#: Least ratio of noise to spread: few elements can be lucky together, and powers of two round without error.
_LEAST_RATIO: Final = 0.25
#: The engines may flush what lies below the smallest normal float32.
_SMALLEST: Final = 2.0**-126


#: Where the reference is 0 and its spread at most this, nothing but flushing contributes to it: some 2**20 of
#: the smallest normal numbers, whereas a rounding of anything ordinary is more than 2**80 of them.
_FLUSHED_SPREAD: Final = 2.0**20 * _SMALLEST


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """What one output of one draw is held to; all of it must hold.

    A row of zeros, and a reference of zeros, have no relative error: their elements' limits decide alone.

    Attributes:
        rel_l2: Of ``||error|| / ||reference||`` over the whole output.
        row_rel_l2: Float64, one per row (all axes but the last): of the same over that row.
        elementwise: Of the reference's shape: largest absolute error of each element.
        derivation: How the limits came about, one sentence per step.
        overridden: Whether the task set any of them itself.
    """

    rel_l2: float
    row_rel_l2: np.ndarray
    elementwise: np.ndarray
    derivation: tuple[str, ...] = ()
    overridden: bool = False


def derive_tolerance(
    spec: TensorSpec,
    expected64: np.ndarray,
    spread: np.ndarray,
    noise: tuple[float, ...],
    numerics: Numerics,
    derivation: tuple[str, ...] = (),
) -> Limits:
    """Return what an output may differ from `expected64`.

    With ``ulp_i`` the unit in the last place of the output's dtype at element i, ``r_i`` the known rounding
    error of the reference there, and ``s_i = max(noise) / (||spread|| / ||expected||) * spread_i`` the error
    to expect before the output is rounded:

    - an element may differ by ``t_i = ulp_i + 10 s_i + rms(s)``, the root mean square over its row: a row
      that was shifted and shifted back carries one error through all its elements, those near zero too;
    - a row by the root of ``(1.1 ||r||)**2 + (6 ||s||)**2 + max(t_i)**2``, norms over the row;
    - the whole by the same with 4 in place of 6, plus the square of ``6 ||s||`` of the line along any axis
      where that is largest.

    Where intermediate results may be narrower than bfloat16, the multiples of s are 5, 5 and 2.

    Rounding errors of many elements are independent, so their squares add; the last term lets a single
    element (of the whole: a single line) use up its own limit, which is all there is in a small output.
    Elements of a row whose values are all equal err alike, so there each may use up its own. The smallest
    normal float32 is added for flushing. An element that the dtype holds exactly and that is reached without
    any rounding must be equal, and so must integers and booleans of a task that sets no limits. A zero whose
    spread is that of flushing alone must be zero but for that. Infinities and NaN have no error.

    There is no upper limit to s other than the noise: honest executions are trusted over the analysis where
    they err more, as in sorted rows or where a method loses precision by itself.

    Args:
        spec: Name and dtype of the output.
        expected64: The float64 reference.
        spread: Of the same shape, see `Draw.spread`; zeros where results are exact.
        noise: Relative L2 errors of the honest executions of this output, see `Draw.noise`; relative to the
            spread where the reference is nothing but zeros.
        numerics: The task's overrides and their reason; a limit that it sets replaces the derived one.
        derivation: How spread and noise came about; stands before the sentences added here.
    """
    dtype = DTYPES[spec.dtype]
    rows = expected64.size // expected64.shape[-1] if expected64.ndim else 1
    if not dtype.is_float:
        return _limit_integers(spec, expected64, rows, numerics)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = expected64.astype(dtype.storage).astype(np.float64)
        rounding = rounded - expected64
    reference = expected64
    finite = np.isfinite(rounded)
    if not finite.all():
        reference, rounding, spread = (
            np.where(finite, array, 0.0) for array in (reference, rounding, spread)
        )

    size = _norm(reference)
    expected_error, ratio = _scale(spread, noise, size)
    narrow = DTYPES[numerics.storage_dtype].mantissa_bits < _NARROW_BITS
    factors = _NARROW if narrow else _WIDE
    elementwise = _ulps(reference, dtype) + factors.element * expected_error + _SMALLEST
    elementwise += _row_rms(expected_error)
    if _narrowest(numerics) >= dtype.mantissa_bits:
        exact = (spread == 0) & (rounding == 0)
        elementwise = np.where(exact, _flushed(reference), elementwise)
    exact_zero = (expected64 == 0) & (spread <= _FLUSHED_SPREAD)
    elementwise = np.where(exact_zero, factors.element * spread + _SMALLEST, elementwise)
    row_limits, row_sizes = _row_limits(reference, rounding, factors.line * expected_error, elementwise)
    whole = np.sqrt(
        _square_sum(rounding) * _ROUNDING**2
        + _square_sum(expected_error) * factors.whole**2
        + _largest_line(expected_error) * factors.line**2
        + float(elementwise.max(initial=0.0)) ** 2
        + elementwise.size * _SMALLEST**2
    )
    limits = Limits(
        rel_l2=float(whole / size) if size > 0 else 0.0,
        row_rel_l2=np.divide(row_limits, row_sizes, out=np.zeros_like(row_limits), where=row_sizes > 0),
        elementwise=elementwise,
        derivation=(
            *derivation,
            _explain_scale(spec.name, noise, ratio),
            f"rounding the reference to {spec.dtype} alone costs {_relative(_norm(rounding), size):.2g}",
            f"an element may differ by one ulp of {spec.dtype}, {factors.element:g} expected errors and the "
            "root mean square of those of its row",
            f"a row may differ by {_ROUNDING:g} times its rounding, {factors.line:g} expected errors and one "
            f"element's limit, in quadrature; the whole likewise, with {factors.whole:g} and a line's share",
        ),
    )
    return _override(limits, reference, numerics)


def _limit_integers(spec: TensorSpec, expected: np.ndarray, rows: int, numerics: Numerics) -> Limits:
    """Return zeros, or the task's own limits.

    Where the task sets only how far an element may be, rows and the whole may be what follows from that.
    """
    equal = Limits(0.0, np.zeros(rows), np.zeros(expected.shape), (f"{spec.dtype} must be equal",))
    limits = _override(equal, expected, numerics)
    if numerics.elementwise is None:
        return limits
    columns = expected.shape[-1] if expected.ndim else 1
    allowed, sizes = (
        np.sqrt(np.square(values.reshape(-1, columns)).sum(axis=1))
        for values in (limits.elementwise, expected)
    )
    implied = np.divide(allowed, sizes, out=np.zeros(rows), where=sizes > 0)
    whole = _relative(_norm(limits.elementwise), _norm(expected))
    return replace(
        limits,
        rel_l2=whole if numerics.rel_l2 is None else limits.rel_l2,
        row_rel_l2=implied if numerics.row_rel_l2 is None else limits.row_rel_l2,
    )


def _scale(spread: np.ndarray, noise: tuple[float, ...], size: float) -> tuple[np.ndarray, float]:
    """Return the expected error of each element, and what the spread was multiplied by."""
    spread = spread.astype(np.float64)
    predicted = _norm(spread)
    if not predicted > 0:
        return spread, 0.0
    yardstick = size if size > 0 else predicted
    measured = max((value for value in noise if np.isfinite(value)), default=predicted / yardstick)
    ratio = max(measured * yardstick / predicted, _LEAST_RATIO)
    return spread * ratio, ratio


def _explain_scale(name: str, noise: tuple[float, ...], ratio: float) -> str:
    if ratio == 0:
        return f"nothing rounds on the way to '{name}'"
    least, most = min(noise, default=0.0), max(noise, default=0.0)
    runs = f"{most:.2g}" if f"{least:.2g}" == f"{most:.2g}" else f"{least:.2g} to {most:.2g}"
    assumed = ", the least that is assumed" if ratio == _LEAST_RATIO else ""
    return f"honest executions of '{name}' are off by {runs}, so its bound is scaled by {ratio:.2g}{assumed}"


def _row_rms(values: np.ndarray) -> np.ndarray:
    """Return the root mean square of each row, to be broadcast along it."""
    if values.ndim == 0 or values.size == 0:
        return np.zeros_like(values)
    return np.asarray(np.sqrt(np.square(values).mean(axis=-1, keepdims=True)))


def _row_limits(
    reference: np.ndarray, rounding: np.ndarray, allowed: np.ndarray, elementwise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest L2 error of each row, and the L2 norm of each row of the reference."""
    columns = reference.shape[-1] if reference.ndim else 1

    def squares(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.square(values.reshape(-1, columns)).sum(axis=1))

    limits = np.asarray(
        squares(rounding) * _ROUNDING**2
        + squares(allowed)
        + np.square(elementwise.reshape(-1, columns).max(axis=1))
        + columns * _SMALLEST**2
    )
    rows = reference.reshape(-1, columns)
    constant = rows.max(axis=1) == rows.min(axis=1)
    limits[constant] = np.maximum(limits, squares(elementwise))[constant]
    return np.sqrt(limits), np.sqrt(squares(reference))


def _narrowest(numerics: Numerics) -> int:
    """Return the mantissa bits of the narrowest dtype that a kernel may use on the way."""
    return min(DTYPES[name].mantissa_bits for name in (numerics.compute_dtype, numerics.storage_dtype))


def _flushed(values: np.ndarray) -> np.ndarray:
    """Return what flushing to zero takes away from each value."""
    magnitudes = np.abs(values)
    return np.where(magnitudes < _SMALLEST, magnitudes, 0.0)


def _largest_line(values: np.ndarray) -> float:
    """Return the largest sum of squares along any line of any axis: errors may be shared along each."""
    squares = np.square(values)
    return max((float(squares.sum(axis=axis).max(initial=0.0)) for axis in range(values.ndim)), default=0.0)


def _ulps(values: np.ndarray, dtype: DType) -> np.ndarray:
    """Return the distance between neighbouring numbers of `dtype` at each of the finite `values`."""
    _, exponents = np.frexp(values)
    limits = ml_dtypes.finfo(dtype.storage)  # type: ignore[no-untyped-call]
    # tfloat32 is stored as float32: its own width counts.
    least = float(limits.smallest_normal) * 2.0**-dtype.mantissa_bits
    # The exponent of 0 is that of 0.5 for frexp().
    steps = np.where(values == 0, least, np.ldexp(1.0, exponents - 1 - dtype.mantissa_bits))
    return np.asarray(np.maximum(steps, least))


def _override(limits: Limits, reference: np.ndarray, numerics: Numerics) -> Limits:
    own = {
        "rel-L2": numerics.rel_l2,
        "row rel-L2": numerics.row_rel_l2,
        "element-wise": numerics.elementwise,
    }
    named = [f"{name} {value:g}" for name, value in own.items() if value is not None]
    if not named:
        return limits
    elementwise = limits.elementwise
    if numerics.elementwise is not None:
        rms = _norm(reference) / np.sqrt(max(reference.size, 1))
        elementwise = numerics.elementwise * (np.abs(reference) + rms)
    return Limits(
        rel_l2=limits.rel_l2 if numerics.rel_l2 is None else numerics.rel_l2,
        row_rel_l2=(
            limits.row_rel_l2
            if numerics.row_rel_l2 is None
            else np.full_like(limits.row_rel_l2, numerics.row_rel_l2)
        ),
        elementwise=elementwise,
        derivation=(
            *limits.derivation,
            f"the task sets {', '.join(named)}: {' '.join(numerics.reason.split())}",
        ),
        overridden=True,
    )


def _square_sum(values: np.ndarray) -> float:
    return float(np.square(values).sum())


def _norm(values: np.ndarray) -> float:
    return float(np.sqrt(np.square(values, dtype=np.float64).sum()))


def _relative(error: float, size: float) -> float:
    return error / size if size > 0 else 0.0
