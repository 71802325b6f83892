"""Reductions along the free dimension, in the order the hardware takes.

On a trn1 device `tensor_reduce(add)` equals the strictly sequential float32 sum bit for bit
(facts/nki_bug_reports.md 49), unlike NumPy's pairwise sum. ``ufunc.accumulate`` is sequential by definition.
"""

from __future__ import annotations

import numpy as np

from pipeline.emulator.operations.conversion import Array
from pipeline.emulator.operations.operators import OPERATORS

__all__ = ["IDENTITIES", "reduce_rows", "sum_in_order"]

#: Values an accumulator starts from, per reduction operator.
IDENTITIES = {
    "add": 0.0,
    "subtract": 0.0,
    "multiply": 1.0,
    "maximum": -np.inf,
    "minimum": np.inf,
    "abs_max": 0.0,
    "abs_min": np.inf,
}

_ORDER_INDEPENDENT = frozenset({"maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"})
_BY_MAGNITUDE = {"abs_max": np.argmax, "abs_min": np.argmin}


def sum_in_order(rows: Array, start: Array | None = None) -> Array:
    """Return the strictly sequential float32 sum of each row of a (P, F) float32 array, shape (P,).

    Args:
        rows: What to add.
        start: Shape (P,): what each sum starts from, else its first element.
    """
    if start is not None:
        rows = rows.copy()
        rows[:, 0] += start
    return np.asarray(np.add.accumulate(rows, axis=1)[:, -1])


def reduce_rows(operator: str, rows: Array) -> Array:
    """Reduce each row of a (P, F) array with an operator, first element first.

    Args:
        operator: A reducible operator's name, or ``abs_max`` or ``abs_min``.
        rows: float32, or integers for bitvec operators.

    Returns:
        Array of shape (P,) and the same dtype; logical operators yield 1.0 or 0.0.
    """
    if operator == "logical_xor":
        return np.asarray(np.count_nonzero(rows, axis=1) % 2, dtype=rows.dtype)
    if operator in _BY_MAGNITUDE:
        return _extreme_magnitude(operator, rows)
    function = OPERATORS[operator].function
    if not isinstance(function, np.ufunc):
        raise TypeError(f"{operator} cannot reduce")
    if operator in _ORDER_INDEPENDENT or operator.startswith("logical"):
        return np.asarray(function.reduce(rows, axis=1), dtype=rows.dtype)
    return np.asarray(function.accumulate(rows, axis=1)[:, -1])


def _extreme_magnitude(operator: str, rows: Array) -> Array:
    # Of equal magnitudes the later one stays, as the operator yields its second input on a tie.
    backwards = rows[:, ::-1]
    places = _BY_MAGNITUDE[operator](np.abs(backwards), axis=1)
    return np.take_along_axis(backwards, places[:, None], axis=1)[:, 0]
