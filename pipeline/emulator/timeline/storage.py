"""In which precision a program keeps what it has computed until the next step reads it."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.operations.table import Operation, ParameterKind
from pipeline.emulator.program.instructions import AccessPattern, Instruction, Program
from pipeline.emulator.timeline.constants import exact_constants
from pipeline.emulator.timeline.precision import NO_ARITHMETIC
from pipeline.emulator.timeline.work import PRODUCTS

__all__ = ["stored_dtypes"]


def stored_dtypes(program: Program) -> dict[str, tuple[int, ...]]:
    """Return the float dtypes of intermediate results that arithmetic reads again, with the lines that do.

    An intermediate result is what arithmetic wrote, or what a copy rounded. Copies of inputs are none, nor
    are numbers that their dtype holds exactly. Reading the operands of a matmul does not count: they are to
    be narrow, and are judged by `compute_dtypes`.

    Args:
        program: A validated program.
    """
    steps = [
        (OPERATIONS[program.operations[instruction.operation]], instruction)
        for instruction in program.instructions
    ]
    derived = _intermediate_tensors(program, steps)
    lines: dict[str, set[int]] = {}
    for operation, instruction in steps:
        if operation.name in PRODUCTS or _only_moves(operation, instruction):
            continue
        for kind, view in _views(program, operation, instruction):
            if not kind.written and view.tensor in derived and _is_float(view.dtype):
                lines.setdefault(view.dtype, set()).add(instruction.line)
    ordered = sorted(lines, key=lambda name: (DTYPES[name].mantissa_bits, name))
    return {name: tuple(sorted(lines[name])) for name in ordered}


def _intermediate_tensors(program: Program, steps: list[tuple[Operation, Instruction]]) -> set[int]:
    derived: set[int] = set()
    copies: list[tuple[set[int], set[int]]] = []
    for operation, instruction in steps:
        views = list(_views(program, operation, instruction))
        written = [view for kind, view in views if kind.written]
        read = [view for kind, view in views if not kind.written]
        targets = {view.tensor for view in written}
        narrowest = min((_bits(view.dtype) for view in written), default=0)
        rounds = any(_bits(view.dtype) > narrowest for view in read)
        if rounds or not read or not _only_moves(operation, instruction):
            derived |= targets
        else:
            copies.append((targets, {view.tensor for view in read}))
    derived -= exact_constants(program)
    grown = True
    while grown:
        before = len(derived)
        for targets, sources in copies:
            if not derived.isdisjoint(sources):
                derived |= targets
        grown = len(derived) > before
    return derived


def _views(
    program: Program, operation: Operation, instruction: Instruction
) -> Iterator[tuple[ParameterKind, AccessPattern]]:
    for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True):
        if pattern >= 0:
            yield parameter.kind, program.patterns[pattern]


def _only_moves(operation: Operation, instruction: Instruction) -> bool:
    if operation.name == "nc_matmul":
        return bool(instruction.scalars[operation.scalar_slots["is_transpose"]])
    return operation.name in NO_ARITHMETIC


def _is_float(dtype: str) -> bool:
    return DTYPES[dtype].is_float or DTYPES[dtype].is_packed


def _bits(dtype: str) -> int:
    return DTYPES[dtype].mantissa_bits
