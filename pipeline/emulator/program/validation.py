"""Decide whether a decoded program is well formed: every index, name, size and type.

A program comes from a process that the submission shares, so nothing in it is believed. What passes here
cannot make the trusted side read outside a tensor, look up an unknown name or allocate beyond the limits;
whether the chip would accept it is the business of legality. Costs O(program) with small constants, whatever
the data.
"""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.program.declarations import (
    check_constants,
    check_interface,
    check_patterns,
    check_tensors,
)
from pipeline.emulator.program.errors import ProgramError, show
from pipeline.emulator.program.instructions import Program
from pipeline.emulator.program.limits import DEFAULT_LIMITS, ProgramLimits
from pipeline.emulator.program.stream import check_instructions
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import VERSIONS

__all__ = ["validate"]

_CORES: Final = (1, 2)


def validate(program: Program, limits: ProgramLimits = DEFAULT_LIMITS) -> None:
    """Check that a program is well formed.

    Args:
        program: As decoded from the wire.
        limits: Ceilings on its size.

    Raises:
        ProgramError: At the first thing that is wrong.
    """
    _check_heading(program, limits)
    sizes = check_tensors(program, limits)
    check_interface(program)
    check_constants(program, sizes)
    elements = check_patterns(program, sizes, limits)
    executed = check_instructions(program, elements)
    if executed > limits.executed_elements:
        raise ProgramError(
            "executed_elements", f"{executed} elements touched, limit {limits.executed_elements}"
        )


def _check_heading(program: Program, limits: ProgramLimits) -> None:
    if program.dialect != "nki":
        raise ProgramError("dialect", f"dialect {show(program.dialect)}, known: 'nki'")
    if program.version not in VERSIONS:
        raise ProgramError("version", f"NKI version {show(program.version)}, known: {', '.join(VERSIONS)}")
    if program.target not in TARGETS:
        raise ProgramError("target", f"target {show(program.target)}, known: {', '.join(TARGETS)}")
    if program.cores not in _CORES:
        raise ProgramError("cores", f"{program.cores} logical NeuronCores, must be 1 or 2")
    if program.registers < 0:
        raise ProgramError("registers", f"{program.registers} registers")
    for rule, count, limit in (
        ("instructions", len(program.instructions), limits.instructions),
        ("tensors", len(program.tensors), limits.tensors),
        ("patterns", len(program.patterns), limits.patterns),
        ("registers", program.registers, limits.registers),
        ("operations", len(program.operations), len(OPERATIONS)),
    ):
        if count > limit:
            raise ProgramError(rule, f"{count} {rule}, limit {limit}")
    for name in program.operations:
        if name not in OPERATIONS:
            raise ProgramError("operation", f"operation {show(name)} is not in the table")
