"""Which tensors hold constants that their dtype represents exactly: no precision is lost in reading them."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.operations.operators import COMPARISONS
from pipeline.emulator.program.instructions import Instruction, Program

__all__ = ["exact_constants", "holds_exactly", "writes_exactly"]

#: Operations whose last operator makes every result 0 or 1 if it compares.
_COMPARING: Final = {"tensor_tensor": ("op",), "tensor_scalar": ("op1", "op0")}


def exact_constants(program: Program) -> frozenset[int]:
    """Return the tensors that are only ever filled with numbers of their dtype, or with ones and zeros.

    Args:
        program: A validated program.
    """
    exact: set[int] = set()
    other: set[int] = {*program.inputs, *(constant.tensor for constant in program.constants)}
    for instruction in program.instructions:
        operation = OPERATIONS[program.operations[instruction.operation]]
        for parameter, pattern in zip(operation.tensor_parameters, instruction.tensors, strict=True):
            if pattern >= 0 and parameter.kind.written:
                view = program.patterns[pattern]
                holds = writes_exactly(program, instruction, view.dtype)
                (exact if holds else other).add(view.tensor)
    return frozenset(exact - other)


def writes_exactly(program: Program, instruction: Instruction, dtype: str) -> bool:
    """Whether an instruction writes nothing but numbers that `dtype` holds, or ones and zeros."""
    operation = OPERATIONS[program.operations[instruction.operation]]
    if operation.name == "memset":
        value = instruction.scalars[operation.scalar_slots["value"]]
        return holds_exactly(value, dtype)
    for name in _COMPARING.get(operation.name, ()):
        operator = instruction.scalars[operation.scalar_slots[name]]
        if operator is not None:
            return operator in COMPARISONS
    return False


def holds_exactly(value: object, dtype: str) -> bool:
    """Whether `value` is a number that `dtype` represents."""
    if DTYPES[dtype].is_packed or not isinstance(value, int | float):
        return False
    with np.errstate(all="ignore"):
        return float(np.float64(value).astype(DTYPES[dtype].storage)) == float(value)
