"""The operation table: every operation of `nki.isa` that the emulator knows, and the names of those it does
not.

Nothing here imports `pipeline.emulator.program` at run time, because validating a program reads this table.
"""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations import data_movement, elementwise, gpsimd, rowwise, scalar, tensor
from pipeline.emulator.operations.activations import ACTIVATIONS, Activation
from pipeline.emulator.operations.call import Call, Kernel, Operand, Registers, memory_of
from pipeline.emulator.operations.inventory import ISA_FUNCTIONS, IsaFunction
from pipeline.emulator.operations.operators import OPERATORS, Operator
from pipeline.emulator.operations.table import (
    ALL_TARGETS,
    REQUIRED,
    Fidelity,
    Limit,
    Operation,
    Parameter,
    ParameterKind,
    Severity,
)

__all__ = [
    "ACTIVATIONS",
    "ALL_TARGETS",
    "ISA_FUNCTIONS",
    "OPERATIONS",
    "OPERATORS",
    "REQUIRED",
    "Activation",
    "Call",
    "Fidelity",
    "IsaFunction",
    "Kernel",
    "Limit",
    "Operand",
    "Operation",
    "Operator",
    "Parameter",
    "ParameterKind",
    "Registers",
    "Severity",
    "memory_of",
]

#: Every implemented operation by name.
OPERATIONS: Final[dict[str, Operation]] = {
    operation.name: operation
    for module in (data_movement, tensor, elementwise, rowwise, scalar, gpsimd)
    for operation in module.OPERATIONS
}
