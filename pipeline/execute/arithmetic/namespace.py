"""What the names of a reference's module mean while it computes with values of another arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from pipeline.execute.arithmetic.arithmetic import Arithmetic, Cost, Unsupported
from pipeline.execute.arithmetic.value import Value, operand_of

__all__ = ["substituted"]


@contextmanager
def substituted(namespace: dict[str, Any], arithmetic: Arithmetic) -> Iterator[None]:
    """Let NumPy and functions made by ``np.vectorize`` take values, wherever `namespace` names them.

    NumPy's functions that are given a value ask it what to do. What is left are those that make an array for
    values to be written into, conversions to arrays, and Python functions that are vectorised because NumPy
    lacks them, such as the error function.

    Args:
        namespace: Globals of the module that defines the reference; as before when the context ends.
        arithmetic: What operations do.
    """
    numpy = _NumPy(arithmetic)
    replacements = {name: numpy.replacement(item) for name, item in namespace.items()}
    changed = {name: namespace[name] for name, item in replacements.items() if item is not None}
    namespace.update({name: replacements[name] for name in changed})
    try:
        yield
    finally:
        namespace.update(changed)


class _NumPy:
    """NumPy, with arrays of another arithmetic where it would make float64 ones."""

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._replacements: Final[dict[Any, Callable[..., Any]]] = {
            np.zeros: self._fill_with(0.0),
            np.empty: self._fill_with(0.0),
            np.ones: self._fill_with(1.0),
            np.full: self._fill,
            np.asarray: self._convert,
            np.ascontiguousarray: self._convert,
            np.asanyarray: self._convert,
            np.array: self._convert,
            np.vectorize: lambda function, *rest, **options: _Vectorized(
                self._arithmetic, np.vectorize(function, *rest, **options)
            ),
        }

    def __getattr__(self, name: str) -> Any:
        item = getattr(np, name)
        replacement = self.replacement(item)
        return item if replacement is None else replacement

    def replacement(self, item: Any) -> Any:
        """Return what stands in for a global of the module; None where it may stay."""
        if item is np:
            return self
        if isinstance(item, np.vectorize):
            return _Vectorized(self._arithmetic, item)
        return self._replacements.get(item) if callable(item) and isinstance(item, Hashable) else None

    def _fill_with(self, number: float) -> Callable[..., Any]:
        return lambda shape, *rest, **options: self._make(np.full(shape, number), *rest, **options)

    def _make(self, made: np.ndarray, dtype: Any = np.float64, *rest: Any, **options: Any) -> Any:
        if np.dtype(dtype) != np.float64:
            return made.astype(dtype)
        return Value(self._arithmetic, self._arithmetic.represent(made), derived=False)

    def _fill(self, shape: Any, fill: Any, dtype: Any = None, *rest: Any, **options: Any) -> Any:
        if isinstance(fill, Value):
            filled = self._make(np.zeros(shape))
            filled[...] = fill
            return filled
        made = np.full(shape, fill)
        return (
            made
            if dtype is not None and np.dtype(dtype).kind in "iub"
            else self._make(made.astype(np.float64))
        )

    def _convert(self, item: Any, dtype: Any = None, *rest: Any, **options: Any) -> Any:
        if isinstance(item, Value):
            return item.astype(np.float64 if dtype is None else dtype)
        if isinstance(item, list | tuple) and any(isinstance(part, Value) for part in item):
            return np.stack(item)
        return np.array(item, dtype)


class _Vectorized:
    """A Python function of numbers, made to work on values elementwise."""

    def __init__(self, arithmetic: Arithmetic, function: np.vectorize) -> None:
        self._arithmetic = arithmetic
        self._function = function

    def __call__(self, *items: Any, **options: Any) -> Any:
        if not any(isinstance(item, Value) for item in items):
            return self._function(*items, **options)
        if options or self._function.signature is not None or self._function.excluded:
            raise Unsupported("a vectorised function with options is not known here")
        operands = tuple(operand_of(self._arithmetic, item) for item in items)
        parts = self._arithmetic.apply(self._evaluate, Cost.APPROXIMATED, operands)
        return Value(self._arithmetic, parts, derived=True)

    def _evaluate(self, *arrays: np.ndarray) -> np.ndarray:
        return np.asarray(self._function(*arrays), np.float64)
