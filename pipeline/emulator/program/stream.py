"""Validation of a program's instructions: arguments, registers, and loops that begin and end."""

from __future__ import annotations

from typing import Final

import msgspec

from pipeline.emulator.operations import (
    OPERATIONS,
    OPERATORS,
    REQUIRED,
    Control,
    Operation,
    Parameter,
    ParameterKind,
)
from pipeline.emulator.program.declarations import MAX_LINE, check_line
from pipeline.emulator.program.errors import ProgramError, show
from pipeline.emulator.program.instructions import Instruction, Program, Scalar
from pipeline.emulator.targets import ENGINES

__all__ = ["check_instructions"]

_ENCODER: Final = msgspec.msgpack.Encoder()
_MAX_INTEGERS: Final = 512  # a replica group of 256 ranks, and some
_INTEGER_BOUND: Final = 1 << 62
_MAX_DEPTH: Final = 16  # of nested loops
_CLOSES: Final = {Control.FOR_END: Control.FOR_BEGIN, Control.WHILE_END: Control.WHILE_BEGIN}


def check_instructions(program: Program, sizes: list[int]) -> int:
    """Check the instructions and return how many elements they touch, each counted once.

    Args:
        program: Its declarations are well formed.
        sizes: Elements per pattern.

    Raises:
        ProgramError: At the first instruction that is not well formed.
    """
    operations = [OPERATIONS[name] for name in program.operations]
    cores = [_core_of(program, index) for index in range(len(sizes))] if program.cores > 1 else []
    open_loops: list[list[Control]] = [[] for _ in range(program.cores)]
    good: set[bytes] = set()
    executed = 0
    for index, instruction in enumerate(program.instructions):
        tensors = instruction.tensors
        lowest = min(tensors) if tensors else 0
        form = _form_of(instruction, lowest < 0)
        if form not in good:
            _check_instruction(index, instruction, operations, program)
            if form:
                good.add(form)
        operation = operations[instruction.operation]
        if not 0 <= instruction.line <= MAX_LINE:
            check_line("instruction", instruction.line)
        if lowest < -1 or (tensors and max(tensors) >= len(sizes)):
            raise _missing_pattern(index, operation, tensors, len(sizes))
        executed += max([sizes[pattern] for pattern in tensors if pattern >= 0], default=0)
        if operation.control is not None:
            _follow(index, operation.control, open_loops[instruction.core])
            _check_step(index, operation, instruction)
        if cores and any(cores[p] not in (-1, instruction.core) for p in tensors if p >= 0):
            raise ProgramError(
                "core", f"instruction {index}: core {instruction.core} uses a tensor of another core"
            )
    if any(open_loops):
        raise ProgramError("loop", "a loop does not end")
    return executed


def _form_of(instruction: Instruction, lacks: bool) -> bytes:
    """Return what `_check_instruction` looks at, which an unrolled loop repeats again and again.

    Encoded, so that 1, 1.0 and True differ, and no choice of numbers makes many of them hash alike. Empty for
    what cannot be encoded, so came over no wire either.
    """
    tensors = instruction.tensors
    given = [pattern >= 0 for pattern in tensors] if lacks else len(tensors)
    form = (instruction.operation, instruction.engine, instruction.core, given, instruction.scalars)
    try:
        return _ENCODER.encode(form)
    except (OverflowError, TypeError, ValueError):
        return b""


def _core_of(program: Program, pattern: int) -> int:
    """Return the core that owns what a pattern touches, its index tensors included; -1 for no one core."""
    view = program.patterns[pattern]
    tensors = [view.tensor]
    tensors += [program.patterns[o.source].tensor for o in view.offsets if o.kind != "register"]
    owners = {program.tensors[tensor].core for tensor in tensors} - {-1}
    if len(owners) > 1:
        raise ProgramError("core", f"pattern {pattern}: tensors of two cores")
    return owners.pop() if owners else -1


def _follow(index: int, control: Control, loops: list[Control]) -> None:
    if control not in _CLOSES:
        loops.append(control)
        if len(loops) > _MAX_DEPTH:
            raise ProgramError("loop", f"instruction {index}: more than {_MAX_DEPTH} nested loops")
    elif not loops or loops.pop() is not _CLOSES[control]:
        raise ProgramError("loop", f"instruction {index}: ends a loop that did not begin")


def _check_step(index: int, operation: Operation, instruction: Instruction) -> None:
    slot = operation.scalar_slots.get("step")
    step = 1 if slot is None else instruction.scalars[slot]
    if not isinstance(step, int) or step < 1:
        raise ProgramError("loop", f"instruction {index}: a step of {show(step)}, must be a positive integer")


def _check_instruction(
    index: int, instruction: Instruction, operations: list[Operation], program: Program
) -> None:
    """Check all but the line and which patterns there are."""
    if not 0 <= instruction.operation < len(operations):
        raise ProgramError(
            "operation", f"instruction {index}: operation {instruction.operation} does not exist"
        )
    operation = operations[instruction.operation]
    if not 0 <= instruction.engine < len(ENGINES):
        raise ProgramError(
            "engine", f"{_where(index, operation)}: engine {instruction.engine} does not exist"
        )
    if not 0 <= instruction.core < program.cores:
        raise ProgramError("core", f"{_where(index, operation)}: core {instruction.core} of {program.cores}")
    tensors, scalars = instruction.tensors, instruction.scalars
    if len(tensors) != len(operation.tensor_parameters):
        raise ProgramError(
            "tensor_count",
            f"{_where(index, operation)}: {len(tensors)} tensors, takes {len(operation.tensor_parameters)}",
        )
    if len(scalars) != len(operation.scalar_parameters):
        raise ProgramError(
            "scalar_count",
            f"{_where(index, operation)}: {len(scalars)} scalars, takes {len(operation.scalar_parameters)}",
        )
    for parameter, pattern in zip(operation.tensor_parameters, tensors, strict=True):
        required = parameter.kind is not ParameterKind.OPERAND and parameter.default is REQUIRED
        if pattern == -1 and required and not parameter.nullable:
            raise ProgramError("tensor_missing", f"{_where(index, operation)}: {parameter.name} is absent")
    for parameter, value in zip(operation.scalar_parameters, scalars, strict=True):
        if not _is_good(parameter, value, program.registers):
            raise ProgramError(
                "scalar_value", f"{_where(index, operation)}: {parameter.name} is {show(value)}"
            )
        if (
            parameter.kind is ParameterKind.OPERAND
            and value is not None
            and tensors[operation.tensor_slots[parameter.name]] >= 0
        ):
            raise ProgramError(
                "operand_twice", f"{_where(index, operation)}: {parameter.name} is both a tile and a number"
            )


def _missing_pattern(
    index: int, operation: Operation, tensors: tuple[int, ...], patterns: int
) -> ProgramError:
    slot, pattern = next((slot, p) for slot, p in enumerate(tensors) if not -1 <= p < patterns)
    name = operation.tensor_parameters[slot].name
    return ProgramError(
        "tensor_index", f"{_where(index, operation)}: pattern {pattern} of {name} does not exist"
    )


def _where(index: int, operation: Operation) -> str:
    return f"instruction {index} ({operation.name})"


def _is_good(parameter: Parameter, value: Scalar, registers: int) -> bool:
    kind = parameter.kind
    if value is None:
        # An absent number, operand or operator; what must be given is for the operation's limits to say.
        return kind is ParameterKind.OPERAND or (parameter.default is None and kind is not ParameterKind.FLAG)
    if kind is ParameterKind.FLAG:
        return isinstance(value, bool)
    if kind is ParameterKind.OPERAND or kind is ParameterKind.NUMBER:
        return isinstance(value, float) or _is_integer(value)
    if kind is ParameterKind.INTEGERS:
        return _is_integer(value) or (
            isinstance(value, tuple) and len(value) <= _MAX_INTEGERS and all(map(_is_integer, value))
        )
    if kind is ParameterKind.REGISTER or kind is ParameterKind.INDEX:
        if isinstance(value, tuple):
            return len(value) == 1 and _is_integer(value[0]) and 0 <= value[0] < registers
        return kind is ParameterKind.INDEX and _is_integer(value)
    if kind is ParameterKind.OPERATOR:
        # Which operators an operation takes is legality's business; an unknown name is nobody's.
        return isinstance(value, str) and value in OPERATORS
    return isinstance(value, str) and value in parameter.choices


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _INTEGER_BOUND
