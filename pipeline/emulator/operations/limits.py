"""Limits that many operations share, as factories of `Limit`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.emulator.operations.arguments import INTEGERS
from pipeline.emulator.operations.call import Call, Operand
from pipeline.emulator.operations.operators import OPERATORS
from pipeline.emulator.operations.table import Limit

__all__ = ["BITVEC_ON_INTEGERS", "agree", "column", "not_both_psum", "per_partition"]

_ISA: Final = "nki.isa docstrings, NKI 0.6 (facts/nki.md section 4.1)"


def describe(operand: Operand) -> str:
    """Return an operand as a message shows it."""
    return f"{operand.memory}[{operand.partitions} partitions x {operand.free_elements} elements]"


def agree(*names: str, for_column: str = "") -> Limit:
    """Require the named tensors to have equal partitions and equal elements per partition.

    Args:
        *names: Parameters, the one that the others are compared with first.
        for_column: What to do about a (P, 1) tile where others are wider.
    """

    def check(call: Call) -> Iterator[str]:
        first_name, *others = names
        first = call.tensor(first_name)
        for name in others:
            other = call.operand(name)
            if other is not None and (other.partitions, other.free_elements) != (
                first.partitions,
                first.free_elements,
            ):
                is_column = (other.partitions, other.free_elements) == (first.partitions, 1)
                remedy = for_column if is_column and for_column else "slice or broadcast one to match"
                yield (
                    f"{first_name} is {describe(first)}, {name} is {describe(other)}: partitions and "
                    f"elements per partition must be equal; {remedy}"
                )

    return Limit("shape-agreement", check, _ISA)


def column(*names: str, of: str) -> Limit:
    """Require the named tensors, where given, to be (P, 1) with the partitions of `of`."""

    def check(call: Call) -> Iterator[str]:
        data = call.tensor(of)
        for name in names:
            tile = call.operand(name)
            if tile is not None and (tile.partitions != data.partitions or tile.free_elements != 1):
                yield (
                    f"{name} is {describe(tile)}, must hold one element for each of the {data.partitions} "
                    f"partitions of {of}: pass a ({data.partitions}, 1) tile"
                )

    return Limit("operand-column", check, _ISA)


def per_partition(result: str, of: str, elements: int) -> Limit:
    """Require `result` to hold `elements` per partition, with the partitions of `of`."""

    def check(call: Call) -> Iterator[str]:
        data, tile = call.tensor(of), call.operand(result)
        if tile is not None and (tile.partitions, tile.free_elements) != (data.partitions, elements):
            yield f"{result} is {describe(tile)}, must be ({data.partitions}, {elements})"

    return Limit("shape-agreement", check, _ISA)


def not_both_psum(first: str, second: str) -> Limit:
    """Forbid both inputs of an instruction in PSUM."""

    def check(call: Call) -> Iterator[str]:
        if call.tensor(first).memory == call.tensor(second).memory == "psum":
            yield f"{first} and {second} both lie in PSUM: copy one to SBUF first (nisa.tensor_copy)"

    return Limit("two-psum-inputs", check, f"{_ISA}, section 2.3")


def _bitvec_on_integers(call: Call) -> Iterator[str]:
    for parameter, value in zip(call.operation.scalar_parameters, call.scalars, strict=True):
        operator = OPERATORS.get(value) if parameter.kind == "operator" and isinstance(value, str) else None
        if operator is None or operator.family != "bitvec":
            continue
        for tensor, operand in zip(call.operation.tensor_parameters, call.operands, strict=True):
            if operand is not None and operand.dtype not in INTEGERS:
                yield (
                    f"{value} works on bit patterns, but {tensor.name} is {operand.dtype}: use integer tiles "
                    "(or .view an integer type)"
                )
        if call.engine != "vector" and "vector" in call.operation.engines:
            yield f"{value} runs on the vector engine only, not on {call.engine}"


BITVEC_ON_INTEGERS: Final = Limit("bitvec-integers", _bitvec_on_integers, "facts/nki.md section 4.2")
