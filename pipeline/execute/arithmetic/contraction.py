"""Products of matrices, and Einstein sums as products of matrices."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.execute.arithmetic.arithmetic import Arithmetic, Cost, Operand, Parts, Unsupported
from pipeline.execute.arithmetic.reductions import total
from pipeline.execute.arithmetic.value import Value, operand_of

__all__ = ["contract", "contract_axes", "dot", "multiply_matrices"]


def multiply_matrices(arithmetic: Arithmetic, left: Any, right: Any) -> Value:
    """Return ``left @ right`` by NumPy's rules for any number of dimensions."""
    a, b = operand_of(arithmetic, left), operand_of(arithmetic, right)
    vectors = tuple(operand.parts[0].ndim == 1 for operand in (a, b))
    if vectors[0]:
        a = _rearranged(a, lambda part: part[None, :])
    if vectors[1]:
        b = _rearranged(b, lambda part: part[:, None])
    if min(operand.parts[0].ndim for operand in (a, b)) < 2 or a.parts[0].shape[-1] != b.parts[0].shape[-2]:
        raise Unsupported(f"product of shapes {a.parts[0].shape} and {b.parts[0].shape}")
    product = Value(arithmetic, arithmetic.multiply_matrices(a, b), derived=True)
    if vectors[1]:
        product = product[..., 0]
    return product[..., 0, :] if vectors[0] and not vectors[1] else product[..., 0] if vectors[0] else product


def dot(arithmetic: Arithmetic, left: Any, right: Any) -> Value:
    """Return ``np.dot(left, right)``."""
    dimensions = np.ndim(left), np.ndim(right)
    if 0 in dimensions:
        raise Unsupported("dot() of a number")
    if dimensions[1] <= 2:
        return multiply_matrices(arithmetic, left, right)
    return contract_axes(arithmetic, left, right, ((dimensions[0] - 1,), (dimensions[1] - 2,)))


def contract_axes(arithmetic: Arithmetic, left: Any, right: Any, axes: Any = 2) -> Value:
    """Return ``np.tensordot(left, right, axes)``."""
    dimensions = np.ndim(left), np.ndim(right)
    if isinstance(axes, int):
        axes = tuple(range(dimensions[0] - axes, dimensions[0])), tuple(range(axes))
    left_axes, right_axes = (tuple(np.atleast_1d(item).tolist()) for item in axes)
    names = list(string.ascii_letters[: sum(dimensions)])
    left_names, right_names = names[: dimensions[0]], names[dimensions[0] :]
    for i, j in zip(left_axes, right_axes, strict=True):
        right_names[j] = left_names[i]
    result = [name for name in left_names + right_names if (left_names + right_names).count(name) == 1]
    subscripts = f"{''.join(left_names)},{''.join(right_names)}->{''.join(result)}"
    return contract(arithmetic, subscripts, left, right)


def contract(arithmetic: Arithmetic, subscripts: Any, *items: Any) -> Value:
    """Return ``np.einsum(subscripts, *items)``: operands are contracted from left to right.

    Raises:
        Unsupported: If `subscripts` is not a string, or lengths are broadcast.
    """
    if not isinstance(subscripts, str):
        raise Unsupported("einsum() with lists of axes is not known here")
    names, result = _parse(subscripts, [np.ndim(item) for item in items])
    lengths: dict[str, int] = {}
    for listed, item in zip(names, items, strict=True):
        for name, length in zip(listed, np.shape(item), strict=True):
            if lengths.setdefault(name, length) != length:
                raise Unsupported("einsum() that broadcasts is not known here")
    current, current_names = _diagonals(arithmetic, items[0], names[0])
    for position, item in enumerate(items[1:], start=1):
        other, other_names = _diagonals(arithmetic, item, names[position])
        needed = set(result).union(*names[position + 1 :])
        current = _sum_out(current, current_names, needed | set(other_names))
        other = _sum_out(other, other_names, needed | set(current_names))
        current_names, other_names = (
            [name for name in listed if name in needed or name in partner]
            for listed, partner in ((current_names, other_names), (other_names, current_names))
        )
        current, current_names = _contract_pair(current, current_names, other, other_names, needed, lengths)
    current = _sum_out(current, current_names, set(result))
    current_names = [name for name in current_names if name in result]
    return current.transpose(*(current_names.index(name) for name in result))


def _parse(subscripts: str, dimensions: list[int]) -> tuple[list[list[str]], list[str]]:
    """Return the axis names of each operand and of the result; those behind an ellipsis get digits."""
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    listed = inputs.split(",")
    if len(listed) != len(dimensions):
        raise Unsupported(f"einsum({subscripts!r}) of {len(dimensions)} operands")
    extra = max(
        (count - len(item) + 3 for item, count in zip(listed, dimensions, strict=True) if "..." in item),
        default=0,
    )
    names = []
    for item, count in zip(listed, dimensions, strict=True):
        before, dots, after = item.partition("...")
        own = count - len(before) - len(after)
        names.append([*before, *(str(i) for i in range(extra - own, extra) if dots), *after])
    if arrow:
        before, dots, after = output.partition("...")
        return names, [*before, *(str(i) for i in range(extra) if dots), *after]
    everything = [name for item in names for name in item]
    once = sorted(name for name in set(everything) if everything.count(name) == 1 and not name.isdigit())
    return names, [*(str(i) for i in range(extra)), *once]


def _diagonals(arithmetic: Arithmetic, item: Any, names: list[str]) -> tuple[Value, list[str]]:
    """Return the operand as a value whose axes all have different names."""
    operand = operand_of(arithmetic, item)
    value = item if isinstance(item, Value) else Value(arithmetic, operand.parts, derived=False)
    distinct = list(dict.fromkeys(names))
    if len(distinct) == len(names):
        return value, distinct
    numbers = [distinct.index(name) for name in names]
    return value.with_parts(
        tuple(np.einsum(part, numbers, list(range(len(distinct)))) for part in value.parts)
    ), distinct


def _sum_out(value: Value, names: list[str], needed: set[str]) -> Value:
    return total(value, tuple(i for i, name in enumerate(names) if name not in needed))


def _contract_pair(
    left: Value,
    left_names: list[str],
    right: Value,
    right_names: list[str],
    needed: set[str],
    lengths: dict[str, int],
) -> tuple[Value, list[str]]:
    """Return the product, summed over the axes that both have and nobody needs, and its axes' names."""
    shared = [name for name in left_names if name in right_names]
    batch = [name for name in shared if name in needed]
    summed = [name for name in shared if name not in needed]
    rows = [name for name in left_names if name not in shared]
    columns = [name for name in right_names if name not in shared]

    def gather(value: Value, names: list[str], *groups: list[str]) -> Value:
        order = [names.index(name) for group in groups for name in group]
        shape = [int(np.prod([lengths[name] for name in group], dtype=int)) for group in groups]
        return value.transpose(*order).reshape(*shape)

    a = gather(left, left_names, batch, rows, summed)
    b = gather(right, right_names, batch, summed, columns)
    if summed:
        product = multiply_matrices(left.arithmetic, a, b)
    else:
        operands = (a.operand(), b.operand())
        parts = left.arithmetic.apply(np.multiply, Cost.ROUNDED, operands)
        product = Value(left.arithmetic, parts, derived=True)
    names = batch + rows + columns
    return product.reshape(tuple(lengths[name] for name in names)), names


def _rearranged(operand: Operand, arrange: Callable[[np.ndarray], np.ndarray]) -> Operand:
    parts: Parts = tuple(arrange(part) for part in operand.parts)
    return Operand(parts, derived=operand.derived, constant=operand.constant)
