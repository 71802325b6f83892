"""For every rule of legality a program that breaks it and one, as close as possible, that does not."""

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

CASES = [
    Case("partition-limit", declared((129, 4)), declared((128, 4)), ("129", "128", "split")),
    Case("tile-rank", declared((128,)), declared((128, 1)), ("one dimension", "(128, 1)")),
    Case("tile-bytes", declared((128, 57345)), declared((128, 57344)), ("229380", "229376")),
    Case(
        "tile-bytes", declared((128, 4097), buffer="psum"), declared((128, 4096), buffer="psum"), ("16384",)
    ),
    Case(
        "dtype-target",
        declared((128, 4), "float8_e4m3fn"),
        declared((128, 4), "float8_e4m3fn", target="trn3"),
        ("float8_e4m3fn", "trn3"),
    ),
    Case("output-buffer", returned("private_hbm"), returned("shared_hbm"), ("shared_hbm",)),
    Case("output-buffer", returned("sbuf"), returned("shared_hbm"), ("sbuf", "shared_hbm")),
    Case(
        "partition-step",
        copy(sbuf(32, 64), view(WIDE, (128, 32), (1, 64))),
        copy(sbuf(32, 64), view(WIDE, (64, 32), (1, 64))),
        ("128 elements", "64", "src"),
    ),
    Case(
        "partition-step",
        copy(sbuf(32, 64), view(WIDE, (0, 32), (1, 64))),
        copy(sbuf(1, 64), view(WIDE, (0, 1), (1, 64))),
        ("repeats one partition", "32"),
    ),
    Case(
        "partition-crossing",
        copy(sbuf(32, 64), view(WIDE, (64, 32), (1, 64), offset=1)),
        copy(sbuf(32, 63), view(WIDE, (64, 32), (1, 63), offset=1)),
        ("1 to 64", "holds 64"),
    ),
    Case(
        "view-width",
        copy(sbuf(32, 1), view(sbuf(128, 3, dtype="bfloat16"), (1, 32), (1, 1), dtype="float32")),
        copy(sbuf(32, 1), view(sbuf(128, 2, dtype="bfloat16"), (1, 32), (1, 1), dtype="float32")),
        ("6 bytes", "float32"),
    ),
    Case(
        "partition-start",
        copy(sbuf(33, 64), view(WIDE, (64, 33), (1, 64), offset=32 * 64)),
        copy(sbuf(32, 64), view(WIDE, (64, 32), (1, 64), offset=32 * 64)),
        ("32 to 64", "0 or 64"),
    ),
    Case(
        "partition-start",
        copy(sbuf(1, 64), view(WIDE, (64, 1), (1, 64), offset=5 * 64)),
        dma(hbm(1, 64, buffer="shared_hbm"), view(WIDE, (64, 1), (1, 64), offset=5 * 64)),
        ("5 to 5", "DMA"),
    ),
    Case(
        "partition-start",
        copy(sbuf(65, 64), view(WIDE, (64, 65), (1, 64), offset=63 * 64)),
        copy(sbuf(64, 64), view(WIDE, (64, 64), (1, 64), offset=64 * 64)),
        ("65 partitions start at 0",),
    ),
    Case(
        "free-dimensions",
        copy(
            sbuf(128, 32),
            view(sbuf(128, 1024), (1024, 128), (512, 2), (128, 2), (32, 2), (8, 2), (2, 2)),
        ),
        # The last two dimensions are one run of elements.
        copy(
            sbuf(128, 32),
            view(sbuf(128, 1024), (1024, 128), (512, 2), (128, 2), (32, 2), (2, 2), (1, 2)),
        ),
        ("5 free dimensions", "limit 4"),
    ),
    Case(
        "destination-overlap",
        copy(view(WIDE, (64, 128), (0, 8)), sbuf(128, 8)),
        copy(sbuf(128, 8), view(WIDE, (64, 128), (0, 8))),
        ("dst", "more than once"),
    ),
    Case(
        "operation-engine", copy(WIDE, WIDE, engine="tensor"), copy(WIDE, WIDE, engine="gpsimd"), ("tensor",)
    ),
    Case(
        "operand-memory",
        binary(b=hbm(128, 8)),
        binary(b=psum(128, 8)),
        ("data2", "HBM", "dma_copy"),
    ),
    Case(
        "operand-memory",
        matmul(128, 64, 256, moving=psum(128, 256, dtype="bfloat16")),
        matmul(128, 64, 256),
        ("moving", "PSUM", "SBUF"),
    ),
    Case(
        "operand-memory",
        dma(hbm(128, 8), psum(128, 8)),
        dma(hbm(128, 8), sbuf(128, 8)),
        ("src", "PSUM", "HBM"),
    ),
    Case(
        "engine-memory",
        copy(sbuf(128, 8), psum(128, 8), engine="gpsimd"),
        copy(sbuf(128, 8), psum(128, 8), engine="vector"),
        ("gpsimd", "PSUM"),
    ),
    Case(
        "operand-dtype",
        activation(scale=sbuf(128, 1, dtype="bfloat16")),
        activation(scale=COLUMN, bias=sbuf(128, 1, dtype="bfloat16")),
        ("scale", "bfloat16", "float32"),
    ),
    Case(
        "operand-dtype",
        matmul(128, 64, 256, dtype="int8"),
        matmul(128, 64, 256, dtype="float16"),
        ("int8",),
    ),
    Case("operator-refused", binary("divide"), binary("multiply"), ("divide", "reciprocal")),
    Case("operator-refused", scalar("mod"), scalar("add"), ("mod",)),
    Case(
        "operator-target",
        scalar("square", None),
        scalar("square", None, target="trn3"),
        ("square", "trn3", "activation"),
    ),
    Case(
        "operator-target",
        scalar_reduce(op0="relu", operand0=None),
        scalar_reduce(op0="relu", operand0=None, target="trn3"),
        ("relu",),
    ),
    Case("operator-target", binary("abs_max"), binary("abs_max", target="trn3"), ("abs_max", "trn2")),
    Case(
        "operator-choice",
        binary("invert", *[sbuf(128, 8, dtype="int32")] * 3),
        binary("bitwise_xor", *[sbuf(128, 8, dtype="int32")] * 3),
        ("invert", "bitwise_xor"),
    ),
    Case(
        "operator-choice",
        reduce(COLUMN, WIDE, op="equal"),
        reduce(COLUMN, WIDE, op="maximum"),
        ("equal", "maximum"),
    ),
    Case("operator-choice", binary("square"), binary("multiply"), ("square",)),
    Case(
        "operand-missing",
        scalar_reduce(operand0=None),
        scalar_reduce(op0="abs", operand0=None),
        ("operand0",),
    ),
    Case("dma-count", dma(sbuf(128, 8), hbm(128, 9)), dma(sbuf(128, 8), hbm(1024)), ("1024", "1152")),
    Case(
        "dma-cast",
        dma(sbuf(128, 8, dtype="bfloat16"), hbm(128, 8), dge_mode="hwdge"),
        dma(sbuf(128, 8, dtype="bfloat16"), hbm(128, 8)),
        ("float32", "bfloat16"),
    ),
    Case(
        "dma-hardware-queue",
        dma(WIDE, hbm(128, 64), dge_mode="hwdge", target="trn1"),
        dma(WIDE, hbm(128, 64), dge_mode="hwdge", target="trn2"),
        ("NeuronCore-v3",),
    ),
    Case(
        "dma-engine",
        queued_by("scalar", dge_mode="unknown"),
        queued_by("scalar", dge_mode="hwdge"),
        ("dge_mode=hwdge",),
    ),
    Case(
        "dma-priority",
        dma(WIDE, hbm(128, 64), priority=1, target="trn2"),
        dma(WIDE, hbm(128, 64), priority=1, target="trn3"),
        ("priority",),
    ),
    Case("shape-agreement", binary(b=sbuf(128, 9)), binary(b=sbuf(128, 2, 4)), ("data2", "9", "8")),
    Case("shape-agreement", binary(b=sbuf(64, 8)), binary(b=sbuf(128, 8)), ("64 partitions",)),
    Case("shape-agreement", activation(dst=sbuf(128, 4)), activation(dst=psum(128, 8)), ("data", "4")),
    Case(
        "shape-agreement",
        activation(reduce_op="add", reduce_cmd="reset_reduce", reduce_res=sbuf(128, 2)),
        activation(reduce_op="add", reduce_cmd="reset_reduce", reduce_res=COLUMN),
        ("reduce_res", "(128, 1)"),
    ),
    Case(
        "scalar-copy",
        copy(WIDE, WIDE, engine="scalar", target="trn1"),
        copy(WIDE, WIDE, engine="scalar", target="trn2"),
        ("activation",),
    ),
    Case(
        "memset-value",
        one("memset", dst=sbuf(128, 4, dtype="int32"), value=1.0),
        one("memset", dst=sbuf(128, 4, dtype="int32"), value=1),
        ("1.0", "int32"),
    ),
    Case(
        "memset-value",
        one("memset", dst=sbuf(128, 4, dtype="uint8"), value=256),
        one("memset", dst=sbuf(128, 4, dtype="uint8"), value=255),
        ("256", "[0, 255]"),
    ),
    Case(
        "matmul-size",
        matmul(128, 64, 513, dst=psum(64, 513)),
        matmul(128, 64, 512),
        ("513", "512", "trn2"),
    ),
    Case(
        "matmul-size",
        matmul(128, 129, 512, target="trn3"),
        matmul(128, 128, 4096, target="trn3"),
        ("129", "128"),
    ),
    Case(
        "matmul-size",
        matmul(128, 64, 256, moving=sbuf(96, 256, dtype="bfloat16")),
        matmul(96, 64, 256),
        ("96", "128"),
    ),
    Case("matmul-size", matmul(128, 64, 256, dst=psum(64, 128)), matmul(128, 64, 256), ("(64, 256)",)),
    Case(
        "matmul-dtypes",
        matmul(128, 64, 256, moving=sbuf(128, 256)),
        matmul(128, 64, 256, moving=sbuf(128, 256, dtype="float16")),
        ("bfloat16", "float32"),
    ),
    Case(
        "matmul-destination-dtype",
        matmul(128, 64, 256, dst=psum(64, 256, dtype="bfloat16"), target="trn2"),
        matmul(128, 64, 256, dst=psum(64, 256, dtype="bfloat16"), target="trn3"),
        ("bfloat16", "float32", "trn2"),
    ),
    Case(
        "matmul-bank",
        matmul(128, 64, 512, dst=view(psum(64, 1024), (1024, 64), (1, 512), offset=1)),
        matmul(128, 64, 512, dst=view(psum(64, 1024), (1024, 64), (1, 512), offset=512)),
        ("bytes 4 to 2051", "2048"),
    ),
    Case(
        "matmul-tiling",
        matmul(64, 64, 256, tile_position=(64, 0)),
        matmul(64, 64, 256, tile_position=(64, 0), tile_size=(64, 128)),
        ("tile_size",),
    ),
    Case(
        "matmul-tiling",
        matmul(32, 64, 256, tile_position=(32, 0), tile_size=(32, 128), target="trn1"),
        matmul(32, 64, 256, tile_position=(32, 0), tile_size=(32, 128), target="trn2"),
        ("32", "trn1"),
    ),
    Case(
        "matmul-tiling",
        matmul(128, 64, 256, tile_position=(0, 32), tile_size=(128, 32)),
        matmul(128, 32, 256, tile_position=(0, 32), tile_size=(128, 32)),
        ("64 free elements", "32 columns"),
    ),
    Case(
        "matmul-tiling",
        matmul(128, 32, 256, tile_position=(0, 48), tile_size=(128, 32)),
        matmul(128, 32, 256, tile_position=(0, 96), tile_size=(128, 32)),
        ("column 48", "multiple"),
    ),
    Case(
        "matmul-tiling",
        double_row(tile_position=(0, 64), tile_size=(128, 64)),
        double_row(tile_position=(0, 0), tile_size=(128, 128)),
        ("double_row", "column tiles of 64"),
    ),
    Case(
        "matmul-double-row",
        matmul(128, 64, 256, perf_mode="double_row"),
        double_row(),
        ("double_row",),
    ),
    Case(
        "matmul-double-row",
        double_row(is_transpose=True, dst=psum(64, 256, dtype="float8_e5m2")),
        double_row(),
        ("is_transpose",),
    ),
    Case(
        "matmul-transpose-dtype",
        matmul(128, 64, 128, is_transpose=True),
        matmul(128, 64, 128, is_transpose=True, dst=psum(64, 128, dtype="bfloat16")),
        ("float32", "bfloat16"),
    ),
    Case(
        "transpose-size",
        transpose(psum(64, 129), sbuf(129, 64)),
        transpose(psum(64, 128), sbuf(128, 64)),
        ("128",),
    ),
    Case(
        "transpose-size",
        transpose(sbuf(33, 32), sbuf(32, 33), "vector"),
        transpose(sbuf(32, 32), sbuf(32, 32), "vector"),
        ("32 x 32", "vector"),
    ),
    Case(
        "transpose-size",
        transpose(psum(64, 64), sbuf(128, 64)),
        transpose(psum(64, 128), sbuf(128, 64)),
        ("128",),
    ),
    Case("transpose-memory", transpose(sbuf(8, 8), sbuf(8, 8)), transpose(psum(8, 8), sbuf(8, 8)), ("PSUM",)),
    Case(
        "transpose-dtype",
        transpose(psum(64, 128), sbuf(128, 64, dtype="bfloat16")),
        transpose(psum(64, 128), sbuf(128, 64, dtype="bfloat16"), target="trn1"),
        ("bfloat16", "float32"),
    ),
    Case(
        "two-psum-inputs",
        binary(a=psum(128, 8), b=psum(128, 8)),
        binary(a=psum(128, 8)),
        ("data1", "data2", "PSUM"),
    ),
    Case(
        "bitvec-integers",
        binary("bitwise_and"),
        binary("bitwise_and", *[sbuf(128, 8, dtype="int32")] * 3),
        ("bitwise_and", "float32"),
    ),
    Case(
        "bitvec-integers",
        one("tensor_partition_reduce", dst=sbuf(1, 8), op="bitwise_or", data=sbuf(128, 8)),
        one(
            "tensor_partition_reduce",
            dst=sbuf(1, 8, dtype="int16"),
            op="bitwise_or",
            data=sbuf(128, 8, dtype="int16"),
        ),
        ("bitwise_or", "float32"),
    ),
    Case("power-engine", binary("power", engine="vector"), binary("power", engine="gpsimd"), ("gpsimd",)),
    Case("operand-column", scalar(operand0=sbuf(128, 2)), scalar(operand0=COLUMN), ("operand0", "(128, 1)")),
    Case("operand-column", activation(bias=sbuf(64, 1)), activation(bias=COLUMN), ("bias", "128")),
    Case(
        "operand-types",
        scalar(operand0=sbuf(128, 1, dtype="bfloat16")),
        scalar(operand0=psum(128, 1)),
        ("bfloat16", "float32"),
    ),
    Case(
        "operand-types",
        scalar("left_shift", 1.0, "int32"),
        scalar("left_shift", 1, "int32"),
        ("1.0", "int"),
    ),
    Case("operand-types", scalar("add", None), scalar("abs", None), ("operand0",)),
    Case(
        "operator-families",
        scalar("bitwise_and", 1, "int32", op1="add", operand1=1),
        scalar("bitwise_and", 1, "int32", op1="left_shift", operand1=1),
        ("bitvec",),
    ),
    Case("unused-operand", scalar(operand1=1.0), scalar(op1="add", operand1=1.0), ("operand1",)),
    Case(
        "scalar-engine-operators",
        scalar("subtract", engine="scalar"),
        scalar("add", engine="scalar"),
        ("subtract",),
    ),
    Case(
        "gpsimd-operators", scalar("add", engine="gpsimd"), scalar("rsqrt", 0.0, engine="gpsimd"), ("rsqrt",)
    ),
    Case("gpsimd-operators", scalar("rsqrt", 0.0), scalar("rsqrt", 0.0, engine="gpsimd"), ("gpsimd",)),
    Case("operand-types", scalar("rsqrt", 1.0), scalar("rsqrt", 0.0, engine="gpsimd"), ("operand0=None",)),
    Case(
        "scalar-engine-operators",
        scalar("maximum", engine="scalar"),
        scalar("maximum", engine="scalar", target="trn3"),
        ("maximum",),
    ),
    Case(
        "reduce-axis",
        reduce(sbuf(128, 4), sbuf(128, 3, 4)),
        reduce(sbuf(128, 3), sbuf(128, 3, 4), 2),
        ("axis 1",),
    ),
    Case("reduce-axis", reduce(sbuf(1, 4), sbuf(128, 4), 0), reduce(COLUMN, sbuf(128, 4)), ("partitions",)),
    Case(
        "reduce-axis",
        reduce(sbuf(128, 2), sbuf(128, 3, 4), 2),
        reduce(COLUMN, sbuf(128, 3, 4), (1, 2)),
        ("3",),
    ),
    Case(
        "reduce-negate",
        reduce(sbuf(128, 1, dtype="int32"), sbuf(128, 4, dtype="int32"), op="bitwise_or", negate=True),
        reduce(sbuf(128, 1, dtype="int32"), sbuf(128, 4, dtype="int32"), op="bitwise_or"),
        ("negate",),
    ),
    Case(
        "reduce-command",
        scalar_reduce(reduce_init=1.0),
        scalar_reduce(reduce_cmd="load_reduce", reduce_init=1.0),
        ("load_reduce",),
    ),
    Case("activation-reduce", activation(reduce_res=COLUMN), activation(), ("reduce_op",)),
    Case(
        "activation-bias",
        activation(bias=1.0, target="trn1"),
        activation(bias=COLUMN, target="trn1"),
        ("NeuronCore-v2",),
    ),
    Case(
        "activation-copy-bias",
        activation("copy", bias=COLUMN),
        activation("exp", bias=COLUMN),
        ("bias", "tensor_scalar"),
    ),
    Case(
        "activation-idle-result",
        activation(reduce_op="add", reduce_res=COLUMN),
        activation(reduce_op="add", reduce_res=COLUMN, reduce_cmd="reset_reduce"),
        ("reset_reduce",),
    ),
    Case(
        "affine-pattern",
        one("iota", dst=sbuf(4, 6), pattern=(1, 5)),
        one("iota", dst=sbuf(4, 6), pattern=(1, 6)),
        ("5", "6"),
    ),
    Case(
        "affine-pattern",
        one("iota", dst=sbuf(4, 1), pattern=(1, 1) * 5),
        one("iota", dst=sbuf(4, 1), pattern=(1, 1) * 4),
        ("5", "1 to 4"),
    ),
    Case(
        "affine-integers",
        one("iota", dst=sbuf(4, 6), pattern=(1, 6), offset=1.0),
        one("iota", dst=sbuf(4, 6), pattern=(1, 6), offset=1),
        ("offset is 1.0", "int32"),
    ),
    Case(
        "affine-integers",
        one("iota", dst=sbuf(4, 6), pattern=(1, 6), channel_multiplier=1 << 31),
        one("iota", dst=sbuf(4, 6), pattern=(1, 6), channel_multiplier=(1 << 31) - 1),
        ("channel_multiplier", "int32"),
    ),
    Case(
        "partition-reduce-shape",
        one("tensor_partition_reduce", dst=sbuf(2, 8), op="add", data=sbuf(128, 8)),
        one("tensor_partition_reduce", dst=sbuf(1, 8), op="add", data=sbuf(128, 8)),
        ("1 partition",),
    ),
    Case("accumulate-unwritten", accumulation(first=True), accumulation(first=False), ("accumulate=False",)),
    Case(
        "accumulate-foreign",
        accumulation(first=True, memset=True),
        accumulation(first=False, memset=True),
        ("matmul",),
    ),
    Case(
        "uninitialised-read",
        copy(sbuf(128, 8), sbuf(128, 8)),
        built(lambda builder: builder.store(builder.load(builder.input((4, 4))))),
        ("src", "before all of it was written"),
    ),
    Case(
        "sbuf-spill",
        alive(5, (128, 12 << 10), "sbuf"),
        alive(4, (128, 12 << 10), "sbuf"),
        ("245760", "229376"),
    ),
    Case("psum-spill", alive(9, (128, 1), "psum"), alive(8, (128, 1), "psum"), ("9 PSUM banks", "8")),
]
