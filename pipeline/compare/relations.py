"""How a wrong output is related to the right one: transposed, scaled, shifted, repeated.

Such a relation names the mistake better than any distance. Each is looked for in a corner of the output first
and only then in all of it, since most outputs have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

__all__ = ["describe_relation"]

_PARTITIONS: Final = 128
#: Rows and columns of the corner: two tiles of rows and one more row.
_CORNER: Final = (2 * _PARTITIONS + 1, 512)
#: Relative L2 distance at which two arrays are the same but for rounding, beside the output's own rounding.
_CLOSE: Final = 1e-3
#: Fewest elements, and fewest along an axis, about which a relation can be more than chance.
_FEWEST: Final = 16
_FEWEST_ALONG: Final = 4

_Relation = Callable[[np.ndarray, np.ndarray, float], str]


def describe_relation(got: np.ndarray, expected: np.ndarray, roundoff: float) -> str:
    """Return in one clause how all of `got` comes from `expected`, and what that usually means.

    Args:
        got: Finite float64 values of a wrong output.
        expected: The reference, of the same shape.
        roundoff: Unit roundoff of the output's dtype.

    Returns:
        E.g. ``it is the reference transposed: ...``; empty where no relation is found.
    """
    # A relation that leaves most of the difference explains nothing.
    close = min(max(_CLOSE, 2 * roundoff), _differ(got, expected) / 4)
    if got.size < 2 or not expected.any():
        return ""
    if not got.any():
        return "every element is zero: look for a result that never reaches the output"
    if got.size < _FEWEST:
        return ""
    if not np.ptp(got):
        return f"every element is {got.flat[0]:.4g}: look for a result that never reaches the output"
    columns = got.shape[-1]
    got_rows, expected_rows = got.reshape(-1, columns), expected.reshape(-1, columns)
    corner = tuple(slice(size) for size in _CORNER)
    for relation in _RELATIONS:
        if relation(got_rows[corner], expected_rows[corner], close):
            said = relation(got_rows, expected_rows, close)
            if said:
                return said
    return _find_transposed(got, expected, close)


def _differ(first: np.ndarray, second: np.ndarray) -> float:
    """Return the relative L2 distance of `first` from `second`; infinite from zeros or where it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = float(np.sqrt(np.square(second).sum()))
        distance = float(np.sqrt(np.square(first - second).sum()))
    return distance / size if 0 < size < np.inf and distance < np.inf else np.inf


def _find_transposed(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    if got.ndim < 2 or min(got.shape[-2:]) < 2:
        return ""
    swapped = np.swapaxes(expected, -1, -2)
    if _differ(got, swapped.reshape(got.shape)) > close:
        return ""
    if swapped.shape == got.shape:
        return "it is the reference transposed: swap the operands, or transpose on the way out"
    return "it is the reference transposed, laid out in the output's shape: transpose on the way out"


def _find_factor(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    size = np.square(expected).sum()
    factor = float((got * expected).sum() / size) if 0 < size < np.inf else 0.0
    if factor == 0 or abs(factor - 1) <= close or _differ(got, factor * expected) > close:
        return ""
    if abs(factor + 1) <= close:
        return "it is the reference with the sign reversed"
    return (
        f"every element is {_say_factor(factor)} times the reference: look for a scale that is missing, wrong"
        " or applied twice"
    )


def _say_factor(factor: float) -> str:
    inverse = 1 / factor
    if abs(factor) < 1 and abs(inverse - round(inverse)) <= 1e-3 * abs(inverse):
        return f"1/{round(inverse)}"
    return f"{factor:.6g}"


def _find_offset(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    difference = got - expected
    offset = float(difference.mean())
    if not difference.any() or _differ(difference, np.full_like(difference, offset)) > 10 * close:
        return ""
    return f"every element is off by {offset:.4g}: look for a constant that is missing or added twice"


def _find_row_factors(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    return _find_line_factors(got, expected, close, 1, "row", "its maximum, sum or norm")


def _find_column_factors(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    return _find_line_factors(got, expected, close, 0, "column", "a weight or gain and its broadcast")


def _find_line_factors(
    got: np.ndarray, expected: np.ndarray, close: float, axis: int, name: str, usual: str
) -> str:
    """Find one factor per row (`axis` 1) or column (0)."""
    if got.shape[axis] < _FEWEST_ALONG or got.shape[1 - axis] < 2:
        return ""
    sizes = np.square(expected).sum(axis=axis, keepdims=True)
    products = (got * expected).sum(axis=axis, keepdims=True)
    factors = np.divide(products, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    if not factors.any() or _differ(got, factors * expected) > close:
        return ""
    return f"each {name} is a multiple of the reference's: look at what scales a {name}, {usual}"


def _find_column_offsets(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    return _find_line_offsets(got, expected, close, 0, "column", "a bias and its broadcast")


def _find_row_offsets(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    return _find_line_offsets(got, expected, close, 1, "row", "a mean, a maximum or a logarithm")


def _find_line_offsets(
    got: np.ndarray, expected: np.ndarray, close: float, axis: int, name: str, usual: str
) -> str:
    if got.shape[axis] < _FEWEST_ALONG or got.shape[1 - axis] < 2:
        return ""
    difference = got - expected
    offsets = np.broadcast_to(difference.mean(axis=axis, keepdims=True), difference.shape)
    if not difference.any() or _differ(difference, offsets) > 10 * close:
        return ""
    return f"each {name} is off by a constant: look at what is added to a {name}, {usual}"


def _find_shift(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    for axis, name, steps in ((0, "rows", (1, _PARTITIONS)), (1, "columns", (1,))):
        length = got.shape[axis]
        for step in steps:
            if length < step + 2:
                continue
            for forward in (True, False):
                source = _along(expected, axis, slice(None, -step) if forward else slice(step, None))
                target = _along(got, axis, slice(step, None) if forward else slice(None, -step))
                if np.ptp(source) and _differ(target, source) <= close:
                    count = name[:-1] if step == 1 else name
                    return (
                        f"it is the reference {step} {count} {'late' if forward else 'early'}: look for an"
                        " index that is off by that much"
                    )
    return ""


def _along(values: np.ndarray, axis: int, part: slice) -> np.ndarray:
    return values[part] if axis == 0 else values[:, part]


def _find_repetition(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    rows, columns = got.shape
    first_row, tile_row = np.zeros(rows, int), np.arange(rows) % _PARTITIONS
    if rows >= _FEWEST_ALONG and columns > 1 and _repeats(got, expected, first_row, close):
        return "every row is the same: look for an operand that is broadcast over the rows"
    if rows > _PARTITIONS and _repeats(got, expected, tile_row, close):
        return (
            f"every tile of {_PARTITIONS} rows repeats the first: look for an address that does not advance"
            " with the loop"
        )
    return ""


def _repeats(got: np.ndarray, expected: np.ndarray, source: np.ndarray, close: float) -> bool:
    """Return whether each row of `got` is the row that `source` names, which those of `expected` are not."""
    return _differ(got, got[source]) <= close < _differ(expected, expected[source])


def _find_reordering(got: np.ndarray, expected: np.ndarray, close: float) -> str:
    if got.shape[1] < _FEWEST_ALONG or not np.ptp(expected, axis=1).any():
        return ""
    if _differ(np.sort(got, axis=1), np.sort(expected, axis=1)) > close:
        return ""
    return "each row holds the right values in another order: look at how columns are addressed"


_RELATIONS: Final[tuple[_Relation, ...]] = (
    _find_factor,
    _find_offset,
    _find_repetition,
    _find_shift,
    _find_row_factors,
    _find_column_factors,
    _find_row_offsets,
    _find_column_offsets,
    _find_reordering,
)
