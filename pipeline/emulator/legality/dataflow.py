"""Where values come from and go to: inputs that a program writes, outputs that no input reaches.

Tensors are followed whole: a value that flows into any element of a tensor is taken to be in all of it, and
one that an engine has read may be in its accumulator registers. So an output called independent certainly is,
and one that is not may still be. Virtual registers carry values too, and a loop whose bounds depend on an
input lets that input reach all that the loop writes.
"""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations import OPERATIONS, Control, Meeting, ParameterKind
from pipeline.emulator.program.instructions import Instruction, Program
from pipeline.emulator.program.lifetimes import patterns_used

__all__ = ["independent_outputs", "mutated_inputs"]

_BEGINS: Final = (Control.FOR_BEGIN, Control.WHILE_BEGIN)
#: Operations that read or set the state of the random number generators.
_SEEDS: Final = frozenset({"set_rng_seed", "rand_set_state"})
_DRAWS: Final = frozenset({"rng", "rand2", "dropout", "rand_get_state"})
_Source = tuple[str, int]


def mutated_inputs(program: Program) -> tuple[int, ...]:
    """Return the positions in `Program.inputs` of inputs that any instruction writes.

    Args:
        program: A validated program.
    """
    written: set[int] = set()
    for instruction in program.instructions:
        written |= {index for kind, index in _flow(program, instruction)[1] if kind == "tensor"}
    return tuple(place for place, index in enumerate(program.inputs) if index in written)


def independent_outputs(program: Program) -> tuple[int, ...]:
    """Return the positions in `Program.outputs` of outputs that no input's value flows into.

    Args:
        program: A validated program.
    """
    reached: set[_Source] = {("tensor", index) for index in program.inputs}
    flows = [_flow(program, instruction) for instruction in program.instructions]
    used = [OPERATIONS[name] for name in program.operations]
    back = any(operation.control is not None or operation.meeting is not None for operation in used)
    while True:
        before = len(reached)
        _spread(program, flows, reached)
        # A loop, and what another core sends, carry values back to instructions that stand earlier.
        if not back or len(reached) == before:
            break
    return tuple(place for place, index in enumerate(program.outputs) if ("tensor", index) not in reached)


def _spread(program: Program, flows: list[tuple[set[_Source], set[_Source]]], reached: set[_Source]) -> None:
    """Add what one pass over the program reaches."""
    depends: list[list[bool]] = [[] for _ in range(program.cores)]
    for instruction, (read, written) in zip(program.instructions, flows, strict=True):
        operation = OPERATIONS[program.operations[instruction.operation]]
        loops = depends[instruction.core]
        if operation.control is not None:
            if operation.control in _BEGINS:
                loops.append(bool(read & reached))
            else:
                loops.pop()
        engine = ("engine", instruction.engine + 16 * instruction.core)
        if operation.name in _DRAWS:
            read = read | {("random", instruction.core)}
        if read & reached or any(loops):
            if operation.name in _SEEDS:
                reached.add(("random", instruction.core))
            reached.add(engine)
            reached |= written
            if operation.meeting is Meeting.CORES or operation.meeting is Meeting.RANKS:
                reached.add(("meeting", 0))
        elif engine in reached and _drains_registers(program, instruction):
            reached |= written
        elif operation.meeting is not None and ("meeting", 0) in reached:
            # What another core or rank sends may be an input of its own.
            reached |= written


def _drains_registers(program: Program, instruction: Instruction) -> bool:
    """Whether an instruction writes what its engine accumulated over earlier ones."""
    slot = OPERATIONS[program.operations[instruction.operation]].tensor_slots.get("reduce_res")
    return slot is not None and instruction.tensors[slot] >= 0


def _flow(program: Program, instruction: Instruction) -> tuple[set[_Source], set[_Source]]:
    """Return what an instruction reads and what it writes: tensors and virtual registers."""
    read: set[_Source] = set()
    written: set[_Source] = set()
    operation = OPERATIONS[program.operations[instruction.operation]]
    for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True):
        if pattern < 0:
            continue
        view = program.patterns[pattern]
        (written if parameter.kind.written else read).add(("tensor", view.tensor))
        if operation.keeps(parameter, instruction.scalars):
            read.add(("tensor", view.tensor))
        for offset in view.offsets:
            if offset.kind == "register":
                read.add(("register", _register(offset.source, instruction)))
        for source in patterns_used(program, (pattern,)):
            if source != pattern:
                read.add(("tensor", program.patterns[source].tensor))
    for parameter, value in zip(operation.scalar_parameters, instruction.scalars, strict=True):
        if isinstance(value, tuple) and parameter.kind in (ParameterKind.REGISTER, ParameterKind.INDEX):
            is_written = parameter.kind is ParameterKind.REGISTER
            (written if is_written else read).add(("register", _register(value[0], instruction)))
    return read, written


def _register(number: int, instruction: Instruction) -> int:
    """Return a number for a register of a core."""
    return 2 * number + instruction.core
