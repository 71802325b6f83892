"""In which precision a program keeps what it has computed until the next step reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.operations.table import Operation, ParameterKind
from pipeline.emulator.program.instructions import AccessPattern, Instruction, Program
from pipeline.emulator.timeline.constants import holds_exactly, writes_exactly
from pipeline.emulator.timeline.precision import NO_ARITHMETIC
from pipeline.emulator.timeline.work import PRODUCTS

__all__ = ["stored_dtypes"]

#: Operators whose result is one of their operands.
_CHOOSING: Final = frozenset({"maximum", "minimum"})
#: Operations that only choose where their operator does, with the parameters that hold operator and number.
_MAY_CHOOSE: Final = {
    "tensor_reduce": ("op", ""),
    "tensor_tensor": ("op", ""),
    "tensor_scalar": ("op0", "operand0"),
}


def stored_dtypes(program: Program) -> dict[str, tuple[int, ...]]:
    """Return the float dtypes of intermediate results that arithmetic reads again, with the lines that do.

    An intermediate result is what arithmetic rounded when it wrote it, or what a copy did. Copies of inputs
    are none, nor the larger of two, nor numbers that their dtype holds exactly. Reading the operands of a
    matmul does not count: they are to be narrow, and are judged by `compute_dtypes`.

    Args:
        program: A validated program.
    """
    derived = _intermediate_tensors(program)
    lines: dict[str, set[int]] = {}
    for operation, instruction in _steps(program):
        if operation.name in PRODUCTS or operation.name in NO_ARITHMETIC:
            continue
        for kind, view in _views(program, operation, instruction):
            if not kind.written and view.tensor in derived and _is_float(view.dtype):
                lines.setdefault(view.dtype, set()).add(instruction.line)
    ordered = sorted(lines, key=lambda name: (DTYPES[name].mantissa_bits, name))
    return {name: tuple(sorted(lines[name])) for name in ordered}


def _intermediate_tensors(program: Program) -> set[int]:
    """Return the tensors that hold a rounded result, also where copies brought it there."""
    derived: set[int] = set()
    copied_to: dict[int, set[int]] = {}
    for operation, instruction in _steps(program):
        views = list(_views(program, operation, instruction))
        read = [view for kind, view in views if not kind.written]
        written = [view for kind, view in views if kind.written]
        if all(writes_exactly(program, instruction, view.dtype) for view in written):
            continue
        narrowest = min(_bits(view.dtype) for view in written)
        rounds = any(_bits(view.dtype) > narrowest for view in read)
        if rounds or not read or not _rounds_nothing(operation, instruction, written[0].dtype):
            derived.update(view.tensor for view in written)
        else:
            for view in read:
                copied_to.setdefault(view.tensor, set()).update(view.tensor for view in written)
    # Each tensor is followed once, however long a chain of copies is and in whatever order it is written.
    waiting = list(derived)
    while waiting:
        reached = copied_to.pop(waiting.pop(), set()) - derived
        derived |= reached
        waiting.extend(reached)
    return derived


def _rounds_nothing(operation: Operation, instruction: Instruction, dtype: str) -> bool:
    """Whether an instruction moves or chooses values, all of which `dtype` holds if it holds what is read."""

    def scalar(name: str) -> object:
        return instruction.scalars[operation.scalar_slots[name]]

    if operation.name == "nc_matmul":
        return bool(scalar("is_transpose"))
    if operation.name not in _MAY_CHOOSE:
        return operation.name in NO_ARITHMETIC
    operator, number = _MAY_CHOOSE[operation.name]
    if scalar(operator) not in _CHOOSING or (number and scalar("op1") is not None):
        return False
    # A tile in the number's place is read, and judged as what is read.
    return not number or scalar(number) is None or holds_exactly(scalar(number), dtype)


def _steps(program: Program) -> Iterator[tuple[Operation, Instruction]]:
    for instruction in program.instructions:
        yield OPERATIONS[program.operations[instruction.operation]], instruction


def _views(
    program: Program, operation: Operation, instruction: Instruction
) -> Iterator[tuple[ParameterKind, AccessPattern]]:
    for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True):
        if pattern >= 0:
            yield parameter.kind, program.patterns[pattern]


def _is_float(dtype: str) -> bool:
    return DTYPES[dtype].is_float or DTYPES[dtype].is_packed


def _bits(dtype: str) -> int:
    return DTYPES[dtype].mantissa_bits
