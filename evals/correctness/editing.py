"""A program open for editing: its tables grow, its instructions are replaced one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import NamedTuple, Protocol

import msgspec

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS, Operation, ParameterKind, memory_of
from pipeline.emulator.program import AccessPattern, Instruction, Program

__all__ = ["Draft", "Edit", "InstructionMutation", "Mutation", "Scope", "Site", "Slots"]


class Site(NamedTuple):
    """Where a mutation applies, the same in the programs of all shapes of a kernel.

    Attributes:
        line: Of the source; of a tile, where it is allocated.
        operation: Name of the operation there; of a tile, its data type.
        slot: Which argument, where a mutation changes one of several.
    """

    line: int
    operation: str
    slot: int


class Mutation(Protocol):
    """One systematic way in which a kernel goes wrong."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def harmless(self) -> bool:
        """Whether what it changes is below rounding by construction, so that grading must not see it."""

    def find_sites(self, program: Program) -> Iterator[Site]:
        """Yield where it applies in `program`; a site may come several times."""

    def apply(self, program: Program, site: Site) -> Program:
        """Return `program` gone wrong at `site`; itself where the site does not occur."""


class Draft:
    """A program, with what edits ask of it.

    Args:
        program: A validated program.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.patterns = list(program.patterns)
        self.operations = list(program.operations)
        self._indices = {pattern: index for index, pattern in enumerate(program.patterns)}

    def operation(self, position: int) -> Operation:
        """Return the table entry of an instruction."""
        return OPERATIONS[self.program.operations[self.program.instructions[position].operation]]

    def memory(self, pattern: int) -> str:
        """Return the memory that a pattern lies in: ``hbm``, ``sbuf`` or ``psum``."""
        return memory_of(self.program.tensors[self.patterns[pattern].tensor].buffer)

    def slots(self, position: int, *kinds: ParameterKind, memory: str = "") -> list[int]:
        """Return the tensor slots of an instruction that hold a tile of the given kinds and memory."""
        instruction, operation = self.program.instructions[position], self.operation(position)
        return [
            slot
            for slot, parameter in enumerate(operation.tensor_parameters)
            if instruction.tensors[slot] >= 0
            and (parameter.kind in kinds)
            and (not memory or (self.memory(instruction.tensors[slot]) == "hbm") == (memory == "hbm"))
        ]

    def view(self, position: int, slot: int) -> AccessPattern:
        """Return the access pattern in a tensor slot that holds one."""
        return self.patterns[self.program.instructions[position].tensors[slot]]

    def previous(self, position: int) -> int | None:
        """Return the instruction before `position` that does the same at the same line, if any."""
        instructions = self.program.instructions
        here = instructions[position]
        for earlier in range(position - 1, -1, -1):
            there = instructions[earlier]
            if there.line == here.line and there.operation == here.operation:
                return earlier
        return None

    def fits(self, pattern: AccessPattern) -> bool:
        """Return whether a static pattern lies within its tensor."""
        tensor = self.program.tensors[pattern.tensor]
        size = prod(tensor.shape) * DTYPES[tensor.dtype].itemsize // DTYPES[pattern.dtype].itemsize
        reaches = [stride * (count - 1) for stride, count in pattern.dims]
        low = pattern.offset + sum(min(0, reach) for reach in reaches)
        high = pattern.offset + sum(max(0, reach) for reach in reaches)
        return not pattern.offsets and low >= 0 and high < size

    def keep(self, pattern: AccessPattern) -> int:
        """Return the index of `pattern`, which joins the program's table."""
        index = self._indices.setdefault(pattern, len(self.patterns))
        if index == len(self.patterns):
            self.patterns.append(pattern)
        return index

    def replace_views(self, position: int, views: dict[int, AccessPattern]) -> list[Instruction] | None:
        """Return the instruction with other patterns per slot; None where one of them does not fit."""
        if not views or not all(self.fits(view) for view in views.values()):
            return None
        instruction = self.program.instructions[position]
        tensors = list(instruction.tensors)
        for slot, view in views.items():
            tensors[slot] = self.keep(view)
        return [msgspec.structs.replace(instruction, tensors=tuple(tensors))]

    def replace_scalar(self, position: int, slot: int, value: object) -> list[Instruction]:
        """Return the instruction with another compile-time argument."""
        instruction = self.program.instructions[position]
        scalars = list(instruction.scalars)
        scalars[slot] = value  # type: ignore[call-overload]
        return [msgspec.structs.replace(instruction, scalars=tuple(scalars))]

    def name_operation(self, name: str) -> int:
        """Return the index of an operation, which joins the program's table."""
        if name not in self.operations:
            self.operations.append(name)
        return self.operations.index(name)

    def finish(self, instructions: Sequence[Instruction]) -> Program:
        """Return the edited program."""
        return msgspec.structs.replace(
            self.program,
            patterns=tuple(self.patterns),
            operations=tuple(self.operations),
            instructions=tuple(instructions),
        )


class Scope(Enum):
    """Which of the instructions at a site go wrong."""

    EVERY = "every"
    FIRST = "first"
    LAST = "last"


#: Which slots a mutation changes at a position, one mutant each.
Slots = Callable[[Draft, int], Sequence[int]]
#: What stands in place of the instruction at a position; None where the mutation does not apply.
Edit = Callable[[Draft, int, int], list[Instruction] | None]


@dataclass(frozen=True, slots=True)
class InstructionMutation:
    """A mutation that replaces instructions.

    Attributes:
        name: What it is called.
        slots: Where it applies.
        edit: What it does there.
        scope: Which of the instructions at a site it does it to.
        harmless: See `Mutation`.
    """

    name: str
    slots: Slots
    edit: Edit
    scope: Scope = Scope.EVERY
    harmless: bool = False

    def find_sites(self, program: Program) -> Iterator[Site]:
        """Yield every line, operation and slot that the mutation applies to."""
        draft = Draft(program)
        for position, instruction in enumerate(program.instructions):
            operation = draft.operation(position)
            if operation.control is None and operation.meeting is None:
                for slot in self.slots(draft, position):
                    yield Site(instruction.line, operation.name, slot)

    def apply(self, program: Program, site: Site) -> Program:
        """Return `program` with the instructions at `site` replaced."""
        draft = Draft(program)
        edited: dict[int, list[Instruction]] = {}
        for position, instruction in enumerate(program.instructions):
            if instruction.line != site.line or draft.operation(position).name != site.operation:
                continue
            if site.slot not in self.slots(draft, position):
                continue
            replacement = self.edit(draft, position, site.slot)
            if replacement is not None:
                edited[position] = replacement
        if not edited:
            return program
        if self.scope is not Scope.EVERY:
            chosen = min(edited) if self.scope is Scope.FIRST else max(edited)
            edited = {chosen: edited[chosen]}
        return draft.finish(
            [
                replacement
                for position, instruction in enumerate(program.instructions)
                for replacement in edited.get(position, [instruction])
            ]
        )
