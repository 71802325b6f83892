"""NumPy's universal functions, and functions made universal, on values of another arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pipeline.execute.arithmetic.arithmetic import Arithmetic, Cost, Function, Unsupported
from pipeline.execute.arithmetic.contraction import multiply_matrices
from pipeline.execute.arithmetic.reductions import extreme, running_extreme, running_sum, total
from pipeline.execute.arithmetic.value import Value, operand_of

__all__ = ["apply", "call_universal"]

#: What answers with truth values or small integers: decided by the values alone.
_PREDICATES: Final = frozenset(
    (
        np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.isnan, np.isfinite,
        np.isinf, np.signbit, np.logical_and, np.logical_or, np.logical_not, np.logical_xor,
    )
)  # fmt: skip

_EXTREMES: Final = frozenset((np.maximum, np.minimum, np.fmax, np.fmin))


def call_universal(
    arithmetic: Arithmetic, function: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Answer ``__array_ufunc__``.

    Raises:
        Unsupported: If the function, its method or an option is not known here.
    """
    options = {name: option for name, option in options.items() if option is not None}
    out = options.pop("out", None)
    options.pop("dtype", None)
    result = _METHODS[method](arithmetic, function, inputs, options) if method in _METHODS else None
    if result is None:
        raise Unsupported(f"{function.__name__}.{method}() is not known here")
    return result if out is None else _write(out, result)


def apply(arithmetic: Arithmetic, function: Function, inputs: tuple[Any, ...]) -> Value:
    """Apply a function elementwise; what is more exact with a constant operand is done that way."""
    cost = Cost.of(function)
    operands = [operand_of(arithmetic, item) for item in inputs]
    if function in (np.divide, np.power, np.float_power) and operands[1].constant:
        function, cost, operands = _simplify(function, operands)
    elif function is np.multiply and inputs[0] is inputs[1]:
        function, operands = np.square, operands[:1]
    return Value(arithmetic, arithmetic.apply(function, cost, tuple(operands)), derived=True)


def _simplify(function: Function, operands: list[Any]) -> tuple[Function, Cost, list[Any]]:
    constant = operands[1].parts[0]
    if function is np.divide:
        return function, Cost.ROUNDED, operands  # a product with the reciprocal, known beforehand
    if constant.ndim == 0 and float(constant) == 2:
        return np.square, Cost.ROUNDED, operands[:1]
    if constant.ndim == 0 and float(constant) == 1:
        return np.positive, Cost.EXACT, operands[:1]
    return function, Cost.APPROXIMATED, operands


def _call(arithmetic: Arithmetic, function: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if function in _PREDICATES:
        return function(*(item.values if isinstance(item, Value) else item for item in inputs), **options)
    if options.keys() - {"casting", "order", "subok"}:
        raise Unsupported(f"{function.__name__}() with {', '.join(sorted(options))} is not known here")
    if function is np.matmul:
        return multiply_matrices(arithmetic, *inputs)
    if function.signature is not None or function.nout != 1:
        raise Unsupported(f"{function.__name__}() is not known here")
    return apply(arithmetic, function, inputs)


def _reduce(arithmetic: Arithmetic, function: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    axis, keepdims = options.pop("axis", 0), options.pop("keepdims", False)
    if options or not isinstance(inputs[0], Value):
        return None
    if function is np.add:
        return total(inputs[0], axis, keepdims=keepdims)
    return extreme(inputs[0], axis, function, keepdims=keepdims) if function in _EXTREMES else None


def _accumulate(
    arithmetic: Arithmetic, function: Any, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    axis = options.pop("axis", 0)
    if options or not isinstance(inputs[0], Value):
        return None
    if function is np.add:
        return running_sum(inputs[0], axis)
    return running_extreme(inputs[0], axis, function) if function in _EXTREMES else None


def _outer(arithmetic: Arithmetic, function: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    left, right = (item if isinstance(item, Value) else np.asarray(item) for item in inputs)
    return _call(arithmetic, function, (left.reshape(left.shape + (1,) * right.ndim), right), options)


_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "__call__": _call,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
}


def _write(out: tuple[Any, ...], result: Any) -> Any:
    """Write a result into the value that an augmented assignment or ``out=`` names."""
    target = out[0]
    if not (isinstance(target, Value) and isinstance(result, Value)):
        raise Unsupported("the reference writes values into plain arrays")
    target[...] = result
    return target
