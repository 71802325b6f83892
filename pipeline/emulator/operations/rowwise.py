"""The vector engine, along the free dimension: reductions and scans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.accumulator import Accumulator, accumulator_fidelity, initial_value
from pipeline.emulator.operations.arguments import choice, destination, flag, operand, operator, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import FLOAT32, Array, broadcast_operand, loader, writer
from pipeline.emulator.operations.elementwise import OPERAND_TYPES, bind_step, operator_fidelity
from pipeline.emulator.operations.limits import (
    BITVEC_ON_INTEGERS,
    agree,
    column,
    describe,
    not_both_psum,
    per_partition,
)
from pipeline.emulator.operations.operators import OPERATORS, operators_where
from pipeline.emulator.operations.reduction import reduce_rows
from pipeline.emulator.operations.table import Fidelity, Limit, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

_ARITHMETIC: Final = operators_where("arithmetic")
_ARITHMETIC_OR_UNARY: Final = operators_where("arithmetic", "unary")
_REDUCIBLE: Final = operators_where("arithmetic", "bitvec", reducible=True)
_ACCUMULATING: Final = frozenset({"add", "multiply", "maximum", "minimum"})
_SEQUENTIAL_COLUMNS: Final = 128


def _reduced_axes(call: Call) -> tuple[int, ...]:
    """Return the reduced axes, counted from 0, ascending."""
    rank = len(call.tensor("data").shape)
    axis = call.scalar("axis")
    axes = axis if isinstance(axis, tuple) else (axis if isinstance(axis, int) else 0,)
    return tuple(sorted({a + rank if a < 0 else a for a in axes}))


def _reduced_columns(call: Call) -> int:
    """Return how many elements of one partition go into one result."""
    columns = 1
    for axis in _reduced_axes(call):
        columns *= call.tensor("data").shape[axis]
    return columns


def _bind_tensor_reduce(call: Call) -> Kernel:
    """Reduce the last free axes, strictly in element order, in float32 or on bit patterns."""
    dst, data = call.tensor("dst"), call.tensor("data")
    op = str(call.scalar("op"))
    columns = _reduced_columns(call)
    rows = (data.elements // columns, columns)
    negate = bool(call.scalar("negate"))
    if OPERATORS[op].family == "bitvec":

        def bits(registers: object, dst: Array, data: Array) -> None:
            dst[...] = reduce_rows(op, data.reshape(rows)).reshape(dst.shape)

        return bits
    load, write = loader(data, rows), writer(dst.dtype)

    def run(registers: object, dst: Array, data: Array) -> None:
        result = reduce_rows(op, load(data))
        write(dst, -result if negate else result)

    return run


def _reduce_fidelity(call: Call) -> Fidelity:
    """Exact where the order of the elements cannot matter, or is known to be that of the elements.

    One public record shows the latter, bit for bit: float32 sums of 128 elements on trn1
    (facts/nki_bug_reports.md 49).
    """
    if str(call.scalar("op")) not in ("add", "subtract", "multiply"):
        return operator_fidelity(call)
    shown = (
        call.scalar("op") == "add"
        and call.target.name == "trn1"
        and call.tensor("data").dtype == "float32"
        and _reduced_columns(call) <= _SEQUENTIAL_COLUMNS
    )
    return Fidelity.EXACT if shown else Fidelity.APPROXIMATE


def _reduce_cycles(call: Call) -> float:
    """N; half of it where everything is bfloat16 and the operator add or maximum."""
    data, dst = call.tensor("data"), call.tensor("dst")
    fast = data.dtype == dst.dtype == "bfloat16" and call.scalar("op") in ("add", "maximum")
    return data.free_elements / (2 if fast else 1)


def _reduce_axes(call: Call) -> Iterator[str]:
    data, dst = call.tensor("data"), call.tensor("dst")
    rank = len(data.shape)
    axes = _reduced_axes(call)
    if not axes or axes[0] < 1 or axes != tuple(range(rank - len(axes), rank)):
        yield (
            f"axis {call.scalar('axis')} of a {rank}-dimensional tile: reduce the last free dimensions, "
            f"ending at {rank - 1}; partitions are reduced by a matmul with ones or after a transpose"
        )
        return
    kept = data.free_elements // _reduced_columns(call)
    if (dst.partitions, dst.free_elements) != (data.partitions, kept):
        yield f"dst is {describe(dst)}, must be {data.partitions} partitions x {kept} elements"


def _negate_bits(call: Call) -> Iterator[str]:
    if call.scalar("negate") and OPERATORS[str(call.scalar("op"))].family == "bitvec":
        yield "negate applies to arithmetic operators only"


def _bind_tensor_scalar_reduce(call: Call) -> Kernel:
    """``dst = data op0 operand0`` and its row reduction through the vector engine's accumulator."""
    dst, data = call.tensor("dst"), call.tensor("data")
    first = bind_step(call, str(call.scalar("op0")), "operand0", "reverse0", dst.shape, FLOAT32)
    load, write = loader(data, dst.shape), writer(dst.dtype)
    accumulator = Accumulator(call, data, str(call.scalar("reduce_op")), "reduce_init")
    precision = call.precision
    negate = bool(call.scalar("reduce_res_negate"))

    def run(
        registers: Registers,
        dst: Array,
        data: Array,
        operand0: Array | None,
        reduce_res: Array | None,
        reduce_init: Array | None,
    ) -> None:
        value = first(load(data), operand0).astype(precision, copy=False)
        accumulator.fold(registers, value, reduce_init)
        write(dst, value)
        accumulator.drain(registers, reduce_res, negate=negate)

    return run


def _reverse(call: Call) -> Iterator[str]:
    if call.scalar("reverse0"):
        yield "reverse0 is not supported by tensor_scalar_reduce: rewrite op0"


def _scalar_reduce_fidelity(call: Call) -> Fidelity:
    accumulated = accumulator_fidelity(call, str(call.scalar("reduce_op")))
    return accumulated if accumulated is not Fidelity.EXACT else operator_fidelity(call)


def _bind_scan(call: Call) -> Kernel:
    """``r[i] = (data0[i] op0 r[i-1]) op1 data1[i]``, state in float32, rounded only when written."""
    dst, data0, data1 = call.tensor("dst"), call.tensor("data0"), call.tensor("data1")
    rows = (data0.partitions, data0.free_elements)
    op0: Any = OPERATORS[str(call.scalar("op0"))].function
    op1: Any = OPERATORS[str(call.scalar("op1"))].function
    reverse0, reverse1 = bool(call.scalar("reverse0")), bool(call.scalar("reverse1"))
    load0, load1, write = loader(data0, rows), loader(data1, rows), writer(dst.dtype)
    precision = call.precision
    initial = broadcast_operand(call.operand("initial"), call.scalar("initial"), (rows[0],), precision)

    def scan(registers: object, dst: Array, data0: Array, data1: Array, initial_tile: Array | None) -> None:
        first = np.ascontiguousarray(load0(data0).T)
        second = np.ascontiguousarray(load1(data1).T)
        result = np.empty((rows[1], rows[0]), precision)
        state = np.broadcast_to(initial(initial_tile), (rows[0],))
        for step_index in range(rows[1]):
            step = op0(state, first[step_index]) if reverse0 else op0(first[step_index], state)
            result[step_index] = op1(second[step_index], step) if reverse1 else op1(step, second[step_index])
            state = result[step_index]
        write(dst, result.T)

    return scan


def _scan_fidelity(call: Call) -> Fidelity:
    """The documented loop keeps the state in the type of ``data0``, its prose says float32."""
    level = operator_fidelity(call)
    narrow = DTYPES[call.tensor("data0").dtype].storage != FLOAT32
    return Fidelity.APPROXIMATE if narrow and level is Fidelity.EXACT else level


def _double_row_cycles(call: Call) -> float:
    return max(64, 2 * call.tensor("dst").free_elements)


OPERATIONS: Final = (
    Operation(
        "tensor_reduce",
        (
            destination(),
            operator("op", _REDUCIBLE),
            source("data"),
            Parameter("axis", ParameterKind.INTEGERS),
            flag("negate"),
            flag("keepdims"),
        ),
        engines=("vector",),
        bind=_bind_tensor_reduce,
        cycles=_reduce_cycles,
        limits=(
            Limit("reduce-axis", _reduce_axes, "nki.isa.tensor_reduce docstring"),
            Limit("reduce-negate", _negate_bits, "nki.isa.tensor_reduce docstring"),
            BITVEC_ON_INTEGERS,
        ),
        fidelity=_reduce_fidelity,
        source="nki.isa.tensor_reduce, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "tensor_scalar_reduce",
        (
            destination(),
            source("data"),
            operator("op0", _ARITHMETIC_OR_UNARY),
            operand("operand0", nullable=True),
            operator("reduce_op", _ACCUMULATING),
            destination("reduce_res", optional=True),
            flag("reverse0"),
            replace(choice("reduce_cmd", "reset_reduce", "reduce", "load_reduce"), since="0.4"),
            replace(operand("reduce_init", None), since="0.4"),
            replace(flag("reduce_res_negate"), since="0.6"),
        ),
        engines=("vector",),
        bind=_bind_tensor_scalar_reduce,
        cycles=lambda call: max(64, call.tensor("data").free_elements) + 64.0,
        limits=(
            agree("dst", "data"),
            column("operand0", "reduce_init", of="data"),
            per_partition("reduce_res", of="data", elements=1),
            OPERAND_TYPES,
            initial_value("reduce_init"),
            Limit("reduce-command", _reverse, "nki.isa.tensor_scalar_reduce docstring"),
        ),
        fidelity=_scalar_reduce_fidelity,
        source="nki.isa.tensor_scalar_reduce, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "tensor_tensor_scan",
        (
            destination(),
            source("data0"),
            source("data1"),
            operand("initial", dtypes=frozenset()),
            operator("op0", _ARITHMETIC),
            operator("op1", _ARITHMETIC),
            flag("reverse0"),
            flag("reverse1"),
        ),
        engines=("vector",),
        bind=_bind_scan,
        cycles=_double_row_cycles,
        limits=(
            agree("dst", "data0", "data1"),
            column("initial", of="data0"),
            not_both_psum("data0", "data1"),
        ),
        fidelity=_scan_fidelity,
        source="nki.isa.tensor_tensor_scan, NKI 0.6; facts/nki.md section 3.1",
    ),
)
