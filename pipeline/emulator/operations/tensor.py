"""The tensor engine: `nc_matmul`, `nc_transpose` (which the vector engine also has)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import ENGINE, FLOATS, choice, destination, flag, source
from pipeline.emulator.operations.call import Call, Kernel, Operand
from pipeline.emulator.operations.conversion import FLOAT32, Array, loader, writer
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.table import Limit, Operation, Parameter, ParameterKind, Severity

if TYPE_CHECKING:
    from pipeline.emulator.program import Scalar

__all__ = ["OPERATIONS"]

_SBUF: Final = frozenset({"sbuf"})
_PSUM: Final = frozenset({"psum"})
_FULL_PRECISION: Final = frozenset({"float32", "tfloat32"})
_FP8: Final = frozenset({"float8_e4m3", "float8_e4m3fn", "float8_e5m2"})
_EARLY: Final = frozenset({"trn1", "trn2"})
_DOCSTRING: Final = "nki.isa.nc_matmul docstring, NKI 0.6 (facts/nki.md section 2.5)"


def _contraction(operand: Operand, call: Call) -> int:
    """Return the length of the contracted dimension."""
    rows = operand.partitions
    return rows * 2 if call.scalar("perf_mode") == "double_row" else rows


def _columns(operand: Operand, call: Call) -> int:
    """Return the elements per partition that are not contracted."""
    return operand.elements // _contraction(operand, call)


def _bind_matmul(call: Call) -> Kernel:
    """``dst (+)= stationary.T @ moving`` in float32, products and sums rounded as BLAS rounds them.

    tfloat32 operands lose their 13 low mantissa bits first. Accumulation reads the old value, adds in float32
    and rounds once to the destination type. In transpose mode, from NeuronCore-v3 on, an identity moves the
    bits of ``stationary`` untouched: NaN and infinities do not spread as a product would spread them.
    """
    dst, stationary, moving = call.tensor("dst"), call.tensor("stationary"), call.tensor("moving")
    load_stationary, load_moving = _matrix_loader(stationary, call), _matrix_loader(moving, call)
    accumulate = bool(call.scalar("accumulate"))
    matrix = (_columns(stationary, call), _columns(moving, call))
    write = writer(dst.dtype)

    def overwrite(registers: object, dst: Array, stationary: Array, moving: Array) -> None:
        np.matmul(load_stationary(stationary).T, load_moving(moving), out=dst)

    def add(registers: object, dst: Array, stationary: Array, moving: Array) -> None:
        dst += load_stationary(stationary).T @ load_moving(moving)

    def convert(registers: object, dst: Array, stationary: Array, moving: Array) -> None:
        value = (load_stationary(stationary).T @ load_moving(moving)).reshape(dst.shape)
        write(dst, value + dst.astype(np.float32) if accumulate else value)

    product = convert
    if DTYPES[dst.dtype].storage == FLOAT32 and dst.shape == matrix:
        product = add if accumulate else overwrite
    same_type = DTYPES[dst.dtype].storage == DTYPES[stationary.dtype].storage
    if not call.scalar("is_transpose") or accumulate or not same_type or call.target.name == "trn1":
        return product
    square = (stationary.partitions, stationary.partitions)
    if matrix[1] != square[0] or moving.elements != square[0] * square[1]:
        return product

    def move(registers: object, dst: Array, stationary: Array, moving: Array) -> None:
        if np.array_equal(load_moving(moving), np.eye(square[0], dtype=np.float32)):
            dst[...] = stationary.reshape(square[0], -1).T.reshape(dst.shape)
        else:
            product(registers, dst, stationary, moving)

    return move


def _matrix_loader(operand: Operand, call: Call) -> Callable[[Array], Array]:
    """Return a function from an operand's array to a float32 (contraction, columns) matrix."""
    matrix = (_contraction(operand, call), _columns(operand, call))
    load = loader(operand, matrix)
    if operand.dtype != "tfloat32":
        return load

    def truncate(array: Array) -> Array:
        bits = load(array).astype(np.float32).view(np.uint32)
        return (bits & np.uint32(0xFFFFE000)).view(np.float32)

    return truncate


def _bind_transpose(call: Call) -> Kernel:
    """Move bits; the tensor engine of NeuronCore-v2 multiplies by an identity instead, which spreads NaN."""
    dst, data = call.tensor("dst"), call.tensor("data")
    matrix = (data.partitions, data.free_elements)
    same_type = DTYPES[dst.dtype].storage == DTYPES[data.dtype].storage
    write = writer(dst.dtype)

    def multiply(registers: object, dst: Array, data: Array) -> None:
        write(dst, data.reshape(matrix).T.astype(np.float32) @ np.eye(matrix[0], dtype=np.float32))

    if call.engine == "tensor" and call.target.name == "trn1" and DTYPES[data.dtype].is_float:
        return multiply

    def transpose(registers: object, dst: Array, data: Array) -> None:
        turned = data.reshape(matrix).T
        if same_type:
            dst[...] = turned.reshape(dst.shape)
        else:
            write(dst, turned.astype(np.float32))

    return transpose


def _choose_transpose_engine(
    dtypes: Sequence[str | None], memories: Sequence[str | None], scalars: Sequence[Scalar]
) -> str:
    # By the destination alone (NKI 0.4.0 release notes, bug fixes).
    return "tensor" if memories[0] == "psum" else "vector"


def _sizes(call: Call) -> Iterator[str]:
    dst, stationary, moving = call.tensor("dst"), call.tensor("stationary"), call.tensor("moving")
    rows, columns = _columns(stationary, call), _columns(moving, call)
    if stationary.partitions != moving.partitions:
        yield (
            f"stationary has {stationary.partitions} partitions, moving {moving.partitions}: the contraction "
            "dimension lies on the partitions of both and must be equal"
        )
    if rows > 128:
        yield f"stationary has {rows} free elements, limit 128 (gemm_stationary_fmax): tile it"
    if call.target.matmul_moving_max == 512:
        limit = 512
    else:
        limit = call.target.matmul_moving_max * (2 if dst.dtype == "bfloat16" else 1)
    if columns > limit:
        yield (
            f"moving has {columns} free elements, limit {limit} on {call.target.name} with a {dst.dtype} "
            "destination: tile the free dimension (nl.tile_size.gemm_moving_fmax)"
        )
    if (dst.partitions, dst.free_elements) != (rows, columns):
        yield (
            f"dst is {describe(dst)}, but stationary.T @ moving is ({rows}, {columns}): dst's partitions are "
            "stationary's free size, its free size is moving's"
        )


def _dtypes(call: Call) -> Iterator[str]:
    stationary, moving = call.tensor("stationary").dtype, call.tensor("moving").dtype
    if (stationary in _FULL_PRECISION) != (moving in _FULL_PRECISION):
        yield f"stationary is {stationary}, moving {moving}: float32/tfloat32 pair only with each other"
    if {stationary, moving} == {"float8_e4m3", "float8_e4m3fn"}:
        yield "float8_e4m3 and float8_e4m3fn cannot be mixed in one matmul"


def _destination_dtype(call: Call) -> Iterator[str]:
    dst, stationary = call.tensor("dst").dtype, call.tensor("stationary").dtype
    if call.scalar("is_transpose"):
        return
    allowed = ("float32",) if call.target.name in _EARLY else ("float32", "bfloat16")
    if dst not in allowed:
        yield (
            f"dst is {dst} for {stationary} operands, must be {' or '.join(allowed)} on {call.target.name}: "
            "PSUM accumulates in float32; round when copying out"
        )


def _bank(call: Call) -> Iterator[str]:
    dst = call.tensor("dst")
    bank = call.target.psum_bank_bytes
    if dst.first_byte // bank != dst.last_byte // bank:
        yield (
            f"dst spans bytes {dst.first_byte} to {dst.last_byte} of its partition, across a PSUM bank "
            f"boundary: one matmul writes one {bank}-byte bank (512 float32); tile the free dimension"
        )


def _tiling(call: Call) -> Iterator[str]:
    """Rows and columns alike, as the prose of the docstring has it and public kernels use it; its parameter
    texts still allow row tiles only."""
    position, size = call.scalar("tile_position"), call.scalar("tile_size")
    if not position and not size:
        return
    if not (isinstance(position, tuple) and isinstance(size, tuple) and len(position) == len(size) == 2):
        yield "tile_position and tile_size must both be given, as (row, column) pairs"
        return
    allowed = (64, 128) if call.target.name == "trn1" else (32, 64, 128)
    stationary = call.tensor("stationary")
    extents = (stationary.partitions, _columns(stationary, call))
    for what, start, length, extent in zip(("row", "column"), position, size, extents, strict=True):
        if length not in allowed:
            yield f"tile_size {what}s {length}, must be one of {allowed} on {call.target.name}"
        elif start % length or not 0 <= start <= 128 - length:
            yield f"tile_position {what} {start} must be a multiple of the tile's {length} {what}s below 128"
        if extent > length:
            part = "partitions" if what == "row" else "free elements"
            yield f"stationary has {extent} {part}, the tile {length} {what}s"
    if call.scalar("perf_mode") == "double_row" and size[1] != 128:
        yield f"perf_mode=double_row cannot be combined with column tiles of {size[1]}: use 128 columns"


def _double_row(call: Call) -> Iterator[str]:
    if call.scalar("perf_mode") != "double_row":
        return
    if call.target.name == "trn1":
        yield "perf_mode=double_row exists from NeuronCore-v3 on"
    if call.scalar("is_transpose"):
        yield "perf_mode=double_row cannot be combined with is_transpose: leave one out"
    for name in ("stationary", "moving"):
        operand = call.tensor(name)
        if operand.dtype not in _FP8:
            yield f"{name} is {operand.dtype}: double_row needs 8-bit floats"
        if len(operand.shape) < 3 or operand.shape[1] != 2:
            yield f"{name} has shape {list(operand.shape)}: double_row contracts over [128, 2, free]"


def _transpose_flag(call: Call) -> Iterator[str]:
    dst, stationary = call.tensor("dst").dtype, call.tensor("stationary").dtype
    if call.scalar("is_transpose") and dst != stationary:
        yield (
            f"is_transpose copies bits from NeuronCore-v3 on: dst is {dst}, stationary {stationary}; use the "
            "same dtype"
        )


def _transpose_sizes(call: Call) -> Iterator[str]:
    dst, data = call.tensor("dst"), call.tensor("data")
    limit = 128 if call.engine == "tensor" else 32
    if data.partitions > limit or data.free_elements > limit:
        yield (
            f"data is {describe(data)}, limit {limit} x {limit} on the {call.engine} engine: transpose "
            f"{limit} x {limit} blocks"
            + ("" if limit == 128 else " or use engine=tensor with a PSUM destination")
        )
    if (dst.partitions, dst.free_elements) != (data.free_elements, data.partitions):
        yield f"dst is {describe(dst)}, must be {data.free_elements} partitions x {data.partitions} elements"


def _transpose_memories(call: Call) -> Iterator[str]:
    memories = (call.tensor("data").memory, call.tensor("dst").memory)
    if call.engine == "tensor" and memories != ("sbuf", "psum"):
        yield (
            f"the tensor engine transposes from SBUF to PSUM, not from {memories[0]} to {memories[1]}: pass "
            "engine=nisa.engine.vector for blocks of at most 32 x 32"
        )


def _transpose_dtype(call: Call) -> Iterator[str]:
    dst, data = call.tensor("dst").dtype, call.tensor("data").dtype
    if dst != data:
        yield f"dst is {dst}, data {data}: a transpose keeps the dtype"


def _matmul_cycles(call: Call) -> float:
    """Passes x max(min(64, stationary columns), moving columns); float32 takes four passes."""
    stationary, moving = call.tensor("stationary"), call.tensor("moving")
    cycles = max(min(64, _columns(stationary, call)), _columns(moving, call))
    return 4 * cycles if "float32" in (stationary.dtype, moving.dtype) else cycles


def _transpose_cycles(call: Call) -> float:
    data = call.tensor("data")
    if call.engine == "tensor":
        return max(data.partitions, min(64, data.free_elements))
    return max(64, data.free_elements)


OPERATIONS: Final = (
    Operation(
        "nc_matmul",
        (
            Parameter("dst", ParameterKind.ACCUMULATOR, buffers=_PSUM),
            source("stationary", _SBUF, FLOATS),
            source("moving", _SBUF, FLOATS),
            flag("is_stationary_onezero"),
            flag("is_moving_onezero"),
            flag("is_transpose"),
            # The frontend resolves None while tracing; a program holds True or False.
            Parameter("accumulate", ParameterKind.FLAG, None),
            Parameter("tile_position", ParameterKind.INTEGERS, ()),
            Parameter("tile_size", ParameterKind.INTEGERS, ()),
            choice("perf_mode", "none", "double_row"),
        ),
        engines=("tensor",),
        bind=_bind_matmul,
        cycles=_matmul_cycles,
        limits=(
            Limit("matmul-size", _sizes, _DOCSTRING),
            Limit("matmul-dtypes", _dtypes, _DOCSTRING),
            Limit("matmul-destination-dtype", _destination_dtype, _DOCSTRING),
            Limit("matmul-bank", _bank, _DOCSTRING, _EARLY),
            Limit("matmul-tiling", _tiling, _DOCSTRING),
            Limit("matmul-double-row", _double_row, _DOCSTRING),
            Limit("matmul-transpose-dtype", _transpose_flag, _DOCSTRING, frozenset({"trn2", "trn3"})),
        ),
        source="nki.isa.nc_matmul, NKI 0.6; facts/nki.md sections 2.5 and 3.1",
    ),
    Operation(
        "nc_transpose",
        (destination(), source("data"), ENGINE),
        engines=("tensor", "vector"),
        bind=_bind_transpose,
        choose_engine=_choose_transpose_engine,
        cycles=_transpose_cycles,
        limits=(
            Limit("transpose-size", _transpose_sizes, "nki.isa.nc_transpose docstring, Tile size"),
            Limit("transpose-memory", _transpose_memories, "nki.isa.nc_transpose docstring, Memory types"),
            Limit(
                "transpose-dtype",
                _transpose_dtype,
                "nki.isa.nc_transpose docstring; on NeuronCore-v2 kernels in the field convert "
                "(emulator_findings.md 5)",
                frozenset({"trn2", "trn3"}),
                Severity.WARNING,
            ),
        ),
        source="nki.isa.nc_transpose, NKI 0.6; facts/nki.md sections 2.7 and 3.1",
    ),
)
