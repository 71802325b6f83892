"""Kernels and programs that once got past the emulator, crashed it, or were refused for nothing."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from pipeline.emulator.frontend import KernelError, KernelErrorKind
from pipeline.emulator.legality import check, uninitialised_reads
from pipeline.emulator.machine import Machine, MachineError
from pipeline.emulator.program import ProgramError, validate
from tests.emulator.frontend.submissions import execute, program_of

SQUARE = np.arange(64, dtype=np.float32).reshape(8, 8)
TILE = """
            tile = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x)"""
OUT = """
            out = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_copy(out, tile)
            return out"""
HEAD = """
        @nki.jit
        def kernel(x):"""


def loading(statement: str) -> str:
    """A kernel that loads `x` into `tile`, executes a statement and returns the tile."""
    return f"{HEAD}{TILE}\n            {statement}{OUT}"


GATHER = """
        @nki.jit
        def kernel(x, indices):
            rows = nl.ndarray((4, 1), dtype=nl.int32, buffer=nl.sbuf)
            LOAD
            secret = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(secret, 77.0)
            kept = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_copy(kept, secret)
            tile = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x.vector_select(0, rows), oob_mode=nisa.oob_mode.skip)
            out = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_copy(out, tile)
            return out
"""
LOADED = GATHER.replace("LOAD", "nisa.dma_copy(rows, indices)")
#: Rows 1 and 3 lie outside.
INDICES = np.array([[0], [100], [2], [200]], np.int32)


def test_rows_that_a_gather_skips_show_nothing_of_what_lay_there_before():
    program = program_of(LOADED, {"x": SQUARE, "indices": INDICES})
    (first,), (second,) = (Machine(program).run([SQUARE, INDICES], poison=poison) for poison in (0, 1))
    assert np.array_equal(first[[0, 2]], SQUARE[[0, 2]])
    assert np.isnan(first[[1, 3]]).all()
    assert (second[[1, 3]] == -1.5).all()


def test_an_index_tensor_that_nothing_wrote_is_an_uninitialised_read():
    program = program_of(GATHER.replace("LOAD", "pass"), {"x": SQUARE, "indices": INDICES})
    (read, *_) = uninitialised_reads(program)
    assert (read.operation, read.parameter) == ("dma_copy", "the index of src")
    assert program.tensors[read.tensor].name == "rows"


def shifted(first: int, last: int, column: str) -> str:
    return f"""{HEAD}{TILE}
            def body(i):
                cell = nl.ndarray((8, 1), dtype=nl.float32, buffer=nl.sbuf)
                nisa.tensor_copy(cell, tile[:, nl.ds({column}, 1)])
                nisa.tensor_copy(tile[:, nl.ds(i, 1)], cell)
            nl.fori_loop({first}, {last}, body){OUT}
"""


@pytest.mark.parametrize(
    ("first", "last", "column", "columns"),
    [
        # Each column becomes the one before it, which by then is the first.
        (1, 8, "i - 1", [0] * 8),
        (0, 7, "i + 1", [1, 2, 3, 4, 5, 6, 7, 7]),
        (0, 8, "15 - 2 * i - (7 - i) - 1", [7, 6, 5, 4, 4, 5, 6, 7]),
    ],
)
def test_a_register_may_be_added_to_and_taken_from_a_number(first, last, column, columns):
    (out,) = execute(shifted(first, last, column), x=SQUARE)
    assert np.array_equal(out, SQUARE[:, columns])


def test_an_engine_starts_where_it_can_whatever_a_register_says():
    source = f"""{HEAD}{TILE}
            def body(i):
                nisa.memset(tile[5:6, nl.ds(i, 1)], 0.0)
            nl.fori_loop(0, 1, body){OUT}
    """
    program = program_of(source, {"x": SQUARE})
    assert [v for v in check(program) if v.severity == "error"] == []
    with pytest.raises(
        MachineError, match="line 11: memset: dst: 1 partitions of tile start at 5, must start"
    ):
        Machine(program).run([SQUARE])


#: Statement, and what its refusal says.
REFUSED = {
    "a register on the partitions": (
        "nl.fori_loop(0, 2, lambda i: nisa.memset(tile[nl.ds(i, 1)], 0.0))", "partition dimension",
    ),
    "an array as index": ("tile[:, np.arange(3)]", "cannot index with ndarray"),
    "an array as index before others": ("tile[np.arange(3), 0]", "cannot index with ndarray"),
    "a stride that is no integer": ("tile.ap([[8.5, 8], [1, 8]])", "integers"),
    "an offset that is no integer": ("tile.ap([[8, 8], [1, 4]], offset=1.5)", "integer"),
    "a stride beyond any memory": ("nisa.dma_copy(tile[0:1], x.ap([[10**30, 1], [1, 8]]))", "beyond"),
    "a broadcast beyond any memory": ("tile.expand_dim(1).broadcast(1, 10**30)", "broadcast to size"),
    "a loop beyond any register": ("nl.fori_loop(0, 2**70, lambda i: nisa.memset(tile, 0.0))", "32 bits"),
    "a step beyond any register": ("nl.fori_loop(0, 9, lambda i: nisa.memset(tile, 0.0), 2**70)", "32 bits"),
    "an address beyond any memory": (
        "nisa.dma_copy(tile[0:1], x[nl.ds(nisa.register_alloc(0) * 10**30, 1)])", "run-time index",
    ),
    "a pattern in one string": ("tile.rearrange('p f', 'f p')", "rearrange('p f', 'f p')"),
    "a step that is no integer": ("tile[:, ::2.5]", "compile-time integers"),
    "a dimension that is none": ("tile.expand_dim(None)", "a dimension is an integer"),
    "a negative dimension to expand": ("tile.expand_dim(-1)", "use 1 to 2"),
    "dimensions one by one": ("tile.permute(0)", "must be a tuple"),
    "a shape that is a number": ("tile.reshape(64)", "must be a tuple"),
    "a dimension of another kind": ("tile.select(2.5, 0)", "a dimension is an integer"),
    "no axis": ("nl.sum(tile, axis=None)", "axis None"),
    "a pair for a register": ("nisa.register_alloc((1, 2))", "an integer or a register"),
    "a list for a register": ("nisa.register_move(nisa.register_alloc(0), [1])", "an integer or a register"),
    "two registers multiplied": (
        "nisa.register_alloc(0) * nisa.register_alloc(0)", "known only on the device",
    ),
    "no columns": ("tile.indirect(tile[:, 0:1].view(nl.uint32), 0)", "num_elem must be a positive integer"),
    "half a column": ("tile.indirect(tile[:, 0:1].view(nl.uint32), 1.5)", "num_elem must be a positive"),
    "whole division": ("tile // 2", "nl.floor"),
    "whole division of a number": ("2 // tile", "nl.floor"),
    "a remainder": ("tile % 2", "nl.floor"),
    "a shift": ("tile << 1", "nl.left_shift"),
    "an inverse": ("~tile", "nl.invert"),
    "a magnitude": ("abs(tile)", "nl.abs"),
    "an operator that no tile has": (
        "nisa.activation(tile, nl.exp, tile, reduce_op=nl.maximum, reduce_res=tile[:, 0:1])", "it takes add",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_in_words(what):
    statement, words = REFUSED[what]
    with pytest.raises(KernelError) as caught:
        program_of("\n        import numpy as np" + loading(statement), {"x": SQUARE})
    assert words in caught.value.message
    assert caught.value.kind in (KernelErrorKind.COMPILE_ERROR, KernelErrorKind.TOO_LARGE)
    assert caught.value.line


def test_a_step_beyond_the_end_selects_the_first():
    (out,) = execute(loading("nisa.tensor_copy(tile[:, 0:8:10**30], tile[:, 7:8])"), x=SQUARE)
    assert np.array_equal(out, SQUARE[:, [7, 1, 2, 3, 4, 5, 6, 7]])


def test_operators_that_the_hardware_lacks_are_not_offered():
    statement, _ = REFUSED["an operator that no tile has"]
    with pytest.raises(KernelError) as caught:
        program_of(loading(statement), {"x": SQUARE})
    assert caught.value.message.endswith("it takes add")


def test_the_dtype_of_a_tensor_stays():
    with pytest.raises(KernelError, match="dtype"):
        program_of(loading("tile.dtype = nl.bfloat16"), {"x": SQUARE})


EXCHANGE = """
        @nki.jit
        def kernel(x):
            core = nl.program_id(0)
            shared = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            out = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            mine = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(mine, x[core * 4:core * 4 + 4])
            theirs = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.sbuf)
            def body(i):
                nisa.dma_copy(shared[core * 4:core * 4 + 4], mine)
                nisa.core_barrier(shared, (0, 1))
                nisa.dma_copy(theirs, shared[(1 - core) * 4:(1 - core) * 4 + 4])
                nisa.tensor_tensor(mine, mine, theirs, op=nl.add)
                LAST
            nl.fori_loop(0, 3, body)
            nisa.dma_copy(out[core * 4:core * 4 + 4], mine)
            return out
"""


def test_two_cores_must_meet_between_two_iterations_too():
    """The next iteration writes what the other core may still be reading."""
    execute(EXCHANGE.replace("LAST", "pass"), x=SQUARE, cores=2, refused=["core-race"])
    source = EXCHANGE.replace("LAST", "nisa.core_barrier(shared, (0, 1))")
    (out,) = execute(source, x=SQUARE, cores=2)
    # Each iteration both become their sum, which then doubles.
    half = 4 * (SQUARE[:4] + SQUARE[4:])
    assert np.array_equal(out, np.concatenate([half, half]))


def test_what_cores_exchange_within_a_loop_is_written_before_it_is_read():
    source = EXCHANGE.replace("LAST", "nisa.core_barrier(shared, (0, 1))")
    assert uninitialised_reads(program_of(source, {"x": SQUARE}, cores=2)) == []


SCATTER = """
        @nki.jit
        def kernel(x):
            rows = nl.ndarray((2, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.iota(rows, [[1, 1]], 3, 2)
            tile = nl.ndarray((2, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(tile, 2.0)
            out = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_copy(out, x)
            nisa.dma_copy(out.ap([[1, 2], [1, 8]], vector_offset=rows), tile)
            return out
"""
COLUMNS = """
        @nki.jit
        def kernel(x):
            tile = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x)
            names = nl.ndarray((8, 1), dtype=nl.uint16, buffer=nl.sbuf)
            nisa.iota(names, [[1, 1]], 7, -1)
            reversed_ = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(reversed_.indirect(names, 8), tile)
            out = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
            nisa.dma_copy(out, reversed_)
            return out
"""


def test_the_stride_that_an_index_tensor_replaces_overlaps_with_nothing():
    (scattered,) = execute(SCATTER, x=SQUARE)
    expected = SQUARE.copy()
    expected[[3, 5]] = 2
    assert np.array_equal(scattered, expected)
    (columns,) = execute(COLUMNS, x=SQUARE, target="trn3")
    assert np.array_equal(columns, SQUARE[:, ::-1])


@pytest.mark.parametrize("step", [0, -1, (1,), (0, 1)])
def test_a_forged_loop_that_does_not_advance_is_no_program(step):
    program = program_of(shifted(0, 8, "i"), {"x": SQUARE})
    begin = program.operations.index("for_begin")
    forged = tuple(
        msgspec.structs.replace(i, scalars=(*i.scalars[:3], step)) if i.operation == begin else i
        for i in program.instructions
    )
    with pytest.raises(ProgramError, match="positive integer"):
        validate(msgspec.structs.replace(program, instructions=forged))


def test_a_sink_is_one_for_every_tile_of_its_line():
    """The first tile that an overlapping write goes to is never read; the others are."""
    source = f"""{HEAD}{TILE}
            for step in range(2):
                sink = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf)
                nisa.memset(sink, 0.0)
                nisa.tensor_copy(sink[:, 0:1].broadcast(1, 8), tile)
                if step:
                    nisa.tensor_copy(tile, sink){OUT}
    """
    execute(source, x=SQUARE, refused=["destination-overlap"])
