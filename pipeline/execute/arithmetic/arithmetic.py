"""What an arithmetic must be able to do, so that a NumPy formula can be run in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final, TypeAlias

import numpy as np

__all__ = ["Arithmetic", "Cost", "Function", "Operand", "Parts", "Unsupported"]

#: The arrays that represent one value, all of its shape; the first is the value itself.
Parts: TypeAlias = tuple[np.ndarray, ...]

#: Maps arrays to an array of their common shape.
Function: TypeAlias = Callable[..., np.ndarray]


class Unsupported(TypeError):
    """The formula does something that is not known here; the reference itself is not at fault."""


class Cost(Enum):
    """How exactly the engines evaluate a function."""

    #: No rounding: the result is one of the operands, up to its sign, or a small integer.
    EXACT = auto()
    #: Correctly rounded to float32.
    ROUNDED = auto()
    #: By the scalar engine's piecewise polynomials, or by a reciprocal and a product.
    APPROXIMATED = auto()

    @staticmethod
    def of(function: Any) -> Cost:
        """Return the cost of a universal function; one that is not known is approximated."""
        if function in _EXACT:
            return Cost.EXACT
        return Cost.ROUNDED if function in _ROUNDED else Cost.APPROXIMATED


_EXACT: Final = frozenset(
    (
        np.negative, np.positive, np.absolute, np.fabs, np.maximum, np.minimum, np.fmax, np.fmin, np.copysign,
        np.sign, np.floor, np.ceil, np.trunc, np.rint, np.heaviside, np.conjugate,
    )
)  # fmt: skip
_ROUNDED: Final = frozenset((np.add, np.subtract, np.multiply, np.square))


class Operand:
    """One operand of an operation.

    Attributes:
        parts: Its representation.
        derived: Whether it is a result, which had to be stored, rather than an input or a constant.
        constant: Whether it is known when the kernel is compiled.
    """

    __slots__ = ("constant", "derived", "parts")

    def __init__(self, parts: Parts, *, derived: bool = False, constant: bool = False) -> None:
        self.parts = parts
        self.derived = derived
        self.constant = constant


class Arithmetic(ABC):
    """A way to compute: how values are represented, and what each operation does to them."""

    @abstractmethod
    def represent(self, values: np.ndarray) -> Parts:
        """Return the representation of values that are exact: inputs and constants."""

    @abstractmethod
    def apply(self, function: Function, cost: Cost, operands: tuple[Operand, ...]) -> Parts:
        """Apply an elementwise `function`, with broadcasting."""

    def choose(self, condition: np.ndarray, first: Operand, second: Operand) -> Parts:
        """Return the elements of `first` where `condition` holds, else those of `second`."""
        return tuple(np.where(condition, a, b) for a, b in zip(first.parts, second.parts, strict=True))

    @abstractmethod
    def sum(self, operand: Operand) -> Parts:
        """Sum over the last axis, which goes."""

    @abstractmethod
    def accumulate(self, operand: Operand) -> Parts:
        """Sum over all elements up to each one along the last axis."""

    @abstractmethod
    def multiply_matrices(self, left: Operand, right: Operand) -> Parts:
        """Return the product of (stacks of) matrices of at least two dimensions."""

    @abstractmethod
    def cast(self, operand: Operand, dtype: np.dtype[np.generic]) -> Parts:
        """Round to `dtype` because the formula itself asks for it."""
