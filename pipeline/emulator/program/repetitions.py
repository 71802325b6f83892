"""How often the instructions of run-time loops run, as far as the program says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pipeline.emulator.operations import OPERATIONS, Control
from pipeline.emulator.program.instructions import Instruction, Program

__all__ = ["Repetitions"]

_BEGINS: Final = (Control.FOR_BEGIN, Control.WHILE_BEGIN)


@dataclass(frozen=True, slots=True)
class Repetitions:
    """How often instructions run.

    Attributes:
        times: By position, for instructions within loops; all others run once. Iterations that only run time
            knows count as one.
        known: Whether no loop waits for run time to say how often it runs.
    """

    times: dict[int, int]
    known: bool

    @classmethod
    def of(cls, program: Program) -> Repetitions:
        """Read the repetitions of a validated program off its loops."""
        marks = {
            index: OPERATIONS[name].control
            for index, name in enumerate(program.operations)
            if OPERATIONS[name].control is not None
        }
        if not marks:
            return cls({}, True)
        times: dict[int, int] = {}
        known = True
        stacks: list[list[int]] = [[1] for _ in range(program.cores)]
        for position, instruction in enumerate(program.instructions):
            stack = stacks[instruction.core]
            control = marks.get(instruction.operation)
            if control in _BEGINS:
                trips = _trips(instruction) if control is Control.FOR_BEGIN else None
                known = known and trips is not None
                stack.append(stack[-1] * (1 if trips is None else trips))
            elif control is not None:
                stack.pop()
            elif len(stack) > 1:
                times[position] = stack[-1]
        return cls(times, known)


def _trips(instruction: Instruction) -> int | None:
    """Return how often a counted loop runs, None if a register says it."""
    _, lower, upper, step = instruction.scalars
    if isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int) and step > 0:
        return len(range(lower, upper, step))
    return None
