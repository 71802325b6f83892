"""Where values come from and go to: inputs that a program writes, outputs that no input reaches.

Tensors are followed whole: a value that flows into any element of a tensor is taken to be in all of it, and
one that an engine has read may be in its accumulator registers. So an output called independent certainly is,
and one that is not may still be.
"""

from __future__ import annotations

from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.program.instructions import Instruction, Program

__all__ = ["independent_outputs", "mutated_inputs"]


def mutated_inputs(program: Program) -> tuple[int, ...]:
    """Return the positions in `Program.inputs` of inputs that any instruction writes.

    Args:
        program: A validated program.
    """
    written: set[int] = set()
    for instruction in program.instructions:
        written |= _tensors(program, instruction)[1]
    return tuple(place for place, index in enumerate(program.inputs) if index in written)


def independent_outputs(program: Program) -> tuple[int, ...]:
    """Return the positions in `Program.outputs` of outputs that no input's value flows into.

    Args:
        program: A validated program.
    """
    reached = set(program.inputs)
    engines: set[int] = set()
    for instruction in program.instructions:
        read, written = _tensors(program, instruction)
        if read & reached:
            engines.add(instruction.engine)
            reached |= written
        elif instruction.engine in engines and _drains_registers(program, instruction):
            reached |= written
    return tuple(place for place, index in enumerate(program.outputs) if index not in reached)


def _drains_registers(program: Program, instruction: Instruction) -> bool:
    """Whether an instruction writes what its engine accumulated over earlier ones."""
    slot = OPERATIONS[program.operations[instruction.operation]].tensor_slots.get("reduce_res")
    return slot is not None and instruction.tensors[slot] >= 0


def _tensors(program: Program, instruction: Instruction) -> tuple[set[int], set[int]]:
    """Return the tensors that an instruction reads, and those that it writes."""
    read: set[int] = set()
    written: set[int] = set()
    operation = OPERATIONS[program.operations[instruction.operation]]
    for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True):
        if pattern < 0:
            continue
        tensor = program.patterns[pattern].tensor
        if parameter.kind.written:
            written.add(tensor)
        else:
            read.add(tensor)
    return read, written
