"""Which tensors hold constants that their dtype represents exactly: no precision is lost in reading them."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.operations.operators import COMPARISONS
from pipeline.emulator.program.instructions import Instruction, Program

__all__ = ["exact_constants"]

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
                holds = _writes_exactly(program, instruction, view.dtype)
                (exact if holds else other).add(view.tensor)
    return frozenset(exact - other)


def _writes_exactly(program: Program, instruction: Instruction, dtype: str) -> bool:
    operation = OPERATIONS[program.operations[instruction.operation]]
    if operation.name == "memset":
        value = instruction.scalars[operation.scalar_slots["value"]]
        storage = DTYPES[dtype].storage
        if DTYPES[dtype].is_packed or not isinstance(value, int | float):
            return False
        with np.errstate(all="ignore"):
            return float(np.float64(value).astype(storage)) == float(value)
    for name in _COMPARING.get(operation.name, ()):
        operator = instruction.scalars[operation.scalar_slots[name]]
        if operator is not None:
            return operator in COMPARISONS
    return False
