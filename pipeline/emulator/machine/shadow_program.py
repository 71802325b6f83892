"""A program rewritten so that its numbers are float64: tensors and patterns of wide types.

Patterns count in elements, so only declarations change. A tensor keeps its type where its bits mean something
(some pattern reads it as another type, or it is packed) or where memory that it shares with another is read
through both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
import numpy as np

from pipeline.emulator.dtypes import DTYPES, wide_twin
from pipeline.emulator.machine.memory import arena_pitches
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.program.instructions import Constant, Program, Tensor
from pipeline.emulator.program.lifetimes import Lifetimes, patterns_used

__all__ = ["widen_program"]

_WIDE_BYTES: Final = 8


def widen_program(program: Program) -> Program:
    """Return the program with every type replaced by its wide twin, where that keeps its meaning.

    Placed tensors that only take turns at a place get places of their own.

    Args:
        program: A validated, legal program.
    """
    kept = {p.tensor for p in program.patterns if p.dtype != program.tensors[p.tensor].dtype}
    kept |= _aliases(program)
    ends = arena_pitches(program.tensors)
    tensors: list[Tensor] = []
    for index, tensor in enumerate(program.tensors):
        if index in kept:
            tensors.append(tensor)
            continue
        address = tensor.address
        if address is not None:
            # The first partition matters to the accumulators, which lie on partitions.
            address = (address[0], ends[tensor.core, tensor.buffer]) if address[0] else None
        if address is not None:
            ends[tensor.core, tensor.buffer] += _WIDE_BYTES * _columns(tensor)
        tensors.append(msgspec.structs.replace(tensor, dtype=wide_twin(tensor.dtype), address=address))
    return msgspec.structs.replace(
        program,
        tensors=tuple(tensors),
        patterns=tuple(
            pattern
            if pattern.tensor in kept
            else msgspec.structs.replace(pattern, dtype=wide_twin(pattern.dtype))
            for pattern in program.patterns
        ),
        constants=tuple(
            _widened(constant, program.tensors[constant.tensor].dtype, tensors[constant.tensor].dtype)
            for constant in program.constants
        ),
    )


def _columns(tensor: Tensor) -> int:
    columns = 1
    for extent in tensor.shape[1:]:
        columns *= extent
    return columns


def _widened(constant: Constant, dtype: str, twin: str) -> Constant:
    values = np.frombuffer(constant.data, DTYPES[dtype].storage).astype(DTYPES[twin].storage)
    return msgspec.structs.replace(constant, data=values.tobytes())


class _Area(NamedTuple):
    """Where a placed tensor lies, and when."""

    tensor: int
    memory: tuple[int, str]
    partitions: range
    bytes: range
    life: range
    starts_written: bool

    def shares(self, other: _Area) -> bool:
        return (
            self.memory == other.memory
            and _meet(self.partitions, other.partitions)
            and _meet(self.bytes, other.bytes)
        )


def _meet(first: range, second: range) -> bool:
    return first.start < second.stop and second.start < first.stop


def _aliases(program: Program) -> set[int]:
    """Return the placed tensors through which memory is seen that another one wrote.

    Those are two that overlap while both are in use, or of which the later one is read before it is written.
    """
    areas = sorted(_areas(program), key=lambda area: area.life.start)
    aliases: set[int] = set()
    active: list[_Area] = []
    for area in areas:
        active = [other for other in active if other.life.stop > area.life.start]
        others: Iterable[_Area] = active if area.starts_written else areas
        for other in others:
            if other.tensor != area.tensor and area.shares(other):
                aliases |= {area.tensor, other.tensor}
        active.append(area)
    return aliases


def _areas(program: Program) -> list[_Area]:
    placed = [tensor for tensor in program.tensors if tensor.address is not None]
    if not placed:
        return []
    free = msgspec.structs.replace(
        program, tensors=tuple(msgspec.structs.replace(tensor, address=None) for tensor in program.tensors)
    )
    lifetimes = Lifetimes.of(free)
    opened = {tensor: at for at, tensors in lifetimes.opened.items() for tensor in tensors}
    closed = {tensor: at for at, tensors in lifetimes.closed.items() for tensor in tensors}
    written = _written_first(program)
    areas: list[_Area] = []
    for index, tensor in enumerate(program.tensors):
        if tensor.address is None or index not in opened:
            continue
        partition, byte = tensor.address
        size = _columns(tensor) * DTYPES[tensor.dtype].itemsize
        life = range(opened[index], closed.get(index, len(program.instructions)) + 1)
        rows = range(partition, partition + tensor.shape[0])
        areas.append(
            _Area(index, (tensor.core, tensor.buffer), rows, range(byte, byte + size), life, index in written)
        )
    return areas


def _written_first(program: Program) -> set[int]:
    """Return the tensors whose first use is to be written."""
    seen: set[int] = set()
    written: set[int] = set()
    for instruction in program.instructions:
        operation = OPERATIONS[program.operations[instruction.operation]]
        outputs: set[int] = set()
        others: set[int] = set()
        for slot, pattern in enumerate(instruction.tensors):
            if pattern < 0:
                continue
            parameter = operation.tensor_parameters[slot]
            fresh = parameter.kind.written and not operation.keeps(parameter, instruction.scalars)
            (outputs if fresh else others).add(program.patterns[pattern].tensor)
        used = {program.patterns[p].tensor for p in patterns_used(program, instruction.tensors) if p >= 0}
        written |= outputs - others - seen
        seen |= used
    return written
