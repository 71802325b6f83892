"""NumPy's functions on values of another arithmetic.

Functions that only arrange elements do so to every part of a value. Those that compute are sums, products
and elementwise functions in disguise. Those that answer with positions or truth values look at the values
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pipeline.execute.arithmetic.arithmetic import Arithmetic, Unsupported
from pipeline.execute.arithmetic.contraction import contract, contract_axes, dot
from pipeline.execute.arithmetic.reductions import count, extreme, running_sum, total
from pipeline.execute.arithmetic.universal import apply
from pipeline.execute.arithmetic.value import Axes, Value, operand_of

__all__ = ["call_function"]


def call_function(
    arithmetic: Arithmetic, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Answer ``__array_function__``.

    Raises:
        Unsupported: If the function, or what it is asked to do, is not known here.
    """
    if function in _COMPUTING:
        options.pop("dtype", None)
        if options.pop("out", None) is not None:
            raise Unsupported(f"{function.__name__}() with out= is not known here")
        return _COMPUTING[function](arithmetic, *arguments, **options)
    if function in _ARRANGING:
        return _arrange(arithmetic, function, arguments, options)
    if function in _JOINING:
        items = [_as_value(arithmetic, item) for item in arguments[0]]
        return _arrange(arithmetic, function, (items, *arguments[1:]), options)
    if function in _DECIDING:
        return function(*_map(_values_of, arguments), **_map(_values_of, options))
    raise Unsupported(f"{function.__name__}() is not known here")


def _arrange(
    arithmetic: Arithmetic, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    found: list[Value] = []
    _map(lambda item: found.append(item) if isinstance(item, Value) else None, (arguments, options))
    derived = any(value.derived for value in found)
    results = [
        function(*_map(_part_of(i), arguments), **_map(_part_of(i), options))
        for i in range(len(found[0].parts))
    ]
    if isinstance(results[0], list | tuple):
        return [Value(arithmetic, parts, derived=derived) for parts in zip(*results, strict=True)]
    return Value(arithmetic, tuple(np.asarray(part) for part in results), derived=derived)


def _map(change: Callable[[Any], Any], item: Any) -> Any:
    """Apply `change` to all that stands in nested tuples, lists and mappings."""
    if isinstance(item, tuple | list):
        return type(item)(_map(change, part) for part in item)
    if isinstance(item, dict):
        return {name: _map(change, part) for name, part in item.items()}
    return change(item)


def _part_of(index: int) -> Callable[[Any], Any]:
    return lambda item: item.parts[index] if isinstance(item, Value) else item


def _values_of(item: Any) -> Any:
    return item.values if isinstance(item, Value) else item


def _as_value(arithmetic: Arithmetic, item: Any) -> Value:
    if isinstance(item, Value):
        return item
    return Value(arithmetic, operand_of(arithmetic, item).parts, derived=False)


def _sum(arithmetic: Arithmetic, a: Any, axis: Axes = None, *, keepdims: bool = False) -> Value:
    return total(_as_value(arithmetic, a), axis, keepdims=bool(keepdims))


def _mean(arithmetic: Arithmetic, a: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    return total(a, axis, keepdims=bool(keepdims)) / count(a, axis)


def _variance(
    arithmetic: Arithmetic, a: Any, axis: Axes = None, *, ddof: int = 0, keepdims: bool = False
) -> Any:
    deviations = a - _mean(arithmetic, a, axis, keepdims=True)
    squares = total(np.square(deviations), axis, keepdims=bool(keepdims))
    return squares / (count(a, axis) - ddof)


def _deviation(arithmetic: Arithmetic, a: Any, axis: Axes = None, **options: Any) -> Any:
    return np.sqrt(_variance(arithmetic, a, axis, **options))


def _maximum(arithmetic: Arithmetic, a: Any, axis: Axes = None, *, keepdims: bool = False) -> Value:
    return extreme(a, axis, np.maximum, keepdims=bool(keepdims))


def _minimum(arithmetic: Arithmetic, a: Any, axis: Axes = None, *, keepdims: bool = False) -> Value:
    return extreme(a, axis, np.minimum, keepdims=bool(keepdims))


def _running_sum(arithmetic: Arithmetic, a: Any, axis: int | None = None) -> Value:
    return running_sum(a, axis)


def _norm(arithmetic: Arithmetic, x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> Any:
    if ord not in (None, 2) or (ord == 2 and x.ndim > 1 and not isinstance(axis, int)):
        raise Unsupported(f"norm() of order {ord} is not known here")
    return np.sqrt(total(np.square(x), axis, keepdims=keepdims))


def _choose(arithmetic: Arithmetic, condition: Any, *branches: Any) -> Any:
    if isinstance(condition, Value):
        condition = condition.values != 0
    if not branches:
        return np.nonzero(condition)
    first, second = (_as_value(arithmetic, branch) for branch in branches)
    parts = arithmetic.choose(np.asarray(condition), first.operand(), second.operand())
    return Value(arithmetic, parts, derived=first.derived or second.derived)


def _select(arithmetic: Arithmetic, conditions: Any, choices: Any, default: Any = 0) -> Any:
    result = _as_value(arithmetic, default)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = _choose(arithmetic, condition, choice, result)
    return result


def _clip(
    arithmetic: Arithmetic, a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    lower, upper = (a_min if min is None else min), (a_max if max is None else max)
    result = a if lower is None else np.maximum(a, lower)
    return result if upper is None else np.minimum(result, upper)


def _round(arithmetic: Arithmetic, a: Any, decimals: int = 0) -> Any:
    if decimals:
        raise Unsupported("round() to decimals is not known here")
    return np.rint(a)


def _like(fill: float) -> Callable[..., Value]:
    def make(arithmetic: Arithmetic, a: Any, value: Any = fill, shape: Any = None, **options: Any) -> Value:
        filled = np.full(np.shape(a) if shape is None else shape, value, np.float64)
        return Value(arithmetic, arithmetic.represent(filled), derived=False)

    return make


def _sort(arithmetic: Arithmetic, a: Any, axis: int = -1, **options: Any) -> Any:
    return np.take_along_axis(a, np.argsort(a.values, axis=axis, kind="stable"), axis)


def _outer(arithmetic: Arithmetic, a: Any, b: Any) -> Any:
    return apply(arithmetic, np.multiply, (np.reshape(a, (-1, 1)), np.reshape(b, (1, -1))))


def _inner(arithmetic: Arithmetic, a: Any, b: Any) -> Value:
    return contract_axes(arithmetic, a, b, ((np.ndim(a) - 1,), (np.ndim(b) - 1,)))


def _contract(arithmetic: Arithmetic, subscripts: Any, *operands: Any, **options: Any) -> Value:
    return contract(arithmetic, subscripts, *operands)


def _trace(arithmetic: Arithmetic, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    return total(_as_value(arithmetic, np.diagonal(a, offset, axis1, axis2)), -1)


def _difference(arithmetic: Arithmetic, a: Any, n: int = 1, axis: int = -1) -> Any:
    if n != 1:
        raise Unsupported("diff() of higher order is not known here")
    last = np.moveaxis(a, axis, -1)
    return np.moveaxis(last[..., 1:] - last[..., :-1], -1, axis)


def _pad(arithmetic: Arithmetic, array: Any, width: Any, mode: str = "constant", **options: Any) -> Value:
    if mode != "constant":
        return _arrange(arithmetic, np.pad, (array, width, mode), options)  # type: ignore[no-any-return]
    fill = options.get("constant_values", 0)
    parts = [np.pad(part, width, constant_values=0 if i else fill) for i, part in enumerate(array.parts)]
    return Value(arithmetic, tuple(parts), derived=array.derived)


def _copy_to(arithmetic: Arithmetic, target: Any, source: Any, *, where: Any = True) -> None:
    if not isinstance(target, Value):
        raise Unsupported("the reference writes values into plain arrays")
    target[...] = _choose(arithmetic, where, source, target)


_COMPUTING: Final[dict[Any, Callable[..., Any]]] = {
    np.sum: _sum,
    np.mean: _mean,
    np.average: _mean,
    np.var: _variance,
    np.std: _deviation,
    np.max: _maximum,
    np.min: _minimum,
    np.amax: _maximum,
    np.amin: _minimum,
    np.cumsum: _running_sum,
    np.linalg.norm: _norm,
    np.where: _choose,
    np.select: _select,
    np.clip: _clip,
    np.round: _round,
    np.zeros_like: _like(0.0),
    np.ones_like: _like(1.0),
    np.empty_like: _like(0.0),
    np.full_like: _like(0.0),
    np.sort: _sort,
    np.outer: _outer,
    np.inner: _inner,
    np.dot: dot,
    np.einsum: _contract,
    np.tensordot: contract_axes,
    np.trace: _trace,
    np.diff: _difference,
    np.pad: _pad,
    np.copyto: _copy_to,
}

_ARRANGING: Final = frozenset(
    (
        np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims,
        np.squeeze, np.broadcast_to, np.split, np.array_split, np.hsplit, np.vsplit, np.flip, np.fliplr,
        np.flipud, np.roll, np.rot90, np.repeat, np.tile, np.take, np.take_along_axis, np.tril, np.triu,
        np.diagonal, np.diag, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.copy, np.broadcast_arrays,
        np.delete, np.resize, np.matrix_transpose, np.compress, np.extract, np.real,
        np.lib.stride_tricks.sliding_window_view,  # noqa: TID251  this one checks its bounds
    )
)  # fmt: skip

_JOINING: Final = frozenset((np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack))

_DECIDING: Final = frozenset(
    (
        np.argmax, np.argmin, np.argsort, np.argpartition, np.any, np.all, np.count_nonzero, np.nonzero,
        np.flatnonzero, np.argwhere, np.shape, np.ndim, np.size, np.array_equal, np.allclose, np.isclose,
        np.searchsorted, np.digitize, np.isposinf, np.isneginf, np.iscomplexobj, np.isrealobj, np.result_type,
    )
)  # fmt: skip
