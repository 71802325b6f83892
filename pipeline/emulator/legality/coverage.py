"""Are the outputs written entirely, and is anything read before it was written?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.legality.shadow import Shadow
from pipeline.emulator.operations import OPERATIONS, Operation, Severity
from pipeline.emulator.program.instructions import Instruction, Program
from pipeline.emulator.program.lifetimes import patterns_used

__all__ = [
    "RULES",
    "UninitialisedRead",
    "UnwrittenRegion",
    "is_static",
    "reads_of",
    "uninitialised_reads",
    "unwritten",
    "writes_of",
]


@dataclass(frozen=True, slots=True)
class UnwrittenRegion:
    """The part of an output that no instruction writes.

    Attributes:
        count: Elements never written.
        first_index: Index of the first of them, in the output's shape.
    """

    count: int
    first_index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UninitialisedRead:
    """An instruction that reads elements nothing has written yet.

    Attributes:
        line: Line of the submission.
        operation: Name of the operation.
        parameter: The argument read, or "the index of" one.
        tensor: Index into ``Program.tensors``.
        written: Whether the instruction writes the argument too: it accumulates, or leaves a part of it.
    """

    line: int
    operation: str
    parameter: str
    tensor: int
    written: bool


def writes_of(operation: Operation, instruction: Instruction) -> Iterator[int]:
    """Yield the patterns an instruction writes."""
    for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True):
        if pattern >= 0 and parameter.kind.written:
            yield pattern


def reads_of(operation: Operation, instruction: Instruction) -> Iterator[tuple[str, int]]:
    """Yield the name and pattern of each tensor whose contents an instruction needs.

    It needs those of what it updates in part: the rest stays as it was.
    """
    if operation.name == "core_barrier":  # names its data and touches none
        return
    for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True):
        if pattern >= 0 and (not parameter.kind.written or operation.keeps(parameter, instruction.scalars)):
            yield parameter.name, pattern


def _indices_of(
    program: Program, operation: Operation, instruction: Instruction
) -> Iterator[tuple[str, int]]:
    """Yield the name and pattern of each index tensor that says where an argument lies."""
    for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True):
        for source in patterns_used(program, (pattern,)):
            if source != pattern:
                yield f"the index of {parameter.name}", source


def is_static(program: Program) -> bool:
    """Return whether the program alone says what is written: no address and no loop waits for run time.

    Args:
        program: A validated program.
    """
    return not any(pattern.offsets for pattern in program.patterns) and not any(
        OPERATIONS[name].control is not None for name in program.operations
    )


def unwritten(program: Program) -> dict[int, UnwrittenRegion]:
    """Find the parts of the outputs that no instruction writes.

    Args:
        program: A validated program.

    Returns:
        By position in ``program.outputs``, the region left unwritten; outputs written entirely are absent. An
        input that is returned counts as written.
    """
    shadow = Shadow(program)
    wanted = set(program.outputs) - set(program.inputs)
    operations = [OPERATIONS[name] for name in program.operations]
    for instruction in program.instructions:
        for pattern in writes_of(operations[instruction.operation], instruction):
            if program.patterns[pattern].tensor in wanted:
                shadow.mark(pattern)
    regions: dict[int, UnwrittenRegion] = {}
    for position, tensor in enumerate(program.outputs):
        missing = shadow.unmarked(tensor) if tensor in wanted else np.empty(0, np.int64)
        if missing.size:
            index = np.unravel_index(int(missing[0]), program.tensors[tensor].shape)
            regions[position] = UnwrittenRegion(int(missing.size), tuple(int(i) for i in index))
    return regions


def uninitialised_reads(program: Program, limit: int = 100) -> list[UninitialisedRead]:
    """Find instructions that read elements nothing has written before.

    One read is reported per line and argument. The read is no error in itself: what it yields may never be
    used.

    Args:
        program: A validated program.
        limit: Most reads to report.

    Returns:
        The reads in program order.
    """
    shadow = Shadow(program)
    for tensor in program.inputs:
        shadow.mark_tensor(tensor)
    operations = [OPERATIONS[name] for name in program.operations]
    any_indexed = any(pattern.offsets for pattern in program.patterns)
    found: dict[tuple[int, str], UninitialisedRead] = {}
    for instruction in program.instructions:
        operation = operations[instruction.operation]
        indices = _indices_of(program, operation, instruction) if any_indexed else ()
        for name, pattern in chain(indices, reads_of(operation, instruction)):
            key = (instruction.line, name)
            if key in found or shadow.is_marked(pattern):
                continue
            tensor = program.patterns[pattern].tensor
            slot = operation.tensor_slots.get(name)
            written = slot is not None and operation.tensor_parameters[slot].kind.written
            found[key] = UninitialisedRead(instruction.line, operation.name, name, tensor, written)
            if len(found) >= limit:
                return list(found.values())
        for pattern in writes_of(operation, instruction):
            shadow.mark(pattern)
    return list(found.values())


def _uninitialised(subject: Subject) -> Iterator[Breach]:
    for read in uninitialised_reads(subject.program):
        # accumulate-unwritten judges accumulations; what an instruction leaves alone may never be used.
        if read.written:
            continue
        yield Breach(
            f"{read.operation}: {read.parameter} ({subject.name(read.tensor)}) is read before all of it was "
            "written: on the device it holds what an earlier kernel left; write it first, or slice the part "
            "that is written",
            read.line,
        )


RULES: Final = (
    Rule(
        "uninitialised-read",
        _uninitialised,
        "NKI language guide, Creating Tensors: the contents of a new tensor are undefined",
        severity=Severity.WARNING,
    ),
)
