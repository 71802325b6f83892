"""The gpsimd engine: `iota`, `affine_select`, `tensor_partition_reduce`."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import destination, operator, source
from pipeline.emulator.operations.call import Call, Kernel, Registers
from pipeline.emulator.operations.conversion import Array, loader, writer
from pipeline.emulator.operations.limits import BITVEC_ON_INTEGERS, agree, describe
from pipeline.emulator.operations.operators import COMPARISONS, OPERATORS, PARTITION_REDUCTIONS
from pipeline.emulator.operations.reduction import sum_in_order
from pipeline.emulator.operations.registers import value_of
from pipeline.emulator.operations.table import Fidelity, Limit, Operation, Parameter, ParameterKind

__all__ = ["OPERATIONS"]

_SBUF: Final = frozenset({"sbuf"})
_START: Final = 150  # GPSIMD_START: cycles before the first element


def _pairs(call: Call) -> list[tuple[int, int]]:
    """Return ``pattern`` as (step, count) pairs, outermost first."""
    flat = call.scalar("pattern")
    values = flat if isinstance(flat, tuple) else ()
    return list(zip(values[::2], values[1::2], strict=False))


def _integer(call: Call, name: str) -> int:
    value = call.scalar(name)
    return value if isinstance(value, int) else 0


def _affine_values(call: Call, registers: Registers) -> Array:
    """Return ``offset + partition * channel_multiplier + pattern`` in 32-bit arithmetic, as int32 (P, F)."""
    value = np.zeros(1, np.int64)
    for step, count in _pairs(call):
        value = (value[:, None] + np.arange(count, dtype=np.int64) * step).reshape(-1)
    lanes = np.arange(call.tensor("dst").partitions, dtype=np.int64)
    total = lanes[:, None] * _integer(call, "channel_multiplier") + value
    return (total + value_of(call.scalar("offset"), registers)).astype(np.int32)


def _bind_iota(call: Call) -> Kernel:
    dst = call.tensor("dst")
    write = writer(dst.dtype)

    def iota(registers: Registers, dst: Array) -> None:
        # Generated per run: a bound kernel that kept its pattern would hold memory a program can multiply.
        write(dst, _affine_values(call, registers))

    return iota


def _bind_affine_select(call: Call) -> Kernel:
    dst, data = call.tensor("dst"), call.tensor("on_true_tile")
    compare: Any = OPERATORS[str(call.scalar("cmp_op"))].function
    other = call.scalar("on_false_value")
    number = call.precision.type(other if isinstance(other, int | float) else 0.0)
    same_type = DTYPES[dst.dtype].storage == DTYPES[data.dtype].storage
    load, write = loader(data, dst.shape), writer(dst.dtype)

    def select(registers: Registers, dst: Array, on_true_tile: Array) -> None:
        chosen = compare(_affine_values(call, registers), 0).reshape(dst.shape)
        if same_type:  # bit for bit, as wide integers do not survive float32
            kept = on_true_tile.reshape(dst.shape).copy()
            write(dst, np.full(dst.shape, number))
            np.copyto(dst, kept, where=chosen)
        else:
            write(dst, np.where(chosen, load(on_true_tile), number))

    return select


def _bind_partition_reduce(call: Call) -> Kernel:
    """Reduce across partitions, lowest partition first, into a single one."""
    dst, data = call.tensor("dst"), call.tensor("data")
    op = str(call.scalar("op"))
    rows = (data.partitions, data.free_elements)
    if op.startswith("bitwise"):
        function: Any = OPERATORS[op].function

        def bits(registers: object, dst: Array, data: Array) -> None:
            dst[...] = function.reduce(data.reshape(rows), axis=0).reshape(dst.shape)

        return bits
    load, write = loader(data, rows), writer(dst.dtype)

    def reduce(registers: object, dst: Array, data: Array) -> None:
        values = load(data)
        if op == "maximum":
            write(dst, values.max(axis=0))
            return
        total = sum_in_order(values.T)
        write(dst, total / np.float32(rows[0]) if op == "average" else total)

    return reduce


def _pattern(call: Call) -> Iterator[str]:
    dst = call.tensor("dst")
    pairs = _pairs(call)
    flat = call.scalar("pattern")
    if not isinstance(flat, tuple) or len(flat) % 2:
        yield f"pattern is {flat}, must be [step, count] pairs"
        return
    if not 1 <= len(pairs) <= 4:
        yield f"pattern has {len(pairs)} [step, count] pairs, must have 1 to 4"
    if any(count < 1 for _, count in pairs):
        yield f"pattern {[list(pair) for pair in pairs]} has a count below 1"
    elif prod(count for _, count in pairs) != dst.free_elements:
        yield (
            f"pattern {[list(pair) for pair in pairs]} yields {prod(count for _, count in pairs)} elements, "
            f"dst holds {dst.free_elements} per partition"
        )


def _affine_integers(call: Call) -> Iterator[str]:
    values = {"offset": call.scalar("offset"), "channel_multiplier": call.scalar("channel_multiplier")}
    if isinstance(values["offset"], tuple):  # a register, which holds an int32
        del values["offset"]
    for step, _ in _pairs(call):
        values[f"step {step} of pattern"] = step
    for name, value in values.items():
        if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 31:
            yield f"{name} is {value!r}, must be an int32: the pattern is computed in 32-bit integers"


def _single_partition(call: Call) -> Iterator[str]:
    dst, data = call.tensor("dst"), call.tensor("data")
    if (dst.partitions, dst.free_elements) != (1, data.free_elements):
        yield f"dst is {describe(dst)}, must be 1 partition x {data.free_elements} elements"


def _reduction_fidelity(call: Call) -> Fidelity:
    """In which order gpsimd adds, and whether integers exactly or through float32, is not documented."""
    return Fidelity.APPROXIMATE if call.scalar("op") in ("add", "average") else Fidelity.EXACT


def _pattern_cycles(call: Call) -> float:
    return float(_START + call.tensor("dst").free_elements)


#: It may be a register: NKI 0.4.0 release notes, dynamic register offsets of iota and affine_select.
_OFFSET: Final = Parameter("offset", ParameterKind.INDEX, 0)

OPERATIONS: Final = (
    Operation(
        "iota",
        (
            destination(buffers=_SBUF),
            Parameter("pattern", ParameterKind.INTEGERS),
            _OFFSET,
            Parameter("channel_multiplier", ParameterKind.NUMBER, 0),
        ),
        engines=("gpsimd",),
        bind=_bind_iota,
        cycles=_pattern_cycles,
        limits=(
            Limit("affine-pattern", _pattern, "nki.isa.iota docstring"),
            Limit("affine-integers", _affine_integers, "nki.isa.iota docstring"),
        ),
        source="nki.isa.iota, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "affine_select",
        (
            destination(buffers=_SBUF),
            Parameter("pattern", ParameterKind.INTEGERS),
            Parameter("channel_multiplier", ParameterKind.NUMBER),
            source("on_true_tile", _SBUF),
            Parameter("on_false_value", ParameterKind.NUMBER),
            Parameter("cmp_op", ParameterKind.OPERATOR, "equal", choices=COMPARISONS),
            _OFFSET,
        ),
        engines=("gpsimd",),
        bind=_bind_affine_select,
        cycles=_pattern_cycles,
        limits=(
            agree("dst", "on_true_tile"),
            Limit("affine-pattern", _pattern, "nki.isa.affine_select docstring"),
            Limit("affine-integers", _affine_integers, "nki.isa.affine_select docstring"),
        ),
        source="nki.isa.affine_select, NKI 0.6; facts/nki.md section 3.1",
    ),
    Operation(
        "tensor_partition_reduce",
        (destination(buffers=_SBUF), operator("op", PARTITION_REDUCTIONS), source("data", _SBUF)),
        engines=("gpsimd",),
        bind=_bind_partition_reduce,
        fidelity=_reduction_fidelity,
        limits=(
            BITVEC_ON_INTEGERS,
            Limit("partition-reduce-shape", _single_partition, "nki.isa.tensor_partition_reduce docstring"),
        ),
        source="nki.isa.tensor_partition_reduce, NKI 0.6; facts/nki.md section 4.1",
    ),
)
