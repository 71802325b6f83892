"""How the cases of legality are written: a pair of programs, built from a line of description each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.program import Program
from tests.emulator.program_builder import ProgramBuilder


@dataclass(frozen=True)
class Case:
    """One pair of programs.

    Attributes:
        rule: The rule.
        guilty: Breaks it.
        innocent: Does not, and is legal altogether.
        words: What the message must say.
    """

    rule: str
    guilty: Program
    innocent: Program
    words: tuple[str, ...]


@dataclass(frozen=True)
class Tile:
    """A tensor to be declared: shape, dtype, memory; with dims, a view of it."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    buffer: str = "sbuf"
    dims: tuple[tuple[int, int], ...] = ()
    offset: int = 0
    view_dtype: str | None = None


def sbuf(*shape: int, dtype: str = "float32") -> Tile:
    return Tile(shape, dtype)


def psum(*shape: int, dtype: str = "float32") -> Tile:
    return Tile(shape, dtype, "psum")


def hbm(*shape: int, dtype: str = "float32", buffer: str = "hbm") -> Tile:
    return Tile(shape, dtype, buffer)


def view(base: Tile, *dims: tuple[int, int], offset: int = 0, dtype: str | None = None) -> Tile:
    return Tile(base.shape, base.dtype, base.buffer, dims, offset, dtype)


def one(
    operation: str, engine: str | None = None, target: str = "trn2", version: str = "0.6", **arguments: Any
) -> Program:
    """A program of a single instruction."""
    builder = ProgramBuilder(target, version)
    put(builder, operation, engine, **arguments)
    return builder.program()


def put(builder: ProgramBuilder, operation: str, engine: str | None = None, **arguments: Any) -> None:
    """Append an instruction on freshly declared tiles."""
    resolved: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, Tile):
            tensor = builder.tensor(value.shape, value.dtype, value.buffer)
            if value.buffer == "hbm":
                builder.inputs.append(tensor)
            resolved[name] = builder.view(tensor, *value.dims, offset=value.offset, dtype=value.view_dtype)
        else:
            resolved[name] = value
    builder.add(operation, engine, **resolved)


def built(build: Callable[[ProgramBuilder], object], target: str = "trn2") -> Program:
    builder = ProgramBuilder(target)
    build(builder)
    return builder.program()


def copy(dst: Tile, src: Tile, **keywords: Any) -> Program:
    return one("tensor_copy", dst=dst, src=src, **keywords)


def dma(dst: Tile, src: Tile, **keywords: Any) -> Program:
    return one("dma_copy", dst=dst, src=src, **keywords)


def queued_by(engine: str, **keywords: Any) -> Program:
    """A DMA whose parameter ``engine`` is given, which the builder's own of that name hides."""
    program = dma(sbuf(128, 8), hbm(128, 8), **keywords)
    (instruction,) = program.instructions
    scalars = list(instruction.scalars)
    scalars[OPERATIONS["dma_copy"].scalar_slots["engine"]] = engine
    changed = msgspec.structs.replace(instruction, scalars=tuple(scalars))
    return msgspec.structs.replace(program, instructions=(changed,))


def matmul(k: int, m: int, n: int, dtype: str = "bfloat16", **changes: Any) -> Program:
    arguments: dict[str, Any] = {
        "dst": psum(m, n),
        "stationary": sbuf(k, m, dtype=dtype),
        "moving": sbuf(k, n, dtype=dtype),
        "accumulate": False,
    }
    return one("nc_matmul", **{**arguments, **changes})


def double_row(**changes: Any) -> Program:
    stationary, moving = sbuf(128, 2, 64, dtype="float8_e5m2"), sbuf(128, 2, 256, dtype="float8_e5m2")
    return matmul(128, 64, 256, perf_mode="double_row", stationary=stationary, moving=moving, **changes)


def transpose(dst: Tile, data: Tile, engine: str = "tensor", **keywords: Any) -> Program:
    return one("nc_transpose", engine, dst=dst, data=data, **keywords)


def binary(
    op: str = "add", a: Tile | None = None, b: Tile | None = None, dst: Tile | None = None, **keywords: Any
) -> Program:
    tile = sbuf(128, 8)
    return one("tensor_tensor", dst=dst or tile, data1=a or tile, data2=b or tile, op=op, **keywords)


def scalar(op0: str = "multiply", operand0: Any = 2.0, dtype: str = "float32", **keywords: Any) -> Program:
    tile = sbuf(128, 8, dtype=dtype)
    return one("tensor_scalar", dst=tile, data=tile, op0=op0, operand0=operand0, **keywords)


def reduce(dst: Tile, data: Tile, axis: Any = 1, op: str = "add", **keywords: Any) -> Program:
    return one("tensor_reduce", dst=dst, data=data, axis=axis, op=op, **keywords)


def activation(op: str = "exp", **keywords: Any) -> Program:
    return one("activation", **{"dst": sbuf(128, 8), "data": sbuf(128, 8), "op": op, **keywords})


def scalar_reduce(**keywords: Any) -> Program:
    tile = sbuf(128, 8)
    arguments = {"dst": tile, "data": tile, "op0": "add", "operand0": 1.0, "reduce_op": "add"}
    return one("tensor_scalar_reduce", **{**arguments, **keywords})


def accumulation(*, first: bool, memset: bool = False, target: str = "trn2") -> Program:
    def build(builder: ProgramBuilder) -> None:
        left = builder.tensor((128, 64), "bfloat16")
        right = builder.tensor((128, 256), "bfloat16")
        sums = builder.tensor((64, 256), "float32", "psum")
        if memset:
            builder.add("memset", dst=sums, value=0.0)
        builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=first)
        builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=True)

    return built(build, target)


def alive(count: int, shape: tuple[int, ...], buffer: str) -> Program:
    """``count`` tiles that are all used once more at the end."""

    def build(builder: ProgramBuilder) -> None:
        tiles = [builder.tensor(shape, "float32", buffer) for _ in range(count)]
        for tile in tiles + tiles:
            builder.add("memset", dst=tile, value=0.0)

    return built(build)


def returned(buffer: str) -> Program:
    return built(lambda builder: builder.output((128, 8), "float32", buffer))


def declared(
    shape: tuple[int, ...], dtype: str = "float32", buffer: str = "sbuf", target: str = "trn2"
) -> Program:
    return built(lambda builder: builder.tensor(shape, dtype, buffer), target)


WIDE = sbuf(128, 64)
COLUMN = sbuf(128, 1)
