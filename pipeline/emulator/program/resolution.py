"""Resolve a program's instructions into distinct calls.

An unrolled kernel repeats the same few instructions over different tiles. Everything that legality, machine
and timeline decide depends on the `Call` alone, so they work per distinct call and per instruction only look
up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS, Call, Operand, memory_of
from pipeline.emulator.program.collection import paused_collection
from pipeline.emulator.program.geometry import first_partition
from pipeline.emulator.program.instructions import AccessPattern, Instruction, Program, Tensor
from pipeline.emulator.targets import ENGINES, TARGETS

__all__ = ["Resolution", "partition_elements", "resolve"]


@dataclass(frozen=True, slots=True)
class Resolution:
    """A program's distinct calls.

    Attributes:
        calls: Each distinct call once, in order of first appearance.
        indices: Per instruction, the index of its call.
        operands: Per pattern, what it looks like to an instruction.
        firsts: Per call, the position of the first instruction that is one.
    """

    calls: list[Call]
    indices: list[int]
    operands: list[Operand]
    firsts: list[int]


def partition_elements(program: Program, pattern: int) -> int:
    """Return the elements of one partition of an on-chip pattern's tensor, in the pattern's dtype."""
    view = program.patterns[pattern]
    return max(1, _partition_bytes(program.tensors[view.tensor]) // DTYPES[view.dtype].itemsize)


def _partition_bytes(tensor: Tensor) -> int:
    size = DTYPES[tensor.dtype].itemsize
    for extent in tensor.shape[1:]:
        size *= extent
    return size


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
_ABSENT: Final = -1
_ENCODER: Final = msgspec.msgpack.Encoder()


def _resolve(program: Program) -> Resolution:
    with paused_collection():
        operands = _operands(program)
        classes: dict[Operand, int] = {}
        pattern_class: list[int] = [classes.setdefault(operand, len(classes)) for operand in operands]
        pattern_class.append(_ABSENT)  # so that index -1 finds it
        calls: list[Call] = []
        indices: list[int] = []
        firsts: list[int] = []
        known: dict[bytes, int] = {}
        for position, instruction in enumerate(program.instructions):
            shapes = [pattern_class[used] for used in instruction.tensors]
            # Encoded, because 1, 1.0 and True are equal as keys but not as arguments; nor are 0.0 and -0.0.
            key = _ENCODER.encode((instruction.operation, instruction.engine, shapes, instruction.scalars))
            index = known.get(key)
            if index is None:
                index = known[key] = len(calls)
                calls.append(_call(program, instruction, operands))
                firsts.append(position)
            indices.append(index)
    return Resolution(calls, indices, operands, firsts)


def _call(program: Program, instruction: Instruction, operands: list[Operand]) -> Call:
    return Call(
        operation=OPERATIONS[program.operations[instruction.operation]],
        engine=ENGINES[instruction.engine],
        target=TARGETS[program.target],
        operands=tuple(None if pattern < 0 else operands[pattern] for pattern in instruction.tensors),
        scalars=instruction.scalars,
        version=program.version,
    )


def _operands(program: Program) -> list[Operand]:
    """Return what each pattern looks like to an instruction."""
    memories = [memory_of(tensor.buffer) for tensor in program.tensors]
    widths = [_partition_bytes(tensor) for tensor in program.tensors]
    operands: list[Operand] = []
    for pattern in program.patterns:
        memory = memories[pattern.tensor]
        dims = pattern.dims or ((1, 1),)
        strides, shape = zip(*dims, strict=True)
        dynamic: tuple[str, ...] = ()
        indices: tuple[Operand | None, ...] = ()
        if pattern.offsets:
            dynamic = tuple([offset.kind for offset in pattern.offsets])
            indices = tuple([None if o.kind == "register" else operands[o.source] for o in pattern.offsets])
        start = first = last = 0
        if memory != "hbm":
            itemsize = DTYPES[pattern.dtype].itemsize
            start, column = divmod(pattern.offset, max(1, widths[pattern.tensor] // itemsize))
            start += first_partition(program.tensors[pattern.tensor])
            if memory == "psum":
                first, last = _bytes_of(pattern, column, itemsize)
        operands.append(Operand(memory, pattern.dtype, shape, strides, start, first, last, dynamic, indices))
    return operands


def _bytes_of(pattern: AccessPattern, column: int, itemsize: int) -> tuple[int, int]:
    """Return the lowest and the highest byte of a partition that a pattern touches from `column` on."""
    low = high = column
    for stride, count in pattern.dims[1:]:
        reach = stride * (count - 1)
        low, high = low + min(0, reach), high + max(0, reach)
    return low * itemsize, (high + 1) * itemsize - 1
