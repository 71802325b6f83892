"""Sums, extremes and prefixes of values along any axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.execute.arithmetic.arithmetic import Unsupported
from pipeline.execute.arithmetic.value import Axes, Value

__all__ = ["count", "extreme", "running_extreme", "running_sum", "total"]


def total(value: Value, axis: Axes = None, *, keepdims: bool = False) -> Value:
    """Return the sum over `axis`."""
    if not (axes := _axes(value, axis)):
        return value
    gathered, shape = _gather(value, axes, keepdims=keepdims)
    result = Value(value.arithmetic, value.arithmetic.sum(gathered.operand()), derived=True)
    return result.reshape(shape)


def count(value: Value, axis: Axes = None) -> int:
    """Return how many elements a reduction over `axis` reads for each of its results."""
    return int(np.prod([value.shape[i] for i in _axes(value, axis)], dtype=int))


def extreme(value: Value, axis: Axes, function: Any, *, keepdims: bool = False) -> Value:
    """Return the maximum or minimum over `axis`, as `function` says."""
    if not (axes := _axes(value, axis)):
        return value
    gathered, shape = _gather(value, axes, keepdims=keepdims)
    choose = np.argmax if function in (np.maximum, np.fmax) else np.argmin
    positions = np.asarray(choose(gathered.values, axis=-1))[..., None]
    return _at(gathered, positions).reshape(shape)


def running_sum(value: Value, axis: int | None) -> Value:
    """Return the sum of all elements up to each one along `axis`."""
    last = _last(value, axis)
    sums = Value(value.arithmetic, value.arithmetic.accumulate(last.operand()), derived=True)
    return sums if axis is None else _each(sums, lambda part: np.moveaxis(part, -1, axis))


def running_extreme(value: Value, axis: int | None, function: Any) -> Value:
    """Return the maximum or minimum of all elements up to each one along `axis`."""
    last = _last(value, axis)
    best = function.accumulate(last.values, axis=-1)
    # A new extreme stands where it equals the element itself; the latest of them holds from there on.
    here = np.where(last.values == best, np.arange(last.shape[-1]), 0)
    result = _at(last, np.maximum.accumulate(here, axis=-1))
    return result if axis is None else _each(result, lambda part: np.moveaxis(part, -1, axis))


def _axes(value: Value, axis: Axes) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(value.ndim))
    listed = (axis,) if isinstance(axis, int | np.integer) else tuple(axis)
    if not all(-value.ndim <= i < value.ndim for i in listed):
        raise Unsupported(f"axis {axis} of {value.ndim} dimensions")
    return tuple(int(i) % value.ndim for i in listed)


def _gather(value: Value, axes: tuple[int, ...], *, keepdims: bool) -> tuple[Value, tuple[int, ...]]:
    """Return the value with `axes` made into one last axis, and the shape of a reduction over it."""
    kept = tuple(i for i in range(value.ndim) if i not in axes)
    shape = tuple(value.shape[i] for i in kept)
    reduced = tuple(1 if i in axes else length for i, length in enumerate(value.shape)) if keepdims else shape
    if axes == (value.ndim - 1,):
        return value, reduced
    # Not -1: with an empty axis elsewhere its length could not be told.
    length = int(np.prod([value.shape[i] for i in axes], dtype=int))
    return value.transpose(*kept, *axes).reshape(*shape, length), reduced


def _last(value: Value, axis: int | None) -> Value:
    return value.reshape(-1) if axis is None else _each(value, lambda part: np.moveaxis(part, axis, -1))


def _at(value: Value, positions: np.ndarray) -> Value:
    return _each(value, lambda part: np.take_along_axis(part, positions, axis=-1))


def _each(value: Value, arrange: Callable[[np.ndarray], np.ndarray]) -> Value:
    return value.with_parts(tuple(arrange(part) for part in value.parts))
