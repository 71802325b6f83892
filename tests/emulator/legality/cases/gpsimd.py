"""Cases of gathers, DMA, random numbers, and addresses that only run time knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from pipeline.emulator.program import Offset, Program
from tests.emulator.legality.cases.construction import Case, Tile, dma, hbm, one, psum, sbuf, view
from tests.emulator.program_builder import ProgramBuilder


def run_time(kind: str, base: Tile, index: Tile | None = None) -> tuple[str, Tile, Tile | None]:
    """A tile whose address a register or an index tile completes."""
    return kind, base, index


def addressed(
    operation: str, engine: str | None = None, target: str = "trn3", version: str = "0.6", **arguments: Any
) -> Program:
    """A program of a single instruction, some of whose operands are `run_time` or lists of tiles."""
    builder = ProgramBuilder(target, version)
    builder.registers = 1

    def place(value: Any) -> Any:
        if isinstance(value, list):
            return [place(part) for part in value]
        if isinstance(value, tuple) and value and isinstance(value[0], str):
            kind, base, index = value
            pattern = place(base)
            source = 0
            if index is not None:
                source = builder.patterns.setdefault(place(index), len(builder.patterns))
            return msgspec.structs.replace(pattern, offsets=(Offset(kind, source, pattern.dims[0][0]),))
        if not isinstance(value, Tile):
            return value
        tensor = builder.tensor(value.shape, value.dtype, value.buffer)
        if value.buffer == "hbm":
            builder.inputs.append(tensor)
        return builder.view(tensor, *value.dims, offset=value.offset, dtype=value.view_dtype)

    builder.add(operation, engine, **{name: place(value) for name, value in arguments.items()})
    return builder.program()


def twice(program: Program) -> Program:
    """The program with every run-time offset doubled by a register."""
    patterns = tuple(
        msgspec.structs.replace(pattern, offsets=(*pattern.offsets, Offset("register", 0, 1)))
        if pattern.offsets
        else pattern
        for pattern in program.patterns
    )
    return msgspec.structs.replace(program, patterns=patterns)


def gather(data: int = 64, rows: int = 128, **changes: Any) -> Program:
    tiles = {
        "dst": sbuf(rows, 8),
        "data": sbuf(128, data),
        "indices": sbuf(rows, 8, dtype="uint32"),
    }
    return one("nc_n_gather", **{**tiles, **changes})


def local_gather(elements: int = 32, partitions: int = 128, **changes: Any) -> Program:
    tiles = {
        "dst": sbuf(partitions, elements),
        "src_buffer": sbuf(partitions, 64),
        "index": sbuf(partitions, 2, dtype="uint16"),
    }
    return one("local_gather", **{**tiles, **changes})


def nonzero(extra: int = 1, **changes: Any) -> Program:
    tiles = {"dst": sbuf(128, 8 + extra, dtype="int32"), "src": sbuf(128, 8)}
    return one("nonzero_with_count", **{**tiles, **changes})


def topk(k: int = 8, n: int = 40, columns: int = 3, rows: int = 32, index_rows: int = 32) -> Program:
    return one(
        "topk",
        val_dst=sbuf(rows, k, dtype="bfloat16"),
        idx_dst=sbuf(index_rows, k, dtype="uint32"),
        src=sbuf(rows, columns, dtype="bfloat16"),
        n=n,
    )


def bounds(*shape: int) -> Program:
    ids = sbuf(1, 16, dtype="int32")
    return one("sequence_bounds", dst=sbuf(*shape, dtype="int32"), segment_ids=ids)


def transposed(src: Tile, dst: Tile | None = None, **keywords: Any) -> Program:
    axes = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}[len(src.shape)]
    shape = tuple(src.shape[axis] for axis in axes)
    return one("dma_transpose", dst=dst or sbuf(*shape, dtype=src.dtype), src=src, **keywords)


def half(*shape: int) -> Tile:
    return hbm(*shape, dtype="bfloat16")


def gather_transposed(
    src: Tile, index: Tile, target: str = "trn2", dtype: str = "bfloat16", **keywords: Any
) -> Program:
    axes = {2: (1, 0), 4: (3, 1, 2, 0)}[len(src.shape)]
    dst = sbuf(*(src.shape[axis] for axis in axes), dtype=dtype)
    source = run_time("vector", replace(src, dtype=dtype), index)
    return addressed("dma_transpose", target=target, dst=dst, src=source, **keywords)


def indices(*shape: int, dtype: str = "uint32") -> Tile:
    return sbuf(*shape, dtype=dtype)


def summed(*srcs: Any, dst: Any = None, **keywords: Any) -> Program:
    arguments = {"dst": dst or hbm(128, 8), "srcs": list(srcs), "reduce_op": "add"}
    return addressed("dma_compute", **{**arguments, **keywords})


def gappy(program: Program) -> Program:
    """The sum with its second source moved behind a gap."""
    (instruction,) = program.instructions
    tensors = list(instruction.tensors)
    tensors[2], tensors[3] = -1, tensors[2]
    changed = msgspec.structs.replace(instruction, tensors=tuple(tensors))
    return msgspec.structs.replace(program, instructions=(changed,))


def gathered(table: Tile | None = None, index: Tile | None = None, **keywords: Any) -> Program:
    """A copy of chosen rows of a table in HBM."""
    source = run_time("vector", table or hbm(128, 8), index or indices(128, 1))
    return addressed("dma_copy", dst=sbuf(128, 8), src=source, **keywords)


def selected(kind: str = "scalar", index: Tile | None = None, **keywords: Any) -> Program:
    """A copy from an address that one value moves."""
    given = index or (indices(1, 1, dtype="int32") if kind == "scalar" else None)
    return addressed("dma_copy", dst=sbuf(128, 8), src=run_time(kind, hbm(128, 8), given), **keywords)


def scattered(dst: Tile, src: Tile, index: Tile, engine: str = "vector", **keywords: Any) -> Program:
    return addressed("tensor_copy", engine, dst=run_time("indirect", dst, index), src=src, **keywords)


def fetched(operation: str, argument: str = "data", engine: str | None = None, **arguments: Any) -> Program:
    """An instruction one of whose arguments is an indirect (128, 8) tile."""
    tile = arguments.pop("tile", sbuf(128, 8))
    index = arguments.pop("index", indices(128, 1))
    given = {**arguments, argument: run_time("indirect", tile, index)}
    return addressed(operation, engine, **given)


def indirect_matmul(operand: str = "stationary", dtype: str = "bfloat16", **changes: Any) -> Program:
    tiles = {
        "dst": psum(64, 64),
        "stationary": sbuf(128, 64, dtype=dtype),
        "moving": sbuf(128, 64, dtype=dtype),
        "accumulate": False,
    }
    tiles[operand] = run_time("indirect", tiles[operand], indices(128, 2))
    return addressed("nc_matmul", **{**tiles, **changes})


ROWS = sbuf(128, 8)
SCALE = {"op0": "multiply", "operand0": 2.0}
LOWER = view(sbuf(128, 8), (8, 32), (1, 8), offset=32 * 8)
LOWER_INDEX = view(indices(128, 1), (1, 32), (1, 1), offset=32)

CASES = [
    Case("gather-dtype", gather(dst=sbuf(128, 8, dtype="bfloat16")), gather(), ("bfloat16", "float32")),
    Case(
        "gather-dtype", local_gather(dst=sbuf(128, 32, dtype="int32")), local_gather(), ("int32", "float32")
    ),
    Case("gather-partitions", gather(rows=64), gather(rows=128), ("128 partitions", "64 partitions")),
    Case("gather-partitions", local_gather(partitions=24), local_gather(partitions=32), ("24", "16")),
    Case(
        "gather-partitions",
        local_gather(index=sbuf(64, 2, dtype="uint16")),
        local_gather(),
        ("index has 64", "128"),
    ),
    Case("local-gather-counts", local_gather(num_elem_per_idx=3), local_gather(), ("3", "1, 2, 4")),
    Case(
        "local-gather-counts",
        local_gather(33, num_valid_indices=33),
        local_gather(32, num_valid_indices=32),
        ("33", "32"),
    ),
    Case(
        "local-gather-counts",
        local_gather(4112, index=sbuf(128, 257, dtype="uint16")),
        local_gather(4096, index=sbuf(128, 256, dtype="uint16")),
        ("4112", "4096", "split"),
    ),
    Case(
        "local-gather-destination",
        local_gather(32, num_elem_per_idx=2),
        local_gather(64, num_elem_per_idx=2),
        ("32 elements", "32 x 2"),
    ),
    Case("nonzero-shape", nonzero(extra=0), nonzero(), ("(128, 9)", "count")),
    Case("nonzero-integers", nonzero(padding_val=-1.0), nonzero(padding_val=-1), ("padding_val", "int32")),
    Case("topk-shape", topk(rows=24, index_rows=24), topk(), ("24 partitions", "16")),
    Case("topk-shape", topk(index_rows=16), topk(), ("idx_dst has 16", "32")),
    Case("topk-counts", topk(n=7, k=1), topk(n=8, k=1), ("7", "8 to 65535")),
    Case("topk-counts", topk(k=41), topk(k=40), ("41", "40")),
    Case("topk-counts", topk(n=49), topk(n=48), ("49", "4")),
    Case("sequence-bounds-shape", bounds(1, 16), bounds(1, 2, 16), ("(1, 2, 16)",)),
    Case(
        "affine-integers",
        one("iota", dst=sbuf(4, 6), pattern=(1 << 31, 6)),
        one("iota", dst=sbuf(4, 6), pattern=(-(1 << 31), 6)),
        ("step 2147483648", "int32"),
    ),
    Case(
        "random-engine",
        one("rng", "gpsimd", "trn1", dst=indices(4, 4)),
        one("rng", "vector", "trn1", dst=indices(4, 4)),
        ("NeuronCore-v3", "vector"),
    ),
    Case(
        "random-engine",
        one("rand_get_state", "vector", "trn2", dst=indices(4, 24)),
        one("rand_get_state", "vector", "trn3", dst=indices(4, 24)),
        ("NeuronCore-v4", "gpsimd"),
    ),
    Case(
        "random-state-words",
        one("rand_set_state", src_seeds=indices(4, 24)),
        one("rand_set_state", src_seeds=indices(4, 6)),
        ("6 words", "(4, 6)"),
    ),
    Case(
        "random-seed-shape",
        one("set_rng_seed", src_seeds=indices(2, 1)),
        one("set_rng_seed", src_seeds=indices(1, 1)),
        ("one element", "(1, 1)"),
    ),
    Case(
        "random-range",
        one("rand2", target="trn3", dst=sbuf(4, 4), min=1.0, max=1.0),
        one("rand2", target="trn3", dst=sbuf(4, 4), min=0.0, max=1.0),
        ("min=1.0", "max=1.0"),
    ),
    Case(
        "dropout-dtypes",
        one("dropout", dst=sbuf(4, 4), data=sbuf(4, 4, dtype="bfloat16"), prob=0.5),
        one("dropout", dst=sbuf(4, 4), data=sbuf(4, 4), prob=0.5),
        ("bfloat16", "float32"),
    ),
    Case(
        "dropout-dtypes",
        one("dropout", dst=indices(4, 4), data=indices(4, 4), prob=sbuf(4, 1, dtype="bfloat16")),
        one("dropout", dst=indices(4, 4), data=indices(4, 4), prob=sbuf(4, 1)),
        ("prob is bfloat16", "float32"),
    ),
    Case(
        "dma-priority",
        dma(ROWS, hbm(128, 8), priority=4, target="trn3"),
        dma(ROWS, hbm(128, 8), priority=3, target="trn3"),
        ("4", "0 (first) to 3"),
    ),
    Case(
        "dma-transpose-shape",
        transposed(half(64, 1, 1, 32), sbuf(32, 64, dtype="bfloat16")),
        transposed(half(64, 1, 1, 32), sbuf(32, 1, 1, 64, dtype="bfloat16")),
        ("[32, 64]", "[32, 1, 1, 64]"),
    ),
    Case(
        "dma-transpose-shape",
        transposed(half(4, 2, 32), axes=(0, 2, 1)),
        transposed(half(4, 2, 32), axes=(2, 1, 0)),
        ("(0, 2, 1)", "(2, 1, 0)"),
    ),
    Case(
        "dma-transpose-shape",
        transposed(half(64, 1, 1, 32), sbuf(32, 64, dtype="bfloat16"), version="0.4"),
        transposed(half(64, 1, 1, 32), sbuf(32, 64, dtype="bfloat16"), version="0.3"),
        ("same rank",),
    ),
    Case(
        "dma-transpose-shape",
        transposed(half(64, 32), sbuf(32, 32, dtype="bfloat16"), version="0.3"),
        transposed(half(64, 32), sbuf(32, 64, dtype="bfloat16"), version="0.3"),
        ("1024", "2048"),
    ),
    Case(
        "dma-transpose-dtype",
        transposed(half(64, 32), sbuf(32, 64, dtype="float16")),
        transposed(half(64, 32)),
        ("float16", "bfloat16"),
    ),
    Case(
        "dma-transpose-queue",
        transposed(half(64, 32), dge_mode="swdge"),
        transposed(half(64, 32), dge_mode="none"),
        ("swdge", "unknown"),
    ),
    Case(
        "dma-transpose-queue",
        transposed(half(64, 32), dge_mode="hwdge"),
        transposed(half(16, 32), dge_mode="hwdge"),
        ("64", "16 rows"),
    ),
    Case(
        "dma-transpose-queue",
        transposed(half(8, 3, 32), dge_mode="hwdge"),
        transposed(half(8, 4, 32), dge_mode="hwdge"),
        ("[8, 3, 32]", "multiple of 16"),
    ),
    Case(
        "dma-transpose-queue",
        transposed(hbm(16, 32), dge_mode="hwdge"),
        transposed(hbm(16, 32)),
        ("float32", "2 bytes"),
    ),
    Case(
        "dma-transpose-queue",
        transposed(half(8, 4, 32), dge_mode="hwdge", version="0.5"),
        transposed(half(16, 128), dge_mode="hwdge", version="0.5"),
        ("before NKI 0.6", "[8, 4, 32]"),
    ),
    Case(
        "dma-transpose-gather",
        gather_transposed(half(32, 64), indices(32, 1), version="0.3"),
        gather_transposed(half(32, 64), indices(32, 1), version="0.4"),
        ("before NKI 0.4", "128"),
    ),
    Case(
        "dma-transpose-gather",
        gather_transposed(half(24, 64), indices(32, 1)),
        gather_transposed(half(32, 64), indices(32, 1)),
        ("[24, 64]", "multiple of 16"),
    ),
    Case(
        "dma-transpose-gather",
        gather_transposed(half(32, 2, 2, 64), indices(32, 1)),
        gather_transposed(half(32, 1, 2, 64), indices(32, 1)),
        ("second or third",),
    ),
    Case(
        "dma-transpose-gather",
        gather_transposed(half(32, 64), indices(32, 1, dtype="int32")),
        gather_transposed(half(32, 64), indices(32, 1)),
        ("int32", "uint32"),
    ),
    Case(
        "dma-transpose-gather",
        gather_transposed(half(128, 64), indices(64, 2)),
        gather_transposed(half(256, 64), indices(128, 2)),
        ("[64, 2]", "128"),
    ),
    Case(
        "dma-transpose-gather",
        gather_transposed(half(32, 64), indices(32, 1), dtype="float32"),
        gather_transposed(half(32, 64), indices(32, 1), dtype="float16"),
        ("float32", "2 bytes"),
    ),
    Case(
        "dma-skip",
        transposed(half(64, 32), oob_mode="skip"),
        gather_transposed(half(64, 32), indices(64, 1), oob_mode="skip"),
        ("static", "leave it out"),
    ),
    Case("dma-count", summed(hbm(128, 8), hbm(128, 9)), summed(hbm(128, 8), hbm(1024)), ("srcs[1]", "1152")),
    Case(
        "dma-compute-sources",
        gappy(summed(hbm(128, 8), hbm(128, 8))),
        summed(hbm(128, 8), hbm(128, 8)),
        ("gaps",),
    ),
    Case(
        "dma-compute-scales",
        summed(hbm(128, 8), hbm(128, 8), scales=[1.0, 2.0]),
        summed(hbm(128, 8), hbm(128, 8), scales=[1.0, 1.0]),
        ("2.0", "1.0 only"),
    ),
    Case(
        "dma-compute-scales",
        summed(hbm(128, 8), hbm(128, 8), scales=[1.0]),
        summed(hbm(128, 8), hbm(128, 8)),
        ("1 scales", "2 srcs"),
    ),
    Case(
        "dma-compute-addresses",
        summed(run_time("register", hbm(128, 8)), hbm(128, 8)),
        summed(hbm(128, 8), hbm(128, 8)),
        ("register", "dma_copy"),
    ),
    Case(
        "dma-compute-addresses",
        summed(run_time("vector", hbm(128, 8), indices(128, 1)), ROWS, ROWS, dst=ROWS),
        summed(run_time("vector", hbm(128, 8), indices(128, 1)), ROWS, dst=ROWS),
        ("3 srcs", "two"),
    ),
    Case(
        "dma-compute-addresses",
        summed(run_time("vector", hbm(128, 8), indices(128, 1)), ROWS, dst=hbm(128, 8)),
        summed(
            run_time("vector", hbm(128, 8), indices(128, 1)),
            ROWS,
            dst=run_time("vector", hbm(128, 8), indices(128, 1)),
        ),
        ("dst", "no source is the same"),
    ),
    Case(
        "dma-compute-addresses",
        summed(run_time("vector", hbm(128, 8), indices(128, 1)), ROWS, dst=ROWS, unique_indices=False),
        summed(run_time("vector", hbm(128, 8), indices(128, 1)), ROWS, dst=ROWS, unique_indices=True),
        ("unique_indices",),
    ),
    Case(
        "vector-offset-operation",
        addressed("dma_transpose", dst=run_time("vector", sbuf(32, 16), indices(32, 1)), src=hbm(16, 32)),
        addressed("dma_transpose", dst=sbuf(32, 16), src=hbm(16, 32)),
        ("dst", "only src may"),
    ),
    Case(
        "vector-offset-memory",
        gathered(table=ROWS),
        gathered(table=hbm(128, 8)),
        ("SBUF", "HBM", "nc_n_gather"),
    ),
    Case("vector-offset-queue", gathered(dge_mode="hwdge"), gathered(dge_mode="swdge"), ("hwdge", "swdge")),
    Case("vector-offset-target", gathered(target="trn1"), gathered(target="trn2"), ("NeuronCore-v3",)),
    Case("run-time-queue", selected(dge_mode="none"), selected(dge_mode="hwdge"), ("scalar", "unknown")),
    Case(
        "run-time-index",
        gathered(index=indices(128, 1, dtype="int16")),
        gathered(index=indices(128, 1, dtype="int32")),
        ("int16", "int32 or uint32"),
    ),
    Case(
        "run-time-index",
        selected(index=hbm(1, 1, dtype="int32")),
        selected(index=sbuf(1, 1, dtype="int32")),
        ("HBM", "SBUF"),
    ),
    Case("run-time-index", gathered(index=indices(128, 2)), gathered(), ("one index per partition",)),
    Case("run-time-combination", twice(gathered()), twice(selected("register")), ("vector", "register")),
    Case(
        "indirection-target",
        fetched("tensor_copy", "src", "vector", dst=ROWS, target="trn2"),
        fetched("tensor_copy", "src", "vector", dst=ROWS, target="trn3"),
        (".indirect", "NeuronCore-v4"),
    ),
    Case(
        "indirection-version",
        fetched("tensor_copy", "src", "vector", dst=ROWS, version="0.4"),
        fetched("tensor_copy", "src", "vector", dst=ROWS, version="0.5"),
        ("since NKI 0.5",),
    ),
    Case(
        "indirection-operation",
        fetched("tensor_tensor", "data2", dst=ROWS, data1=ROWS, op="add"),
        fetched("tensor_tensor", "data1", dst=ROWS, data2=ROWS, op="add"),
        ("data2", "data1, dst"),
    ),
    Case(
        "indirection-operation",
        fetched("reciprocal", dst=ROWS),
        fetched("activation", dst=ROWS, op="exp"),
        ("tensor_copy",),
    ),
    Case(
        "indirection-engine",
        fetched("tensor_copy", "src", "gpsimd", dst=ROWS),
        fetched("tensor_copy", "src", "scalar", dst=ROWS),
        ("scalar or vector", "gpsimd"),
    ),
    Case(
        "indirection-engine",
        scattered(psum(128, 8), ROWS, indices(128, 1), "scalar"),
        scattered(psum(128, 8), ROWS, indices(128, 1), "vector"),
        ("PSUM", "vector"),
    ),
    Case(
        "indirection-start",
        scattered(LOWER, view(ROWS, (8, 32), (1, 8)), LOWER_INDEX),
        scattered(LOWER, LOWER, LOWER_INDEX),
        ("index of dst", "32", "align"),
    ),
    Case(
        "indirection-start",
        fetched("tensor_copy", "src", dst=view(ROWS, (8, 32), (1, 8)), tile=LOWER, index=indices(32, 1)),
        fetched("tensor_copy", "src", dst=view(ROWS, (8, 32), (1, 8)), tile=LOWER, index=LOWER_INDEX),
        ("index of src", "32"),
    ),
    Case(
        "indirection-start",
        fetched("tensor_copy", "src", dst=ROWS, index=indices(64, 1)),
        fetched("tensor_copy", "src", dst=ROWS, index=indices(128, 1)),
        ("64 partitions", "128"),
    ),
    Case(
        "indirection-count",
        fetched("tensor_copy", "src", dst=sbuf(128, 17), tile=sbuf(128, 17)),
        fetched("tensor_copy", "src", dst=sbuf(128, 16), tile=sbuf(128, 16)),
        ("17 columns", "num_elem=16"),
    ),
    Case(
        "indirection-count",
        fetched(
            "tensor_copy",
            "src",
            dst=sbuf(32, 8),
            tile=view(sbuf(32, 8), (8, 32), (4, 2), (1, 4)),
            index=indices(32, 1),
        ),
        fetched("tensor_copy", "src", dst=sbuf(32, 8), tile=sbuf(32, 8), index=indices(32, 1)),
        ("3 dimensions",),
    ),
    Case(
        "indirection-matmul",
        indirect_matmul(tile_position=(0, 64), tile_size=(128, 64)),
        indirect_matmul(tile_position=(0, 0), tile_size=(128, 64)),
        ("(0, 64)", "(0, 0)"),
    ),
    Case("indirection-matmul", indirect_matmul(dtype="float32"), indirect_matmul(), ("float32", "bfloat16")),
    Case(
        "indirection-integers",
        fetched("tensor_scalar", tile=indices(128, 8), dst=indices(128, 8), **SCALE),
        fetched("tensor_scalar", dst=ROWS, **SCALE),
        ("uint32", "address arithmetic"),
    ),
]
