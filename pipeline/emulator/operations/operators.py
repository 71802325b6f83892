"""The ALU operators: names, classes and their arithmetic.

Source: facts/nki.md section 4.2 (the documentation's table of math operators). Arithmetic operators see
float32 values and yield float32; comparisons and logical operators yield 1.0 or 0.0. Bitvec operators see bit
patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pipeline.emulator.operations.table import ALL_TARGETS

__all__ = ["COMPARISONS", "OPERATORS", "PARTITION_REDUCTIONS", "Operator", "legal_names", "operators_where"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Operator:
    """One ALU operator.

    Attributes:
        name: Name in `nki.language`.
        family: ``"arithmetic"``, ``"bitvec"``, ``"unary"`` (arithmetic, one input), ``"partition"`` (of
            `tensor_partition_reduce` only), ``"bypass"`` (of `activate2` only: the step is left out), or
            ``"refused"``: known to the language, but not to the hardware.
        function: On float32 arrays (integers for bitvec); None where there is none.
        reducible: Whether a reduction may use it.
        remedy: What to write instead of an operator that is refused, or not on every chip.
        targets: Chips that have it.
    """

    name: str
    family: str
    function: Callable[..., Array] | None
    reducible: bool = False
    remedy: str = ""
    targets: frozenset[str] = ALL_TARGETS

    @property
    def is_ufunc(self) -> bool:
        """Whether `function` is a NumPy ufunc with float32 results, so that it can write in place."""
        return isinstance(self.function, np.ufunc)

    @property
    def operands(self) -> int:
        """How many inputs it takes."""
        return 1 if self.family == "unary" or self.name == "invert" else 2


def _abs_max(first: Array, second: Array) -> Array:
    # The signed value whose magnitude is greater, the second on a tie (nki.language.abs_max docstring).
    return np.where(np.abs(first) > np.abs(second), first, second)


def _abs_min(first: Array, second: Array) -> Array:
    return np.where(np.abs(first) < np.abs(second), first, second)


def _relu(value: Array) -> Array:
    return np.asarray(np.maximum(value, np.float32(0)))


def _rsqrt(value: Array) -> Array:
    # In double precision, so that two roundings do not add up.
    return np.asarray(1.0 / np.sqrt(value.astype(np.float64)), dtype=value.dtype)


def _logical_shift_right(value: Array, amount: Array) -> Array:
    unsigned = np.dtype(f"u{value.dtype.itemsize}")
    return np.asarray(np.right_shift(value.view(unsigned), np.asarray(amount).astype(unsigned)))


def _shift_left(value: Array, amount: Array) -> Array:
    return np.asarray(np.left_shift(value, np.asarray(amount).astype(value.dtype)))


def _xor(first: Array, second: Array) -> Array:
    return np.asarray(np.logical_xor(first != 0, second != 0))


_V4: Final = frozenset({"trn3"})
_MAGNITUDE_REMEDY: Final = "compare magnitudes from nisa.activation(op=nl.abs)"
_RECIPROCAL_REMEDY: Final = "take nisa.reciprocal of the divisor and multiply"

OPERATORS: Final[dict[str, Operator]] = {
    operator.name: operator
    for operator in (
        Operator("invert", "bitvec", np.invert),
        Operator("bitwise_and", "bitvec", np.bitwise_and, reducible=True),
        Operator("bitwise_or", "bitvec", np.bitwise_or, reducible=True),
        Operator("bitwise_xor", "bitvec", np.bitwise_xor, reducible=True),
        Operator("left_shift", "bitvec", _shift_left),
        Operator("right_shift", "bitvec", _logical_shift_right),
        Operator("add", "arithmetic", np.add, reducible=True),
        Operator("subtract", "arithmetic", np.subtract, reducible=True),
        Operator("multiply", "arithmetic", np.multiply, reducible=True),
        Operator("maximum", "arithmetic", np.maximum, reducible=True),
        Operator("minimum", "arithmetic", np.minimum, reducible=True),
        Operator("equal", "arithmetic", np.equal),
        Operator("not_equal", "arithmetic", np.not_equal),
        Operator("greater_equal", "arithmetic", np.greater_equal),
        Operator("greater", "arithmetic", np.greater),
        Operator("less_equal", "arithmetic", np.less_equal),
        Operator("less", "arithmetic", np.less),
        Operator("logical_and", "arithmetic", np.logical_and, reducible=True),
        Operator("logical_or", "arithmetic", np.logical_or, reducible=True),
        Operator("logical_xor", "arithmetic", _xor, reducible=True),
        Operator("power", "arithmetic", np.power),
        Operator("abs_max", "arithmetic", _abs_max, remedy=_MAGNITUDE_REMEDY, targets=_V4),
        Operator("abs_min", "arithmetic", _abs_min, remedy=_MAGNITUDE_REMEDY, targets=_V4),
        Operator("abs", "unary", np.abs),
        Operator("square", "unary", np.square, remedy="use nisa.activation(op=nl.square)", targets=_V4),
        Operator("relu", "unary", _relu, remedy="use nisa.activation(op=nl.relu)", targets=_V4),
        Operator("rsqrt", "unary", _rsqrt),
        Operator("reciprocal", "unary", np.reciprocal),
        Operator("average", "partition", None),
        Operator("bypass", "bypass", None),
        Operator("divide", "refused", None, remedy=_RECIPROCAL_REMEDY),
        Operator(
            "mod", "refused", None, remedy="there is no remainder on the engines; restructure the index math"
        ),
        Operator(
            "fmod", "refused", None, remedy="there is no remainder on the engines; restructure the index math"
        ),
    )
}

#: Operators that compare.
COMPARISONS: Final = frozenset({"equal", "not_equal", "greater_equal", "greater", "less_equal", "less"})

#: Operators of `tensor_partition_reduce`.
PARTITION_REDUCTIONS: Final = frozenset({"add", "average", "maximum", "bitwise_or", "bitwise_and"})


def legal_names(choices: Iterable[str]) -> list[str]:
    """Return choices as a message offers them: in order, without the operators that the hardware lacks."""
    return sorted(name for name in choices if name not in OPERATORS or OPERATORS[name].family != "refused")


def operators_where(*families: str, reducible: bool = False, binary: bool = False) -> frozenset[str]:
    """Return the names of the operators of the given families.

    Args:
        families: See `Operator`.
        reducible: Whether to leave out those that cannot reduce.
        binary: Whether to leave out those of one input.
    """
    return frozenset(
        operator.name
        for operator in OPERATORS.values()
        if operator.family in families
        and (operator.reducible or not reducible)
        and (operator.operands == 2 or not binary)
    )
