"""Running error analysis: every value carries what rounding may have done to it so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.execute.arithmetic.arithmetic import Arithmetic, Cost, Function, Operand, Parts
from pipeline.execute.arithmetic.formats import (
    APPROXIMATION,
    SMALLEST,
    UNIT,
    round_to,
    smallest_normal,
    unit_roundoff,
)

__all__ = ["RunningError"]


class RunningError(Arithmetic):
    """Values in float64, each with a bound on its error, to first order.

    Roundings are treated as independent of each other, so their squares add. N. Higham and T. Mary, *A new
    approach to probabilistic rounding error analysis*, SIAM J. Sci. Comput. 41 (2019), show that this gives
    ``sqrt(K)`` where worst cases give ``K``. Of a sum S of K terms with the square sum Q, taken in no
    particular order, the partial sums have the mean square ``S**2 / 3 + Q / 6``: so large are K roundings.
    Where the order of the terms makes partial sums larger, as in sorted rows, those count.

    Parts are the value and its bound, both float64.

    Args:
        compute_dtype: Operands of products are rounded to it.
        storage_dtype: Results are rounded to it when another operation reads them.
    """

    def __init__(self, compute_dtype: str, storage_dtype: str) -> None:
        self._compute_dtype: Final = compute_dtype
        self._compute: Final = _Rounding.to(compute_dtype)
        self._stored: Final = _Rounding.to(storage_dtype)

    def represent(self, values: np.ndarray) -> Parts:
        """Return `values` and no error."""
        return values, np.zeros(values.shape)

    def apply(self, function: Function, cost: Cost, operands: tuple[Operand, ...]) -> Parts:
        """Propagate errors by how much the function changes over them, and add its own."""
        if function in _EXTREMES:
            first, second = operands
            with np.errstate(all="ignore"):
                result = np.asarray(function(first.parts[0], second.parts[0]))
            both = self._read(first), self._read(second)
            return result, _larger_where_near(result == first.parts[0], first, second, both)
        values = [operand.parts[0] for operand in operands]
        errors = [self._read(operand) for operand in operands]
        with np.errstate(all="ignore"):
            result = np.asarray(function(*values))
            square = np.zeros(result.shape)
            for index, error in enumerate(errors):
                if error.any():
                    square = square + np.square(_response(function, values, index, error, result))
            if cost is not Cost.EXACT:
                square += _own(result, np.hypot(UNIT, APPROXIMATION) if cost is Cost.APPROXIMATED else UNIT)
            bound = np.sqrt(square)
        return result, _sane(bound)

    def choose(self, condition: np.ndarray, first: Operand, second: Operand) -> Parts:
        """As everywhere; the decision itself may fall otherwise where both branches nearly agree."""
        (values, _) = super().choose(condition, first, second)
        return values, _larger_where_near(condition, first, second, (first.parts[1], second.parts[1]))

    def sum(self, operand: Operand) -> Parts:
        """Add the errors of the terms, and the roundings of the partial sums."""
        values, errors = operand.parts[0], self._read(operand)
        with np.errstate(all="ignore"):
            total, squares, count = values.sum(axis=-1), np.square(values).sum(axis=-1), values.shape[-1]
            shuffled = count * (np.square(total) / 3 + squares / 6)
            ordered = np.square(np.cumsum(values, axis=-1)).sum(axis=-1)
            own = UNIT**2 * np.maximum(shuffled, ordered) + SMALLEST**2 if count > 1 else 0.0
            return total, _sane(np.sqrt(own + np.square(errors).sum(axis=-1)))

    def accumulate(self, operand: Operand) -> Parts:
        """As `sum`, for each prefix."""
        values, errors = operand.parts[0], self._read(operand)
        with np.errstate(all="ignore"):
            totals, squares = np.cumsum(values, axis=-1), np.cumsum(np.square(values), axis=-1)
            shuffled = np.arange(1, values.shape[-1] + 1) * (np.square(totals) / 3 + squares / 6)
            ordered = np.cumsum(np.square(totals), axis=-1)
            own = UNIT**2 * np.maximum(shuffled, ordered) + SMALLEST**2
            # The first element is not added to anything.
            own[..., :1] = 0.0
            return totals, _sane(np.sqrt(own + np.cumsum(np.square(errors), axis=-1)))

    def multiply_matrices(self, left: Operand, right: Operand) -> Parts:
        """As `sum` of products: three products of matrices in all, two where the left operand is exact."""
        a, b = left.parts[0], right.parts[0]
        a_errors, b_errors = (np.square(self._round_operand(operand)) for operand in (left, right))
        count = a.shape[-1]
        own = UNIT**2 * count
        with np.errstate(all="ignore"):
            product = a @ b
            b_squares = np.square(b)
            square = np.square(a) @ (b_errors + (own / 6) * b_squares) + np.square(product) * (own / 3)
            if a_errors.any():
                square += a_errors @ b_squares
            return product, _sane(np.sqrt(square + SMALLEST**2))

    def cast(self, operand: Operand, dtype: np.dtype[np.generic]) -> Parts:
        """Round the values; a bound grows by a step where it reaches the next rounding boundary."""

        def rounded(values: np.ndarray) -> np.ndarray:
            return values.astype(dtype).astype(np.float64)

        values, errors = operand.parts
        with np.errstate(all="ignore"):
            result = rounded(values)
            step = np.maximum(
                np.abs(rounded(values + errors) - result), np.abs(rounded(values - errors) - result)
            )
        return result, _sane(step)

    def _read(self, operand: Operand) -> np.ndarray:
        values, errors = operand.parts
        return self._stored.enlarge(errors, values) if operand.derived else errors

    def _round_operand(self, operand: Operand) -> np.ndarray:
        """Return the errors of a product's operand; what is exact is rounded by a known amount."""
        values, errors = operand.parts[0], self._read(operand)
        if operand.derived:
            return self._compute.enlarge(errors, values)
        with np.errstate(all="ignore"):
            return _sane(np.hypot(errors, round_to(values, self._compute_dtype) - values))


@dataclass(frozen=True, slots=True)
class _Rounding:
    """What rounding to a dtype narrower than float32 does to an error; float32 results are rounded already.

    Attributes:
        relative: Largest relative error of a normal number, 0 for float32.
        absolute: Largest error of a subnormal number.
    """

    relative: float
    absolute: float

    @staticmethod
    def to(name: str) -> _Rounding:
        relative = unit_roundoff(name)
        return (
            _Rounding(relative, relative * smallest_normal(name)) if relative > UNIT else _Rounding(0.0, 0.0)
        )

    def enlarge(self, errors: np.ndarray, values: np.ndarray) -> np.ndarray:
        if not self.relative:
            return errors
        with np.errstate(all="ignore"):
            own = np.where(values == 0, 0.0, np.maximum(self.relative * np.abs(values), self.absolute))
            return _sane(np.hypot(errors, own))


#: Functions that answer with one of two operands.
_EXTREMES: Final = frozenset((np.maximum, np.minimum, np.fmax, np.fmin))
#: How many bounds two values may be apart for an honest kernel to choose the other: errors beyond are rare.
_NEAR: Final = 4.0


def _larger_where_near(
    takes_first: np.ndarray, first: Operand, second: Operand, errors: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the error of the operand that is taken, or the larger of both where they are close."""
    with np.errstate(all="ignore"):
        near = np.abs(first.parts[0] - second.parts[0]) <= _NEAR * (errors[0] + errors[1])
    return np.where(near, np.maximum(*errors), np.where(takes_first, *errors))


def _own(result: np.ndarray, relative: float) -> np.ndarray:
    return np.asarray(np.square(result * relative) + SMALLEST**2)


def _response(
    function: Function, values: list[np.ndarray], index: int, error: np.ndarray, result: np.ndarray
) -> np.ndarray:
    """Return how far an error of one operand moves the result.

    Products and sums have it in closed form. Of all others the difference between the ends of the error
    interval is taken, which also sees kinks, steps and roots of zero; beyond the edge of a domain the other
    end alone counts.
    """
    if function in (np.add, np.subtract, np.negative, np.absolute):
        return error
    if function is np.multiply:
        return np.asarray(error * values[1 - index])
    if function is np.exp:
        return np.asarray(error * result)
    above, below = (
        function(*values[:index], values[index] + side * error, *values[index + 1 :]) for side in (1.0, -1.0)
    )
    above, below = (np.abs(np.where(np.isfinite(end), end, result) - result) for end in (above, below))
    return np.asarray(np.maximum(above, below))


def _sane(bounds: np.ndarray) -> np.ndarray:
    """Return bounds without NaN and infinities: where a result is not finite it has no error to bound."""
    return np.where(np.isfinite(bounds), bounds, 0.0)
