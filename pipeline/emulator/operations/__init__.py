"""The operation table: every operation of `nki.isa` that the emulator knows, and the names of those it does
not.

Nothing here imports `pipeline.emulator.program` at run time, because validating a program reads this table.
"""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations import data_movement, elementwise, gpsimd, rowwise, scalar, tensor
from pipeline.emulator.operations.activations import ACTIVATIONS, Activation
from pipeline.emulator.operations.call import (
    Call,
    Kernel,
    Observation,
    Operand,
    Participant,
    Registers,
    memory_of,
)
from pipeline.emulator.operations.inventory import ISA_FUNCTIONS, IsaFunction
from pipeline.emulator.operations.operators import OPERATORS, Operator
from pipeline.emulator.operations.table import (
    ALL_TARGETS,
    REQUIRED,
    Control,
    Fidelity,
    Limit,
    Meeting,
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
    "Control",
    "Fidelity",
    "IsaFunction",
    "Kernel",
    "Limit",
    "Meeting",
    "Observation",
    "Operand",
    "Operation",
    "Operator",
    "Parameter",
    "ParameterKind",
    "Participant",
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
