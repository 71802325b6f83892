"""Decide whether a decoded program is well formed: every index, name, size and type.

A program comes from a process that the submission shares, so nothing in it is believed. What passes here
cannot make the trusted side read outside a tensor, look up an unknown name or allocate beyond the limits;
whether the chip would accept it is the business of legality. Costs O(program) with small constants, whatever
the data.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS, OPERATORS, REQUIRED, Operation, Parameter, ParameterKind
from pipeline.emulator.operations.inventory import VERSIONS
from pipeline.emulator.program.instructions import AccessPattern, Instruction, Program, Scalar, Tensor
from pipeline.emulator.program.limits import DEFAULT_LIMITS, ProgramLimits
from pipeline.emulator.targets import ENGINES, TARGETS

__all__ = ["ProgramError", "validate"]

_BUFFERS: Final = frozenset({"hbm", "shared_hbm", "private_hbm", "sbuf", "psum"})
_HBM: Final = frozenset({"hbm", "shared_hbm", "private_hbm"})
_MAX_RANK: Final = 16
_MAX_NAME: Final = 1024
_MAX_INTEGERS: Final = 64
_INTEGER_BOUND: Final = 1 << 62
_MAX_STRIDE: Final = 1 << 40  # also where a dimension of one element makes it idle
_MAX_LINE: Final = 1 << 30


class ProgramError(Exception):
    """A program that is not well formed.

    An honest frontend never produces one, so the cause is a defect of ours or a submission that tampers with
    the process it shares.

    Attributes:
        rule: Stable id of what is wrong.
        message: What and where.
    """

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule
        self.message = message


def validate(program: Program, limits: ProgramLimits = DEFAULT_LIMITS) -> None:
    """Check that a program is well formed.

    Args:
        program: As decoded from the wire.
        limits: Ceilings on its size.

    Raises:
        ProgramError: At the first thing that is wrong.
    """
    _check_heading(program, limits)
    elements = _check_tensors(program.tensors, limits)
    _check_interface(program)
    sizes = [
        _check_pattern(index, pattern, program.tensors, elements, limits)
        for index, pattern in enumerate(program.patterns)
    ]
    operations = [OPERATIONS[name] for name in program.operations]
    executed = 0
    for index, instruction in enumerate(program.instructions):
        _check_instruction(index, instruction, operations, len(sizes))
        executed += max((sizes[pattern] for pattern in instruction.tensors if pattern >= 0), default=0)
    if executed > limits.executed_elements:
        raise ProgramError(
            "executed_elements", f"{executed} elements touched, limit {limits.executed_elements}"
        )


def _check_heading(program: Program, limits: ProgramLimits) -> None:
    if program.dialect != "nki":
        raise ProgramError("dialect", f"dialect {_show(program.dialect)}, known: 'nki'")
    if program.version not in VERSIONS:
        raise ProgramError("version", f"NKI version {_show(program.version)}, known: {', '.join(VERSIONS)}")
    if program.target not in TARGETS:
        raise ProgramError("target", f"target {_show(program.target)}, known: {', '.join(TARGETS)}")
    for rule, count, limit in (
        ("instructions", len(program.instructions), limits.instructions),
        ("tensors", len(program.tensors), limits.tensors),
        ("patterns", len(program.patterns), limits.patterns),
        ("operations", len(program.operations), len(OPERATIONS)),
    ):
        if count > limit:
            raise ProgramError(rule, f"{count} {rule}, limit {limit}")
    for name in program.operations:
        if name not in OPERATIONS:
            raise ProgramError("operation", f"operation {_show(name)} is not in the table")


def _check_tensors(tensors: Iterable[Tensor], limits: ProgramLimits) -> list[int]:
    """Return the bytes of each tensor."""
    sizes: list[int] = []
    total = 0
    for index, tensor in enumerate(tensors):
        where = f"tensor {index}"
        if len(tensor.name) > _MAX_NAME:
            raise ProgramError("tensor_name", f"{where}: name of {len(tensor.name)} characters")
        if tensor.dtype not in DTYPES:
            raise ProgramError("tensor_dtype", f"{where}: dtype {_show(tensor.dtype)} is unknown")
        if tensor.buffer not in _BUFFERS:
            raise ProgramError("tensor_buffer", f"{where}: buffer {_show(tensor.buffer)} is unknown")
        if not 1 <= len(tensor.shape) <= _MAX_RANK:
            raise ProgramError(
                "tensor_shape", f"{where}: {len(tensor.shape)} dimensions, must be 1 to {_MAX_RANK}"
            )
        _check_line(where, tensor.line)
        elements = 1
        for size in tensor.shape:
            if size < 1:
                raise ProgramError("tensor_shape", f"{where}: dimension of {size} elements, must be positive")
            elements *= size
            if elements > limits.tensor_elements:
                raise ProgramError("tensor_elements", f"{where}: more than {limits.tensor_elements} elements")
        size = elements * DTYPES[tensor.dtype].itemsize
        sizes.append(size)
        if tensor.buffer in _HBM:
            total += size
    if total > limits.total_bytes:
        raise ProgramError("total_bytes", f"{total} bytes of HBM tensors, limit {limits.total_bytes}")
    return sizes


def _check_interface(program: Program) -> None:
    for rule, indices in (("inputs", program.inputs), ("outputs", program.outputs)):
        for index in indices:
            if not 0 <= index < len(program.tensors):
                raise ProgramError(rule, f"tensor {index} of {rule} does not exist")
        if len(set(indices)) != len(indices):
            raise ProgramError(rule, f"{rule} name a tensor twice")
    for index in program.inputs:
        if program.tensors[index].buffer not in _HBM:
            raise ProgramError("inputs", f"input {index} does not lie in HBM")


def _check_pattern(
    index: int, pattern: AccessPattern, tensors: tuple[Tensor, ...], sizes: list[int], limits: ProgramLimits
) -> int:
    """Return the elements the pattern touches."""
    where = f"pattern {index}"
    if not 0 <= pattern.tensor < len(tensors):
        raise ProgramError("pattern_tensor", f"{where}: tensor {pattern.tensor} does not exist")
    if pattern.dtype not in DTYPES:
        raise ProgramError("pattern_dtype", f"{where}: dtype {_show(pattern.dtype)} is unknown")
    if len(pattern.dims) > _MAX_RANK:
        raise ProgramError("pattern_rank", f"{where}: {len(pattern.dims)} dimensions, limit {_MAX_RANK}")
    low = high = pattern.offset
    elements = 1
    for stride, count in pattern.dims:
        if count < 1:
            raise ProgramError("pattern_count", f"{where}: dimension of {count} elements, must be positive")
        if abs(stride) > _MAX_STRIDE:
            raise ProgramError("pattern_stride", f"{where}: stride beyond {_MAX_STRIDE} elements")
        elements *= count
        if elements > limits.tensor_elements:
            raise ProgramError("pattern_elements", f"{where}: more than {limits.tensor_elements} elements")
        reach = stride * (count - 1)
        if reach < 0:
            low += reach
        else:
            high += reach
    capacity = sizes[pattern.tensor] // DTYPES[pattern.dtype].itemsize
    if low < 0 or high >= capacity:
        raise ProgramError(
            "pattern_bounds",
            f"{where}: elements {low} to {high} of tensor {pattern.tensor}, which holds {capacity}",
        )
    return elements


def _check_instruction(
    index: int, instruction: Instruction, operations: list[Operation], patterns: int
) -> None:
    if not 0 <= instruction.operation < len(operations):
        raise ProgramError(
            "operation", f"instruction {index}: operation {instruction.operation} does not exist"
        )
    operation = operations[instruction.operation]
    where = f"instruction {index} ({operation.name})"
    if not 0 <= instruction.engine < len(ENGINES):
        raise ProgramError("engine", f"{where}: engine {instruction.engine} does not exist")
    _check_line(where, instruction.line)
    tensors, scalars = instruction.tensors, instruction.scalars
    if len(tensors) != len(operation.tensor_parameters):
        raise ProgramError(
            "tensor_count", f"{where}: {len(tensors)} tensors, takes {len(operation.tensor_parameters)}"
        )
    if len(scalars) != len(operation.scalar_parameters):
        raise ProgramError(
            "scalar_count", f"{where}: {len(scalars)} scalars, takes {len(operation.scalar_parameters)}"
        )
    for parameter, pattern in zip(operation.tensor_parameters, tensors, strict=True):
        if not -1 <= pattern < patterns:
            raise ProgramError(
                "tensor_index", f"{where}: pattern {pattern} of {parameter.name} does not exist"
            )
        required = parameter.kind is not ParameterKind.OPERAND and parameter.default is REQUIRED
        if pattern < 0 and required and not parameter.nullable:
            raise ProgramError("tensor_missing", f"{where}: {parameter.name} is absent")
    for parameter, value in zip(operation.scalar_parameters, scalars, strict=True):
        _check_scalar(where, parameter, value)
        if (
            parameter.kind is ParameterKind.OPERAND
            and value is not None
            and tensors[operation.tensor_slots[parameter.name]] >= 0
        ):
            raise ProgramError("operand_twice", f"{where}: {parameter.name} is both a tile and a number")


def _check_scalar(where: str, parameter: Parameter, value: Scalar) -> None:
    kind = parameter.kind
    if value is None:
        # An absent number, operand or operator; what must be given is for the operation's limits to say.
        good = kind is ParameterKind.OPERAND or (parameter.default is None and kind is not ParameterKind.FLAG)
    elif kind is ParameterKind.FLAG:
        good = isinstance(value, bool)
    elif kind is ParameterKind.OPERAND or kind is ParameterKind.NUMBER:
        good = isinstance(value, float) or _is_integer(value)
    elif kind is ParameterKind.INTEGERS:
        good = _is_integer(value) or (
            isinstance(value, tuple) and len(value) <= _MAX_INTEGERS and all(map(_is_integer, value))
        )
    elif kind is ParameterKind.OPERATOR:
        # Which operators an operation takes is legality's business; an unknown name is nobody's.
        good = isinstance(value, str) and value in OPERATORS
    else:
        good = isinstance(value, str) and value in parameter.choices
    if not good:
        raise ProgramError("scalar_value", f"{where}: {parameter.name} is {_show(value)}")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _INTEGER_BOUND


def _check_line(where: str, line: int) -> None:
    if not 0 <= line <= _MAX_LINE:
        raise ProgramError("line", f"{where}: line {line}")


def _show(value: object) -> str:
    """Return a bounded, printable form of a hostile value."""
    return ascii(value)[:60]
