"""The vector engine, choosing between values: `tensor_copy_predicated`, `select_reduce`, `range_select`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES, PACKED
from pipeline.emulator.operations.accumulator import (
    IDLE_RESULT,
    Accumulator,
    accumulator_fidelity,
)
from pipeline.emulator.operations.arguments import FLOATS, choice, destination, flag, operand, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import Array, broadcast_operand, loader, writer
from pipeline.emulator.operations.limits import agree, column, not_both_psum, per_partition
from pipeline.emulator.operations.operators import OPERATORS, operators_where
from pipeline.emulator.operations.table import (
    ALL_TARGETS,
    Fidelity,
    Limit,
    Operation,
    Parameter,
    ParameterKind,
    Severity,
)

__all__ = ["OPERATIONS"]

_RANGE_SELECT: Final = "nki.isa.range_select docstring, Constraints"
_PREDICATED: Final = "nki.isa.tensor_copy_predicated docstring, constraints 1 to 3"
#: The only value range_select can fill with, as documented: the least finite float32.
_FILL: Final = -3.4028235e38
#: Above it not every integer is a float32, and indices are compared as such.
_EXACT_INDICES: Final = 1 << 24
_ORDERINGS: Final = frozenset({"equal", "less", "less_equal", "greater", "greater_equal"})
_MAXIMUM: Final = Parameter(
    "reduce_op",
    ParameterKind.OPERATOR,
    "maximum",
    choices=frozenset({"maximum"}) | operators_where("refused"),
)


def _bind_copy_predicated(call: Call) -> Kernel:
    """Copy bit for bit, as the types are the same, where the predicate is not zero."""
    dst, tile = call.tensor("dst"), call.operand("src")
    reverse = bool(call.scalar("reverse_pred"))
    write = writer(dst.dtype)
    number = call.scalar("src")
    constant = np.empty((), DTYPES[dst.dtype].storage)
    if tile is None:
        write(constant, np.full(1, number if isinstance(number, int | float) else 0.0))

    def copy(registers: object, dst: Array, src: Array | None, predicate: Array) -> None:
        chosen = predicate.reshape(dst.shape)
        value = constant if src is None else src.reshape(dst.shape)
        np.copyto(dst, value, where=(chosen == 0) if reverse else (chosen != 0))

    return copy


def _one_type(call: Call) -> Iterator[str]:
    dst, tile = call.tensor("dst"), call.operand("src")
    if tile is not None and tile.dtype != dst.dtype:
        yield (
            f"src is {tile.dtype}, dst is {dst.dtype}: this instruction converts nothing; convert src first "
            "(nisa.tensor_copy), or use nisa.select_reduce"
        )


def _source_shape(call: Call) -> Iterator[str]:
    if call.operand("src") is not None:
        yield from agree("dst", "src").check(call)


def _predicated_psum(call: Call) -> Iterator[str]:
    if call.operand("src") is not None:
        yield from not_both_psum("src", "predicate").check(call)


def _predicated_cycles(call: Call) -> float:
    """N with source and predicate split over SBUF and PSUM, else 2N."""
    tile, predicate = call.operand("src"), call.tensor("predicate")
    split = tile is not None and tile.memory != predicate.memory
    return max(64, call.tensor("dst").free_elements * (1 if split else 2))


def _bind_select_reduce(call: Call) -> Kernel:
    dst, chosen, other = call.tensor("dst"), call.tensor("on_true"), call.operand("on_false")
    load, write = loader(chosen, dst.shape), writer(dst.dtype)
    fill = broadcast_operand(other, call.scalar("on_false"), dst.shape, call.precision)
    accumulator = Accumulator(call, chosen, "maximum")
    reverse = bool(call.scalar("reverse_pred"))

    def select(
        registers: Registers,
        dst: Array,
        predicate: Array,
        on_true: Array,
        on_false: Array | None,
        reduce_res: Array | None,
    ) -> None:
        mask = predicate.reshape(dst.shape) != 0
        value = np.where(~mask if reverse else mask, load(on_true), fill(on_false))
        accumulator.fold(registers, value)
        write(dst, value)
        accumulator.drain(registers, reduce_res)

    return select


def _bind_range_select(call: Call) -> Kernel:
    dst, data = call.tensor("dst"), call.tensor("on_true_tile")
    load, write = loader(data, (data.partitions, data.free_elements)), writer(dst.dtype)
    compare0: Any = OPERATORS[str(call.scalar("comp_op0"))].function
    compare1: Any = OPERATORS[str(call.scalar("comp_op1"))].function
    start = call.scalar("range_start")
    first = start if isinstance(start, int) else 0
    accumulator = Accumulator(call, data, "maximum")

    def select(
        registers: Registers, dst: Array, on_true_tile: Array, bound0: Array, bound1: Array, res: Array | None
    ) -> None:
        # Generated per run: a bound kernel that kept them would hold memory a program can multiply.
        indices = (first + np.arange(data.free_elements, dtype=np.int64)).astype(np.float32)
        inside = compare0(indices, bound0.reshape(-1, 1)) & compare1(indices, bound1.reshape(-1, 1))
        value = np.where(inside, load(on_true_tile), np.float32(_FILL))
        accumulator.fold(registers, value)
        write(dst, value)
        accumulator.drain(registers, res)

    return select


def _fill_value(call: Call) -> Iterator[str]:
    value = call.scalar("on_false_value")
    with np.errstate(over="ignore"):
        fits = isinstance(value, int | float) and np.float32(value) == np.float32(_FILL)
    if not fits:
        yield (
            f"on_false_value is {value!r}, must be the least finite float32, {_FILL:.8g}: the hardware fills "
            "with nothing else; leave it out, or use nisa.select_reduce"
        )


def _range_start(call: Call) -> Iterator[str]:
    start = call.scalar("range_start")
    if not isinstance(start, int):
        yield f"range_start is {start!r}, must be a compile-time integer"


def _range_indices(call: Call) -> Iterator[str]:
    start = call.scalar("range_start")
    if not isinstance(start, int):
        return
    last = start + call.tensor("on_true_tile").free_elements - 1
    if max(abs(start), abs(last)) > _EXACT_INDICES:
        yield (
            f"compares indices {start} to {last} as float32, which is exact up to {_EXACT_INDICES} (2^24): "
            "subtract a base from range_start and from the bounds"
        )


def _maximum_fidelity(call: Call) -> Fidelity:
    return accumulator_fidelity(call, "maximum")


def _row_cycles(call: Call) -> float:
    return max(64, call.tensor("dst").free_elements)


def _predicate(*dtypes: str) -> Parameter:
    return source("predicate", dtypes=frozenset(dtypes))


def _comparison(name: str) -> Parameter:
    return Parameter(name, ParameterKind.OPERATOR, choices=_ORDERINGS | operators_where("refused"))


OPERATIONS: Final = (
    Operation(
        "tensor_copy_predicated",
        (
            Parameter("dst", ParameterKind.UPDATED),
            operand("src", dtypes=frozenset()),
            _predicate("uint8", "uint16", "uint32"),
            flag("reverse_pred"),
        ),
        engines=("vector",),
        bind=_bind_copy_predicated,
        cycles=_predicated_cycles,
        limits=(
            agree("dst", "predicate"),
            Limit("shape-agreement", _source_shape, _PREDICATED),
            Limit("predicated-dtype", _one_type, _PREDICATED),
            Limit("two-psum-inputs", _predicated_psum, _PREDICATED),
        ),
        source="nki.isa.tensor_copy_predicated, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "select_reduce",
        (
            destination(),
            _predicate("int8", "uint8", "int16", "uint16"),
            source("on_true", dtypes=frozenset(DTYPES) - PACKED - {"tfloat32", "int32", "uint32"}),
            operand("on_false", dtypes=frozenset()),
            Parameter("reduce_res", ParameterKind.DESTINATION, None, dtypes=FLOATS),
            choice("reduce_cmd", "idle", "reduce", "reset_reduce"),
            _MAXIMUM,
            flag("reverse_pred"),
        ),
        engines=("vector",),
        bind=_bind_select_reduce,
        limits=(
            agree("dst", "predicate", "on_true"),
            column("on_false", of="on_true"),
            per_partition("reduce_res", of="on_true", elements=1),
            not_both_psum("on_true", "predicate"),
            IDLE_RESULT,
        ),
        fidelity=_maximum_fidelity,
        source="nki.isa.select_reduce, NKI 0.6; its cost is not documented",
    ),
    Operation(
        "range_select",
        (
            destination(),
            source("on_true_tile", dtypes=FLOATS),
            _comparison("comp_op0"),
            _comparison("comp_op1"),
            source("bound0", dtypes=frozenset({"float32"})),
            source("bound1", dtypes=frozenset({"float32"})),
            choice("reduce_cmd", "reset_reduce", "idle", "reset", "reduce"),
            destination("reduce_res", optional=True),
            _MAXIMUM,
            Parameter("range_start", ParameterKind.NUMBER, 0),
            Parameter("on_false_value", ParameterKind.NUMBER, _FILL),
        ),
        engines=("vector",),
        bind=_bind_range_select,
        cycles=_row_cycles,
        limits=(
            agree("dst", "on_true_tile"),
            column("bound0", "bound1", of="on_true_tile"),
            per_partition("reduce_res", of="on_true_tile", elements=1),
            Limit("range-fill", _fill_value, _RANGE_SELECT),
            Limit("range-start", _range_start, _RANGE_SELECT),
            Limit("range-indices", _range_indices, _RANGE_SELECT, severity=Severity.WARNING),
            IDLE_RESULT,
        ),
        fidelity=_maximum_fidelity,
        targets=ALL_TARGETS - {"trn1"},
        source="nki.isa.range_select, NKI 0.6; facts/nki.md section 3.1",
    ),
)
