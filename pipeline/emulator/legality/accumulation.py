"""PSUM accumulation: what a matmul may add to.

Source: facts/nki.md section 2.5, facts/emulator_findings.md section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from pipeline.emulator.legality.coverage import reads_of, writes_of
from pipeline.emulator.legality.rules import Breach, Rule, Subject
from pipeline.emulator.legality.shadow import Shadow
from pipeline.emulator.operations import OPERATIONS, Operation, ParameterKind, Severity
from pipeline.emulator.program.instructions import Instruction, Program

__all__ = ["RULES"]


class _Content(Enum):
    """What an accumulating matmul finds in its destination."""

    UNWRITTEN = 1
    FOREIGN = 2


class _Accumulation(NamedTuple):
    """A matmul that adds to something that no overwriting matmul put there."""

    content: _Content
    operation: str
    tensor: str
    line: int


def _accumulations(subject: Subject) -> Iterator[_Accumulation]:
    program = subject.program
    if not any(tensor.buffer == "psum" for tensor in program.tensors):
        return
    written, by_matmul = Shadow(program), Shadow(program)
    operations = [OPERATIONS[name] for name in program.operations]
    for instruction in program.instructions:
        operation = operations[instruction.operation]
        for pattern in writes_of(operation, instruction):
            tensor = program.patterns[pattern].tensor
            if program.tensors[tensor].buffer != "psum":
                continue
            if "accumulate" in operation.scalar_slots:
                accumulates = instruction.scalars[operation.scalar_slots["accumulate"]]
                if accumulates and not by_matmul.is_marked(pattern):
                    content = _Content.FOREIGN if written.is_marked(pattern) else _Content.UNWRITTEN
                    yield _Accumulation(content, operation.name, subject.name(tensor), instruction.line)
                by_matmul.mark(pattern)
            else:
                by_matmul.clear(pattern)
            written.mark(pattern)


def _unwritten(subject: Subject) -> Iterator[Breach]:
    for found in _accumulations(subject):
        if found.content is _Content.UNWRITTEN:
            yield Breach(
                f"{found.operation}: accumulate=True adds to {found.tensor}, parts of which nothing has "
                "written: the first matmul into a PSUM location must overwrite (accumulate=False, or leave "
                "accumulate out)",
                found.line,
            )


def _foreign(subject: Subject) -> Iterator[Breach]:
    for found in _accumulations(subject):
        if found.content is _Content.FOREIGN:
            yield Breach(
                f"{found.operation}: accumulate=True adds to {found.tensor}, which another instruction than "
                "a matmul initialised: undefined on NeuronCore-v2 and v3; let the first matmul overwrite "
                "(accumulate=(i > 0))",
                found.line,
            )


def _reused(subject: Subject) -> Iterator[Breach]:
    """Yield the first accumulation onto each sum that was read since a matmul last overwrote it.

    A program does not tell ``accumulate=None`` from True, and an allocation outside of a loop makes the one
    the other from the second iteration on. Loops of run time are looked through once, and nothing is said of
    tensors that are addressed at run time.
    """
    program = subject.program
    in_psum = _static_psum(program)
    if not in_psum:
        return
    operations = [OPERATIONS[name] for name in program.operations]
    taken, readers = Shadow(program), dict[int, tuple[str, int]]()
    for instruction in program.instructions:
        if in_psum.isdisjoint(instruction.tensors):
            continue
        operation = operations[instruction.operation]
        for name, pattern in reads_of(operation, instruction):
            kind = operation.tensor_parameters[operation.tensor_slots[name]].kind
            if pattern in in_psum and kind is not ParameterKind.ACCUMULATOR:
                taken.mark(pattern)
                readers[program.patterns[pattern].tensor] = operation.name, instruction.line
        for pattern in in_psum.intersection(writes_of(operation, instruction)):
            if _accumulates(operation, instruction):
                tensor = program.patterns[pattern].tensor
                if tensor not in readers or not taken.is_marked(pattern):
                    continue
                reader, line = readers[tensor]
                yield Breach(
                    f"{operation.name}: adds to {subject.name(tensor)}, which {reader} in line {line} has "
                    "read since a matmul last overwrote it: what was read counts into the next sum too; "
                    "allocate the tile inside the loop, or let the first matmul of each sum overwrite "
                    "(accumulate=(i > 0))",
                    instruction.line,
                )
            taken.clear(pattern)


def _static_psum(program: Program) -> set[int]:
    """Return the patterns of PSUM tensors of which the program says where they are touched."""
    dynamic = {pattern.tensor for pattern in program.patterns if pattern.offsets}
    return {
        index
        for index, pattern in enumerate(program.patterns)
        if program.tensors[pattern.tensor].buffer == "psum" and pattern.tensor not in dynamic
    }


def _accumulates(operation: Operation, instruction: Instruction) -> bool:
    slot = operation.scalar_slots.get("accumulate")
    return slot is not None and bool(instruction.scalars[slot])


RULES: Final = (
    Rule("accumulate-unwritten", _unwritten, "nki.isa.nc_matmul docstring, Accumulation mode"),
    Rule(
        "accumulate-foreign",
        _foreign,
        "nki.isa.nc_matmul docstring, note; public libraries rely on it, so it is a warning",
        frozenset({"trn1", "trn2"}),
        Severity.WARNING,
    ),
    Rule(
        "accumulate-reused",
        _reused,
        "facts/emulator_findings.md section 3, finding 1: reads and loop iterations do not start a new sum",
        severity=Severity.WARNING,
    ),
)
