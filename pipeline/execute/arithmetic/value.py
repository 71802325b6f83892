"""A stand-in for an array, whose operations are those of another arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from pipeline.execute.arithmetic.arithmetic import Arithmetic, Cost, Function, Operand, Parts, Unsupported

__all__ = ["Axes", "Value", "operand_of"]

Axes: TypeAlias = int | Sequence[int] | None


class Value(NDArrayOperatorsMixin):
    """What the reference of a task takes for a float64 array.

    It is no subclass of one: an operation that is not known here must fail instead of computing in float64.

    Args:
        arithmetic: What operations do.
        parts: The representation.
        derived: Whether the value is a result rather than an input or a constant.
    """

    __slots__ = ("arithmetic", "derived", "parts")

    def __init__(self, arithmetic: Arithmetic, parts: Parts, *, derived: bool) -> None:
        self.arithmetic = arithmetic
        self.parts = parts
        self.derived = derived

    @property
    def values(self) -> np.ndarray:
        """The value itself, without what else represents it."""
        return self.parts[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return tuple(self.values.shape)

    @property
    def ndim(self) -> int:
        """As of an array."""
        return self.values.ndim

    @property
    def size(self) -> int:
        """As of an array."""
        return self.values.size

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """Float64: that another arithmetic is at work is not for the formula to see."""
        return np.dtype(np.float64)

    @property
    def T(self) -> Value:  # noqa: N802  NumPy's name
        """As of an array."""
        return self._each("T")

    @property
    def mT(self) -> Value:  # noqa: N802  NumPy's name
        """As of an array."""
        return self._each("mT")

    def _each(self, attribute: str) -> Value:
        return self.with_parts(tuple(getattr(part, attribute) for part in self.parts))

    def with_parts(self, parts: Parts) -> Value:
        """Return the same elements, arranged otherwise."""
        return Value(self.arithmetic, parts, derived=self.derived)

    def operand(self) -> Operand:
        """Return what an operation reads."""
        return Operand(self.parts, derived=self.derived)

    def __array__(self, *arguments: object, **options: object) -> np.ndarray:
        """Refuse to become an array.

        Raises:
            Unsupported: Always.
        """
        raise Unsupported("the reference turns values into plain arrays")

    def __float__(self) -> float:
        raise Unsupported("the reference turns values into Python numbers")

    __int__ = __index__ = __complex__ = __bool__ = __float__

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Value]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, key: Any) -> Value:
        return self.with_parts(tuple(np.asarray(part[key]) for part in self.parts))

    def __setitem__(self, key: Any, item: Any) -> None:
        new = operand_of(self.arithmetic, item)
        self.derived = self.derived or new.derived
        for part, replacement in zip(self.parts, new.parts, strict=True):
            part[key] = replacement

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from pipeline.execute.arithmetic.universal import call_universal

        return call_universal(self.arithmetic, function, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        from pipeline.execute.arithmetic.functions import call_function

        return call_function(self.arithmetic, function, arguments, options)

    def apply(self, function: Function, cost: Cost) -> Value:
        """Return an elementwise function of this value alone."""
        return Value(self.arithmetic, self.arithmetic.apply(function, cost, (self.operand(),)), derived=True)

    def reshape(self, *shape: Any, **options: Any) -> Value:
        """As of an array."""
        return self.with_parts(tuple(part.reshape(*shape, **options) for part in self.parts))

    def transpose(self, *axes: Any) -> Value:
        """As of an array."""
        return self.with_parts(tuple(part.transpose(*axes) for part in self.parts))

    def astype(self, dtype: Any, **options: Any) -> Value | np.ndarray:
        """Round to a narrower float dtype; float64 changes nothing, and integers are plain arrays."""
        wanted = np.dtype(dtype)
        if wanted.kind in "iub":
            return self.values.astype(wanted)
        if wanted == np.float64:
            return self.copy()
        return Value(self.arithmetic, self.arithmetic.cast(self.operand(), wanted), derived=self.derived)

    def copy(self, *arguments: Any, **options: Any) -> Value:
        """As of an array."""
        return self.with_parts(tuple(part.copy() for part in self.parts))

    def __copy__(self) -> Value:
        return self.copy()

    def __deepcopy__(self, memory: object) -> Value:
        return self.copy()

    def item(self) -> float:
        """Refuse to become a number.

        Raises:
            Unsupported: Always.
        """
        raise Unsupported("the reference turns values into Python numbers")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in _METHODS:
            raise AttributeError(f"an array's {name} is not known here")
        function = getattr(np, name)
        return lambda *arguments, **options: function(self, *arguments, **options)


#: Methods of arrays that do what NumPy's function of the same name does.
_METHODS = frozenset(
    (
        "sum", "mean", "max", "min", "var", "std", "cumsum", "prod", "dot", "clip", "squeeze", "ravel",
        "swapaxes", "repeat", "take", "argmax", "argmin", "argsort", "diagonal", "trace", "any", "all",
        "round",
    )
)  # fmt: skip


def operand_of(arithmetic: Arithmetic, item: Any) -> Operand:
    """Return an operand for a value or for a constant: a number or an array of numbers.

    Raises:
        Unsupported: If it is neither.
    """
    if isinstance(item, Value):
        return item.operand()
    constant = np.asarray(item)
    if constant.dtype.kind not in "fiubV":
        raise Unsupported(f"the reference computes with {constant.dtype} values")
    return Operand(arithmetic.represent(constant.astype(np.float64)), constant=True)
