"""Steps that are left out, done twice or done too early."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evals.correctness.editing import Draft, InstructionMutation, Mutation, Scope, Site
from pipeline.emulator.operations import ParameterKind
from pipeline.emulator.program import Instruction, Program

__all__ = ["STEPS"]

_WRITTEN: Final = (ParameterKind.DESTINATION, ParameterKind.ACCUMULATOR, ParameterKind.UPDATED)
_READ: Final = (ParameterKind.SOURCE, ParameterKind.OPERAND)


def _stores(draft: Draft, position: int) -> Sequence[int]:
    return [0] if draft.slots(position, *_WRITTEN, memory="hbm") else []


def _loads(draft: Draft, position: int) -> Sequence[int]:
    if _stores(draft, position):
        return []
    return [0] if draft.slots(position, *_READ, memory="hbm") else []


def _computes(draft: Draft, position: int) -> Sequence[int]:
    return [] if _stores(draft, position) or _loads(draft, position) else [0]


def _accumulates(draft: Draft, position: int) -> Sequence[int]:
    """Apply where doing a step twice is another step: it adds to its result, or reads what it overwrites."""
    instruction, operation = draft.program.instructions[position], draft.operation(position)
    written = [
        instruction.tensors[slot]
        for slot, parameter in enumerate(operation.tensor_parameters)
        if parameter.kind.written and instruction.tensors[slot] >= 0
    ]
    keeps = any(operation.keeps(p, instruction.scalars) for p in operation.tensor_parameters)
    in_place = {draft.patterns[index].tensor for index in written} & {
        draft.view(position, slot).tensor for slot in draft.slots(position, *_READ)
    }
    return [0] if keeps or in_place else []


def _leave_out(draft: Draft, position: int, slot: int) -> list[Instruction]:
    return []


def _do_twice(draft: Draft, position: int, slot: int) -> list[Instruction]:
    return [draft.program.instructions[position]] * 2


@dataclass(frozen=True, slots=True)
class _TooEarly:
    """A step exchanged with the one before it, where one of the two needs what the other writes."""

    name: str = "step one too early"
    harmless: bool = False

    def find_sites(self, program: Program) -> Iterator[Site]:
        draft = Draft(program)
        for position in range(1, len(program.instructions)):
            if self._depends(draft, position):
                yield Site(program.instructions[position].line, draft.operation(position).name, 0)

    def apply(self, program: Program, site: Site) -> Program:
        draft = Draft(program)
        instructions = list(program.instructions)
        for position in range(1, len(instructions)):
            instruction = program.instructions[position]
            if (instruction.line, draft.operation(position).name) == site[:2] and self._depends(
                draft, position
            ):
                instructions[position - 1], instructions[position] = instruction, instructions[position - 1]
        return draft.finish(instructions) if tuple(instructions) != program.instructions else program

    @staticmethod
    def _depends(draft: Draft, position: int) -> bool:
        for place in (position - 1, position):
            operation = draft.operation(place)
            if operation.control is not None or operation.meeting is not None:
                return False

        def tensors(place: int, *kinds: ParameterKind) -> set[int]:
            return {draft.view(place, slot).tensor for slot in draft.slots(place, *kinds)}

        written, read = tensors(position - 1, *_WRITTEN), tensors(position, *_READ)
        return bool(written & read or tensors(position, *_WRITTEN) & tensors(position - 1, *_READ))


STEPS: Final[tuple[Mutation, ...]] = (
    InstructionMutation("load left out", _loads, _leave_out),
    InstructionMutation("first load left out", _loads, _leave_out, Scope.FIRST),
    InstructionMutation("last load left out", _loads, _leave_out, Scope.LAST),
    InstructionMutation("store left out", _stores, _leave_out),
    InstructionMutation("first store left out", _stores, _leave_out, Scope.FIRST),
    InstructionMutation("last store left out", _stores, _leave_out, Scope.LAST),
    InstructionMutation("step left out", _computes, _leave_out),
    InstructionMutation("first step left out", _computes, _leave_out, Scope.FIRST),
    InstructionMutation("last step left out", _computes, _leave_out, Scope.LAST),
    InstructionMutation("step done twice", _accumulates, _do_twice),
    InstructionMutation("last step done twice", _accumulates, _do_twice, Scope.LAST),
    _TooEarly(),
)
