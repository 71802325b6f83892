"""The vector engine, running reductions: `tensor_scalar_cumulative`."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.emulator.operations.accumulator import Accumulator, initial_value
from pipeline.emulator.operations.arguments import choice, operand, operator, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import Array, loader, writer
from pipeline.emulator.operations.elementwise import bind_step, operator_fidelity
from pipeline.emulator.operations.limits import agree, column
from pipeline.emulator.operations.operators import operators_where
from pipeline.emulator.operations.table import Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

#: int32 and uint32 are not supported: an ISA limitation, says the docstring; tfloat32 it does not name.
_DTYPES: Final = frozenset(
    {
        *("float32", "bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2"),
        *("uint8", "uint16", "int8", "int16"),
    }
)
_CUMULATIVE: Final = frozenset({"add", "subtract", "multiply", "maximum", "minimum"})


def _bind_cumulative(call: Call) -> Kernel:
    """``state = (src[i] op0 imm0) op1 state``, written at every element; the accumulator keeps the last."""
    dst, src = call.tensor("dst"), call.tensor("src")
    rows = (src.partitions, src.free_elements)
    load, write = loader(src, rows), writer(dst.dtype)
    first = bind_step(call, str(call.scalar("op0")), "imm0", None, rows, np.dtype(np.float32))
    accumulator = Accumulator(call, src, str(call.scalar("op1")), "imm1")
    precision = call.precision

    def scan(registers: Registers, dst: Array, src: Array, imm0: Array | None, imm1: Array | None) -> None:
        value = first(load(src), imm0).astype(precision, copy=False)
        write(dst, accumulator.scan(registers, value, imm1))

    return scan


OPERATIONS: Final = (
    Operation(
        "tensor_scalar_cumulative",
        (
            Parameter("dst", ParameterKind.DESTINATION, dtypes=_DTYPES),
            source("src", dtypes=_DTYPES),
            operator("op0", operators_where("arithmetic")),
            operator("op1", _CUMULATIVE),
            operand("imm0"),
            operand("imm1", None),
            choice("reduce_cmd", "reset_reduce", "reduce", "load_reduce"),
        ),
        engines=("vector",),
        bind=_bind_cumulative,
        limits=(agree("dst", "src"), column("imm0", "imm1", of="src"), initial_value("imm1")),
        fidelity=operator_fidelity,
        source="nki.isa.tensor_scalar_cumulative, NKI 0.6; its cost is not documented",
    ),
)
