"""Resolve a program's instructions into distinct calls.

An unrolled kernel repeats the same few instructions over different tiles. Everything that legality, machine
and timeline decide depends on the `Call` alone, so they work per distinct call and per instruction only look
up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS, Call, Operand, memory_of
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.targets import ENGINES, TARGETS

__all__ = ["Resolution", "partition_elements", "resolve"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """A program's distinct calls.

    Attributes:
        calls: Each distinct call once, in order of first appearance.
        indices: Per instruction, the index of its call.
        operands: Per pattern, what it looks like to an instruction.
    """

    calls: list[Call]
    indices: list[int]
    operands: list[Operand]


def partition_elements(program: Program, pattern: int) -> int:
    """Return the elements of one partition of an on-chip pattern's tensor, in the pattern's dtype."""
    view = program.patterns[pattern]
    tensor = program.tensors[view.tensor]
    elements = 1
    for size in tensor.shape[1:]:
        elements *= size
    return max(1, elements * DTYPES[tensor.dtype].itemsize // DTYPES[view.dtype].itemsize)


def resolve(program: Program) -> Resolution:
    """Resolve a validated program.

    Returns:
        The distinct calls and, per instruction, which it is.
    """
    # Legality, machine and timeline ask in turn for the same program.
    global _latest
    if _latest is None or _latest[0] is not program:
        _latest = (program, _resolve(program))
    return _latest[1]


_latest: tuple[Program, Resolution] | None = None


def _resolve(program: Program) -> Resolution:
    operands: list[Operand] = []
    for pattern in range(len(program.patterns)):
        operands.append(_operand(program, pattern, operands))
    classes: dict[Operand, int] = {}
    pattern_class: list[int] = [classes.setdefault(operand, len(classes)) for operand in operands]
    pattern_class.append(_ABSENT)  # so that index -1 finds it
    representatives = list(classes)
    calls: list[Call] = []
    indices: list[int] = []
    known: dict[tuple[object, ...], int] = {}
    target = TARGETS[program.target]
    operations = [OPERATIONS[name] for name in program.operations]
    for instruction in program.instructions:
        shapes = tuple([pattern_class[used] for used in instruction.tensors])
        # 1, 1.0 and True are equal as keys but not as arguments; nor are 0.0 and -0.0.
        kinds = tuple([type(value) if value else repr(value) for value in instruction.scalars])
        key = (instruction.operation, instruction.engine, shapes, instruction.scalars, kinds)
        index = known.get(key)
        if index is None:
            index = known[key] = len(calls)
            calls.append(
                Call(
                    operation=operations[instruction.operation],
                    engine=ENGINES[instruction.engine],
                    target=target,
                    operands=tuple(None if c == _ABSENT else representatives[c] for c in shapes),
                    scalars=instruction.scalars,
                    version=program.version,
                )
            )
        indices.append(index)
    return Resolution(calls, indices, operands)


_ABSENT: Final = -1


def _operand(program: Program, index: int, earlier: list[Operand]) -> Operand:
    pattern = program.patterns[index]
    memory = memory_of(program.tensors[pattern.tensor].buffer)
    shape = pattern.shape or (1,)
    strides = tuple([stride for stride, _ in pattern.dims]) or (1,)
    dynamic = tuple([offset.kind for offset in pattern.offsets])
    indices = tuple([None if o.kind == "register" else earlier[o.source] for o in pattern.offsets])
    if memory == "hbm":
        return Operand(memory, pattern.dtype, shape, strides, dynamic=dynamic, indices=indices)
    width = partition_elements(program, index)
    start, column = divmod(pattern.offset, width)
    if memory == "sbuf":
        return Operand(memory, pattern.dtype, shape, strides, start, dynamic=dynamic, indices=indices)
    itemsize = DTYPES[pattern.dtype].itemsize
    low = high = column
    for stride, count in pattern.dims[1:]:
        reach = stride * (count - 1)
        low, high = low + min(0, reach), high + max(0, reach)
    first, last = low * itemsize, (high + 1) * itemsize - 1
    return Operand(memory, pattern.dtype, shape, strides, start, first, last, dynamic, indices)
