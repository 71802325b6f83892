"""The tensor engine: `nc_matmul`, and what it shares with the other products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

import numpy as np

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.operations.arguments import FLOATS, choice, flag, source
from pipeline.emulator.operations.call import Call, Kernel, Operand
from pipeline.emulator.operations.conversion import FLOAT32, Array, loader, writer
from pipeline.emulator.operations.limits import describe
from pipeline.emulator.operations.table import Fidelity, Limit, Operation, Parameter, ParameterKind, Severity

__all__ = [
    "EIGHT_BITS",
    "OPERATIONS",
    "bind_product",
    "engine_tile",
    "identity_matrix",
    "incomplete_tile",
    "pass_cycles",
    "product_sizes",
]

_SBUF: Final = frozenset({"sbuf"})
_PSUM: Final = frozenset({"psum"})
_FULL_PRECISION: Final = frozenset({"float32", "tfloat32"})
#: Types that the transpose mode of the tensor engine widens to 16 bits.
EIGHT_BITS: Final = frozenset({"float8_e4m3", "float8_e4m3fn", "float8_e5m2"})
_EARLY: Final = frozenset({"trn1", "trn2"})
_MOVES: Final = frozenset({"trn2", "trn3"})
_DOCSTRING: Final = "nki.isa.nc_matmul docstring, NKI 0.6 (facts/nki.md section 2.5)"
_ROWS: Final = 128
_MANTISSA_OF_TFLOAT32: Final = np.uint32(0xFFFFE000)


def _contraction(operand: Operand, call: Call) -> int:
    """Return the length of the contracted dimension."""
    rows = operand.partitions
    return rows * 2 if call.scalar("perf_mode") == "double_row" else rows


def _columns(operand: Operand, call: Call) -> int:
    """Return the elements per partition that are not contracted."""
    return operand.elements // _contraction(operand, call)


def bind_product(
    dst: Operand, columns: tuple[int, int], accumulate: bool
) -> Callable[[Array, Array, Array], None]:
    """Return ``f(dst, left, right)``: ``dst (+)= left.T @ right`` in float32.

    Products and sums are rounded as BLAS rounds them. Accumulation reads the old value, adds in float32 and
    rounds once to the destination type.

    Args:
        dst: The destination.
        columns: Columns of the two (contraction, columns) matrices.
        accumulate: Whether to add.
    """
    if DTYPES[dst.dtype].storage == FLOAT32 and dst.shape == columns:
        return _add if accumulate else _overwrite
    write = writer(dst.dtype)

    def convert(dst: Array, left: Array, right: Array) -> None:
        value = (left.T @ right).reshape(dst.shape)
        write(dst, value + dst.astype(value.dtype) if accumulate else value)

    return convert


@cache
def identity_matrix(rows: int) -> Array:
    """Return a float32 identity, shared and read-only."""
    identity = np.eye(rows, dtype=np.float32)
    identity.flags.writeable = False
    return identity


def _overwrite(dst: Array, left: Array, right: Array) -> None:
    np.matmul(left.T, right, out=dst)


def _add(dst: Array, left: Array, right: Array) -> None:
    dst += left.T @ right


def _bind_matmul(call: Call) -> Kernel:
    """``dst (+)= stationary.T @ moving``; tfloat32 operands lose their 13 low mantissa bits first.

    In transpose mode, from NeuronCore-v3 on, an identity moves the bits of ``stationary`` untouched: NaN and
    infinities do not spread as a product would spread them. Eight-bit elements arrive in the low half of
    16-bit ones.
    """
    dst, stationary, moving = call.tensor("dst"), call.tensor("stationary"), call.tensor("moving")
    load_stationary, load_moving = _matrix_loader(stationary, call), _matrix_loader(moving, call)
    accumulate = bool(call.scalar("accumulate"))
    columns = (_columns(stationary, call), _columns(moving, call))
    product = bind_product(dst, columns, accumulate)

    def multiply(registers: object, dst: Array, stationary: Array, moving: Array) -> None:
        product(dst, load_stationary(stationary), load_moving(moving))

    widens = stationary.dtype in EIGHT_BITS and DTYPES[dst.dtype].itemsize == 2
    same_type = DTYPES[dst.dtype].storage == DTYPES[stationary.dtype].storage
    moves = call.scalar("is_transpose") and call.target.name in _MOVES and (same_type or widens)
    rows = stationary.partitions
    if not moves or accumulate or columns[1] != rows or moving.elements != rows * rows:
        return multiply
    identity = identity_matrix(rows)

    def move(registers: object, dst: Array, stationary: Array, moving: Array) -> None:
        if not np.array_equal(load_moving(moving), identity):
            multiply(registers, dst, stationary, moving)
        elif widens:
            turned = stationary.view(np.uint8).reshape(rows, -1).T
            dst.view(np.uint16)[...] = turned.reshape(dst.shape)
        else:
            dst[...] = stationary.reshape(rows, -1).T.reshape(dst.shape)

    return move


def _matrix_loader(operand: Operand, call: Call) -> Callable[[Array], Array]:
    """Return a function from an operand's array to a float32 (contraction, columns) matrix."""
    load = loader(operand, (_contraction(operand, call), _columns(operand, call)))
    if operand.dtype != "tfloat32":
        return load

    def truncate(array: Array) -> Array:
        bits: Array = load(array).view(np.uint32) & _MANTISSA_OF_TFLOAT32
        return bits.view(np.float32)

    return truncate


def product_sizes(call: Call, stationary_columns: int, moving_columns: int) -> Iterator[str]:
    """Yield what does not fit the engine's tile, or the destination, given the operands' columns."""
    dst, stationary, moving = call.tensor("dst"), call.tensor("stationary"), call.tensor("moving")
    if stationary.partitions != moving.partitions:
        yield (
            f"stationary has {stationary.partitions} partitions, moving {moving.partitions}: the contraction "
            "dimension lies on the partitions of both and must be equal"
        )
    if stationary_columns > 128:
        yield (
            f"stationary has {stationary_columns} free elements, limit 128 (gemm_stationary_fmax): tile it"
        )
    limit = call.target.matmul_moving_max
    if call.target.name not in _EARLY and dst.dtype == "bfloat16":
        limit *= 2
    if moving_columns > limit:
        yield (
            f"moving has {moving_columns} free elements, limit {limit} on {call.target.name} with a "
            f"{dst.dtype} destination: tile the free dimension (nl.tile_size.gemm_moving_fmax)"
        )
    if (dst.partitions, dst.free_elements) != (stationary_columns, moving_columns):
        yield (
            f"dst is {describe(dst)}, but stationary.T @ moving is ({stationary_columns}, {moving_columns}): "
            "dst's partitions are stationary's free size, its free size is moving's"
        )


def _sizes(call: Call) -> Iterator[str]:
    yield from product_sizes(
        call, _columns(call.tensor("stationary"), call), _columns(call.tensor("moving"), call)
    )


def _early_moving(call: Call) -> Iterator[str]:
    columns, limit = _columns(call.tensor("moving"), call), call.target.matmul_moving_max
    if call.tensor("dst").dtype == "bfloat16" and columns > limit:
        yield (
            f"moving has {columns} free elements, limit {limit} before NKI 0.5, also with a bfloat16 "
            "destination: tile the free dimension"
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


def engine_tile(call: Call) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return ``tile_position`` and ``tile_size``, each (row, column); None where they are not two pairs."""
    position, size = call.scalar("tile_position"), call.scalar("tile_size")
    if isinstance(position, tuple) and isinstance(size, tuple) and len(position) == len(size) == 2:
        return position, size
    return None


def incomplete_tile(call: Call) -> Iterator[str]:
    """Yield a message if ``tile_position`` or ``tile_size`` is given without the other, or is no pair."""
    given = call.scalar("tile_position") or call.scalar("tile_size")
    if given and engine_tile(call) is None:
        yield "tile_position and tile_size must both be given, as (row, column) pairs"


def _tiling(call: Call) -> Iterator[str]:
    """Rows and columns alike, as the prose of the docstring has it and public kernels use it; its parameter
    texts still allow row tiles only."""
    yield from incomplete_tile(call)
    tile = engine_tile(call)
    if tile is None:
        return
    position, size = tile
    allowed = (64, 128) if call.target.name == "trn1" else (32, 64, 128)
    stationary = call.tensor("stationary")
    extents = (stationary.partitions, _columns(stationary, call))
    for what, start, length, extent in zip(("row", "column"), position, size, extents, strict=True):
        if length not in allowed:
            yield f"tile_size {what}s {length}, must be one of {allowed} on {call.target.name}"
        elif start % length or not 0 <= start <= _ROWS - length:
            yield f"tile_position {what} {start} must be a multiple of the tile's {length} {what}s below 128"
        if extent > length:
            part = "partitions" if what == "row" else "free elements"
            yield f"stationary has {extent} {part}, the tile {length} {what}s"
    if call.scalar("perf_mode") == "double_row" and size[1] != _ROWS:
        yield f"perf_mode=double_row cannot be combined with column tiles of {size[1]}: use 128 columns"


def _tile_placement(call: Call) -> Iterator[str]:
    tile = engine_tile(call)
    if tile is None:
        return
    (row, column), _ = tile
    for name in ("stationary", "moving"):
        start = call.tensor(name).start
        if start != row:
            yield (
                f"{name} starts at partition {start}, the row tile at row {row}: partition p feeds row p of "
                "the engine; place the operand on the tile's rows"
            )
    if call.tensor("dst").start != column:
        yield (
            f"dst starts at partition {call.tensor('dst').start}, the column tile at column {column}: column "
            "c of the engine fills partition c of PSUM; write to the tile's columns"
        )


def _double_row(call: Call) -> Iterator[str]:
    if call.scalar("perf_mode") != "double_row":
        return
    if call.target.name == "trn1":
        yield "perf_mode=double_row exists from NeuronCore-v3 on"
    if call.scalar("is_transpose"):
        yield "perf_mode=double_row cannot be combined with is_transpose: leave one out"
    for name in ("stationary", "moving"):
        operand = call.tensor(name)
        if operand.dtype not in EIGHT_BITS:
            yield f"{name} is {operand.dtype}: double_row needs 8-bit floats"
        if len(operand.shape) < 3 or operand.shape[1] != 2:
            yield f"{name} has shape {list(operand.shape)}: double_row contracts over [128, 2, free]"


def _transpose_flag(call: Call) -> Iterator[str]:
    dst, stationary = call.tensor("dst").dtype, call.tensor("stationary").dtype
    widens = stationary in EIGHT_BITS and DTYPES[dst].itemsize == 2
    if call.scalar("is_transpose") and dst != stationary and not widens:
        yield (
            f"is_transpose copies bits from NeuronCore-v3 on: dst is {dst}, stationary {stationary}; use the "
            "same dtype"
        )


def _transpose_width(call: Call) -> Iterator[str]:
    dst, stationary = call.tensor("dst").dtype, call.tensor("stationary").dtype
    if call.scalar("is_transpose") and stationary in EIGHT_BITS and dst == stationary:
        yield (
            f"is_transpose of {stationary} writes 16-bit elements whose upper half is zero, but dst is "
            f"{dst}: use a 16-bit destination, or transpose in bfloat16"
        )


def _fidelity(call: Call) -> Fidelity:
    """Unmodelled where documents contradict each other, approximate where the operands are shortened.

    That float32 takes four passes, two with an operand of ones and zeros, fits products of two halves each,
    which are exact; how tfloat32 loses its bits is documented as "10-bit mantissa" only.
    """
    if any(_transpose_width(call)) and call.target.name in _MOVES:
        return Fidelity.UNMODELLED
    shortened = "tfloat32" in (call.tensor("stationary").dtype, call.tensor("moving").dtype)
    return Fidelity.APPROXIMATE if shortened else Fidelity.EXACT


def pass_cycles(stationary_columns: int, moving_columns: int) -> float:
    """Return the cycles of one pass, back to back with others: facts/nki.md section 3.1."""
    return max(min(64, stationary_columns), moving_columns)


def _cycles(call: Call) -> float:
    """One pass; float32 takes four."""
    stationary, moving = call.tensor("stationary"), call.tensor("moving")
    cycles = pass_cycles(_columns(stationary, call), _columns(moving, call))
    return 4 * cycles if "float32" in (stationary.dtype, moving.dtype) else cycles


OPERATIONS: Final = (
    Operation(
        "nc_matmul",
        (
            Parameter("dst", ParameterKind.ACCUMULATOR, buffers=_PSUM),
            source("stationary", _SBUF, FLOATS),
            source("moving", _SBUF, FLOATS),
            # Hints for speed: an operand of ones and zeros needs fewer passes. Values do not change.
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
        cycles=_cycles,
        limits=(
            Limit("matmul-size", _sizes, _DOCSTRING),
            Limit("matmul-size", _early_moving, "NKI 0.5.0 release notes", frozenset({"trn3"}), until="0.5"),
            Limit("matmul-dtypes", _dtypes, _DOCSTRING),
            Limit("matmul-destination-dtype", _destination_dtype, _DOCSTRING),
            Limit("matmul-bank", _bank, _DOCSTRING, _EARLY),
            Limit("matmul-tiling", _tiling, _DOCSTRING),
            Limit(
                "matmul-tile-placement",
                _tile_placement,
                "not documented; every public kernel with tiles obeys (nki-library: router_topk, qkv_tkg)",
                severity=Severity.WARNING,
            ),
            Limit("matmul-double-row", _double_row, _DOCSTRING),
            Limit("matmul-transpose-dtype", _transpose_flag, _DOCSTRING, _MOVES),
            Limit(
                "transpose-eight-bit",
                _transpose_width,
                "Trainium2 architecture guide, Built-in Transpose Support; the docstring says: same dtype",
                _MOVES,
                Severity.WARNING,
            ),
        ),
        fidelity=_fidelity,
        source="nki.isa.nc_matmul, NKI 0.6; facts/nki.md sections 2.5 and 3.1",
    ),
)
