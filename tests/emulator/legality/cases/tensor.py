"""Cases of the tensor engine's tiles and transposes, of microscaling, of packed types and of `activate2`."""

from __future__ import annotations

from typing import Any

from pipeline.emulator.program import Program
from tests.emulator.legality.cases.construction import (
    COLUMN,
    Case,
    Tile,
    activation,
    copy,
    declared,
    dma,
    hbm,
    matmul,
    one,
    psum,
    sbuf,
    transpose,
    view,
)

E4M3, E5M2, FP4 = "float8_e4m3fn_x4", "float8_e5m2_x4", "float4_e2m1fn_x4"
#: A tile of 128 partitions in whose last 64 an operand can lie.
ROWS = sbuf(128, 64, dtype="bfloat16")


def scales(partitions: int, columns: int, *, start: int = 0, dtype: str = "uint8") -> Tile:
    """A view of a scale tile of 128 partitions, from one of them on."""
    return view(sbuf(128, columns, dtype=dtype), (columns, partitions), (1, columns), offset=start * columns)


def quantize(partitions: int, columns: int, **changes: Any) -> Program:
    arguments: dict[str, Any] = {
        "dst": sbuf(partitions, columns // 4, dtype=E4M3),
        "src": sbuf(partitions, columns, dtype="bfloat16"),
        "dst_scale": sbuf(partitions, columns // 4, dtype="uint8"),
    }
    return one("quantize_mx", **{"target": "trn3", **arguments, **changes})


def matmul_mx(partitions: int, m: int, n: int, **changes: Any) -> Program:
    arguments: dict[str, Any] = {
        "dst": psum(m, n),
        "stationary": sbuf(partitions, m, dtype=E5M2),
        "moving": sbuf(partitions, n, dtype=FP4),
        "stationary_scale": sbuf(partitions, m, dtype="uint8"),
        "moving_scale": sbuf(partitions, n, dtype="float8_e8m0fnu"),
        "accumulate": False,
    }
    return one("nc_matmul_mx", **{"target": "trn3", **arguments, **changes})


def activate2(**changes: Any) -> Program:
    tile = sbuf(128, 8)
    arguments: dict[str, Any] = {
        "dst": tile, "op": "exp", "data": tile, "imm0": 1.0, "imm1": 1.0, "op0": "multiply", "op1": "add",
    }  # fmt: skip
    return one("activate2", **{"target": "trn3", **arguments, **changes})


CASES = [
    Case(
        "accumulate-unwritten",
        matmul_mx(32, 64, 64, accumulate=True),
        matmul_mx(32, 64, 64),
        ("nc_matmul_mx: accumulate=True", "accumulate=False"),
    ),
    Case(
        "dtype-target",
        transpose(psum(8, 8), view(sbuf(8, 8, dtype="uint8"), dtype="float8_e4m3fn")),
        transpose(psum(8, 8), view(sbuf(8, 8, dtype="uint8"), dtype="float8_e4m3fn"), target="trn3"),
        ("data", "float8_e4m3fn", "trn3"),
    ),
    Case("dtype-target", declared((8, 8), FP4), declared((8, 8), FP4, target="trn3"), (FP4, "trn3")),
    Case(
        "dtype-version",
        quantize(32, 8, dst_scale=sbuf(4, 2, dtype="float8_e8m0fnu"), version="0.4"),
        quantize(32, 8, dst_scale=sbuf(4, 2, dtype="float8_e8m0fnu"), version="0.5"),
        ("float8_e8m0fnu", "0.5"),
    ),
    Case(
        "dtype-version",
        quantize(32, 8, dst_scale=view(sbuf(4, 2, dtype="uint8"), dtype="float8_e8m0fnu"), version="0.4"),
        quantize(32, 8, dst_scale=sbuf(4, 2, dtype="uint8"), version="0.4"),
        ("dst_scale", "float8_e8m0fnu", "0.5"),
    ),
    Case(
        "matmul-size",
        matmul(128, 64, 8192, dst=psum(64, 8192, dtype="bfloat16"), target="trn3", version="0.4"),
        matmul(128, 64, 8192, dst=psum(64, 8192, dtype="bfloat16"), target="trn3", version="0.5"),
        ("8192", "4096", "0.5"),
    ),
    Case(
        "matmul-tile-placement",
        matmul(64, 32, 64, tile_position=(64, 0), tile_size=(64, 128), dst=psum(32, 64)),
        matmul(
            64,
            32,
            64,
            tile_position=(64, 0),
            tile_size=(64, 128),
            stationary=view(ROWS, (64, 64), (1, 32), offset=64 * 64),
            moving=view(ROWS, (64, 64), (1, 64), offset=64 * 64),
        ),
        ("stationary", "partition 0", "row 64"),
    ),
    Case(
        "matmul-tile-placement",
        matmul(128, 32, 64, tile_position=(0, 32), tile_size=(128, 32)),
        matmul(
            128,
            32,
            64,
            tile_position=(0, 32),
            tile_size=(128, 32),
            dst=view(psum(128, 64), (64, 32), (1, 64), offset=32 * 64),
        ),
        ("dst", "partition 0", "column 32"),
    ),
    Case(
        "transpose-eight-bit",
        transpose(psum(64, 128, dtype="float8_e5m2"), sbuf(128, 64, dtype="float8_e5m2")),
        transpose(psum(64, 128, dtype="uint16"), sbuf(128, 64, dtype="float8_e5m2")),
        ("float8_e5m2", "16-bit"),
    ),
    Case(
        "transpose-eight-bit",
        matmul(128, 64, 128, "float8_e5m2", is_transpose=True, dst=psum(64, 128, dtype="float8_e5m2")),
        matmul(128, 64, 128, "float8_e5m2", is_transpose=True, dst=psum(64, 128, dtype="bfloat16")),
        ("float8_e5m2", "16-bit"),
    ),
    Case(
        "matmul-transpose-dtype",
        matmul(128, 64, 128, "float8_e5m2", is_transpose=True, dst=psum(64, 128)),
        matmul(128, 64, 128, "float8_e5m2", is_transpose=True, dst=psum(64, 128, dtype="int16")),
        ("float32", "float8_e5m2"),
    ),
    Case(
        "transpose-dtype",
        transpose(psum(64, 128), sbuf(128, 64, dtype="float8_e5m2")),
        transpose(psum(64, 128, dtype="float16"), sbuf(128, 64, dtype="float8_e5m2")),
        ("float32", "float8_e5m2"),
    ),
    Case("quantize-size", quantize(48, 8), quantize(64, 8), ("48", "multiple of 32")),
    Case(
        "quantize-size",
        quantize(32, 8, src=sbuf(32, 6, dtype="float16")),
        quantize(32, 8, src=sbuf(32, 2, 4, dtype="float16")),
        ("6", "multiple of 4"),
    ),
    Case("quantize-size", quantize(32, 8, dst=sbuf(32, 8, dtype=E4M3)), quantize(32, 8), ("dst", "2")),
    Case("operand-dtype", quantize(32, 8, src=sbuf(32, 8)), quantize(32, 8), ("src", "float32", "bfloat16")),
    Case(
        "operand-dtype",
        quantize(32, 8, dst=sbuf(32, 2, dtype=FP4)),
        quantize(32, 8, dst=sbuf(32, 2, dtype=E5M2)),
        ("dst", FP4, E4M3),
    ),
    Case(
        "operand-memory",
        quantize(32, 8, src=psum(32, 8, dtype="bfloat16")),
        quantize(32, 8),
        ("src", "PSUM", "SBUF"),
    ),
    Case(
        "mx-scale",
        quantize(64, 8, dst_scale=sbuf(8, 2, dtype="uint8")),
        quantize(64, 8, dst_scale=sbuf(36, 2, dtype="uint8")),
        ("dst_scale", "8 partitions", "36", "quadrant"),
    ),
    Case(
        "mx-scale",
        quantize(32, 8, dst_scale=sbuf(4, 8, dtype="uint8")),
        quantize(32, 8, dst_scale=sbuf(4, 2, dtype="uint8")),
        ("dst_scale", "2 elements"),
    ),
    Case(
        "mx-scale",
        quantize(64, 8, dst_scale=scales(64, 2, start=16)),
        quantize(64, 8, dst_scale=scales(64, 2, start=12)),
        ("partition 16", "0, 4, 8 or 12"),
    ),
    Case(
        "mx-scale",
        matmul_mx(128, 4, 8, moving_scale=scales(96, 8, start=4)),
        matmul_mx(128, 4, 8, moving_scale=scales(124, 8, start=4)),
        ("moving_scale", "96", "100"),
    ),
    Case("mx-size", matmul_mx(48, 4, 8), matmul_mx(96, 4, 8), ("48", "multiple of 32")),
    Case("mx-size", matmul_mx(64, 3, 8), matmul_mx(64, 4, 8), ("stationary", "3", "even")),
    Case("mx-size", matmul_mx(64, 130, 8), matmul_mx(64, 128, 8), ("130", "128")),
    Case(
        "mx-size",
        matmul_mx(64, 4, 4098),
        matmul_mx(64, 4, 4098, dst=psum(4, 4098, dtype="bfloat16")),
        ("4098", "4096"),
    ),
    Case(
        "mx-tiling",
        matmul_mx(32, 4, 8, tile_position=(0, 32), tile_size=(128, 32)),
        matmul_mx(32, 4, 8, tile_position=(0, 0), tile_size=(32, 128)),
        ("row tiles only",),
    ),
    Case(
        "mx-tiling",
        matmul_mx(64, 4, 8, tile_position=(0, 0), tile_size=(32, 128)),
        matmul_mx(64, 4, 8, tile_position=(64, 0), tile_size=(64, 128)),
        ("64 partitions", "32 rows"),
    ),
    Case(
        "mx-tiling",
        matmul_mx(32, 4, 8, tile_position=(48, 0), tile_size=(32, 128)),
        matmul_mx(32, 4, 8, tile_position=(96, 0), tile_size=(32, 128)),
        ("48", "multiple"),
    ),
    Case("mx-tiling", matmul_mx(32, 4, 8, tile_size=(32, 128)), matmul_mx(32, 4, 8), ("both",)),
    Case(
        "packed-arithmetic",
        activation("exp", dst=sbuf(128, 8), data=sbuf(128, 8, dtype=E4M3), target="trn3"),
        activation("exp", dst=sbuf(128, 8), data=sbuf(128, 8, dtype="float8_e4m3fn"), target="trn3"),
        ("data", E4M3, "quantize_mx"),
    ),
    Case(
        "packed-conversion",
        dma(sbuf(32, 8, dtype=E4M3), hbm(32, 8, dtype="uint32"), target="trn3"),
        dma(sbuf(32, 8, dtype=E4M3), view(hbm(32, 8, dtype="uint32"), dtype=E4M3), target="trn3"),
        (E4M3, "uint32", "view"),
    ),
    Case(
        "packed-conversion",
        copy(sbuf(32, 8), sbuf(32, 8, dtype=FP4), target="trn3"),
        copy(sbuf(32, 8, dtype=FP4), sbuf(32, 8, dtype=FP4), target="trn3"),
        (FP4, "float32"),
    ),
    Case(
        "memset-value",
        one("memset", dst=sbuf(32, 8, dtype=E5M2), value=1, target="trn3"),
        one("memset", dst=sbuf(32, 8, dtype=E5M2), value=0.0, target="trn3"),
        (E5M2, "0 only"),
    ),
    Case("activation-slope", activation("prelu"), activation("relu"), ("relu_param", "activate2")),
    Case(
        "activate2-operators",
        activate2(op0="add", op1="multiply"),
        activate2(op0="multiply", op1="subtract"),
        ("op0=add", "op1=multiply"),
    ),
    Case(
        "activate2-operators",
        activate2(op1="bypass", reverse1=True),
        activate2(op1="subtract", reverse1=True),
        ("reverse1", "bypass"),
    ),
    Case(
        "activate2-immediates",
        activate2(imm0=COLUMN, imm1=sbuf(128, 1, dtype="bfloat16")),
        activate2(imm0=sbuf(128, 1, dtype="bfloat16"), imm1=sbuf(128, 1, dtype="bfloat16")),
        ("float32", "bfloat16"),
    ),
    Case(
        "activate2-reduction",
        activate2(reduce_cmd="reset_reduce"),
        activate2(reduce_cmd="reset_reduce", reduce_op="abs_max", reduce_res=COLUMN),
        ("reduce_op", "abs_max"),
    ),
    Case(
        "activation-idle-result",
        activate2(reduce_op="add", reduce_res=COLUMN),
        activate2(reduce_op="add", reduce_res=COLUMN, reduce_cmd="reduce"),
        ("reset_reduce",),
    ),
    Case(
        "operand-column",
        activate2(relu_param=sbuf(128, 2)),
        activate2(relu_param=COLUMN),
        ("relu_param", "(128, 1)"),
    ),
]
