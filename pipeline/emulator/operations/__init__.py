"""The operation table: every operation of `nki.isa` that the emulator knows, and the names of those it does
not.

Nothing here imports `pipeline.emulator.program` at run time, because validating a program reads this table.
"""

from __future__ import annotations

from typing import Final

from pipeline.emulator.operations import (
    activate2,
    collectives,
    control,
    cores,
    cumulative,
    data_movement,
    dma,
    elementwise,
    exponential,
    gather,
    gpsimd,
    microscaling,
    nonzero,
    permutes,
    random,
    registers,
    rowwise,
    scalar,
    search,
    selection,
    sequences,
    shuffle,
    statistics,
    tensor,
    topk,
    transpose,
    variable_collectives,
)
from pipeline.emulator.operations.activations import ACTIVATIONS, Activation
from pipeline.emulator.operations.availability import availability
from pipeline.emulator.operations.call import (
    Call,
    Kernel,
    Observation,
    Operand,
    Participant,
    Registers,
    memory_of,
)
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
from pipeline.emulator.toolchain import ISA_FUNCTIONS

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
    "availability",
    "memory_of",
]

#: Every implemented operation by name.
OPERATIONS: Final[dict[str, Operation]] = {
    operation.name: operation
    for module in (
        data_movement,
        dma,
        tensor,
        transpose,
        microscaling,
        elementwise,
        rowwise,
        selection,
        search,
        statistics,
        cumulative,
        exponential,
        shuffle,
        scalar,
        activate2,
        gpsimd,
        gather,
        nonzero,
        topk,
        sequences,
        random,
        registers,
        control,
        cores,
        collectives,
        permutes,
        variable_collectives,
    )
    for operation in module.OPERATIONS
}
