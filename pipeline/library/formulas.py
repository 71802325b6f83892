"""Shape and work formulas: integers, axis names, ``+ - * //`` and integer powers, and nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence

from pipeline.library.syntax import parse_expression

__all__ = ["FormulaError", "evaluate_formula", "evaluate_shape", "names_in"]

_LONGEST = 200
_LARGEST = 2**63 - 1
_LARGEST_EXPONENT = 8

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


class FormulaError(ValueError):
    """A formula that is not one; the message says what it holds and what it may hold."""


def evaluate_formula(formula: str, axes: Mapping[str, int]) -> int:
    """Return the value of `formula` with each axis name standing for its size.

    Raises:
        FormulaError: If it uses anything but integers, the names in `axes`, ``+ - * //``, powers with an
            exponent of 0 to 8 and parentheses, or if a value leaves the range of 64-bit integers.
    """
    return _value(_parse(formula), axes, formula)


def names_in(formula: str) -> frozenset[str]:
    """Return the axis names that `formula` uses.

    Raises:
        FormulaError: If it cannot be read.
    """
    return frozenset(node.id for node in ast.walk(_parse(formula)) if isinstance(node, ast.Name))


def evaluate_shape(shape: Sequence[str | int], axes: Mapping[str, int]) -> tuple[int, ...]:
    """Return `shape` with its formulas evaluated for one choice of axes.

    Raises:
        FormulaError: If a dimension is not a formula over `axes`, or comes out below 1.
    """
    sizes = tuple(dim if isinstance(dim, int) else evaluate_formula(dim, axes) for dim in shape)
    for dim, size in zip(shape, sizes, strict=True):
        if size < 1:
            raise FormulaError(f"dimension {dim!r} is {size} for {dict(axes)}; it must be at least 1")
    return sizes


def _parse(formula: str) -> ast.expr:
    if len(formula) > _LONGEST:
        raise FormulaError(f"formula of {len(formula)} characters; the limit is {_LONGEST}")
    try:
        body = parse_expression(formula.strip()).body
    except (SyntaxError, ValueError) as error:
        raise FormulaError(f"{formula!r} is not a formula") from error
    for node in ast.walk(body):
        if isinstance(node, ast.expr) and not _is_allowed(node):
            allowed = "integers, axis names, + - * // ** and parentheses"
            raise FormulaError(f"{formula!r} holds {ast.unparse(node)!r}; allowed are {allowed}")
    return body


def _is_allowed(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.BinOp(op=op):
            return type(op) in _OPERATORS
        case _:
            return isinstance(node, ast.Name)


def _value(node: ast.expr, axes: Mapping[str, int], formula: str) -> int:
    match node:
        case ast.Constant(value=int(number)):
            value = number
        case ast.Name(id=name) if name in axes:
            value = axes[name]
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _value(left, axes, formula), _value(right, axes, formula)
            if isinstance(op, ast.Pow) and not 0 <= second <= _LARGEST_EXPONENT:
                raise FormulaError(
                    f"{formula!r} has the exponent {second}; allowed are 0 to {_LARGEST_EXPONENT}"
                )
            if isinstance(op, ast.FloorDiv) and second == 0:
                raise FormulaError(f"{formula!r} divides by zero")
            value = _OPERATORS[type(op)](first, second)
        case _:
            name = ast.unparse(node)
            raise FormulaError(
                f"{formula!r} uses {name!r}, which is no axis; axes: {', '.join(axes) or 'none'}"
            )
    if abs(value) > _LARGEST:
        raise FormulaError(f"{formula!r} exceeds 2**63")
    return value
