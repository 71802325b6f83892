"""Loops that the device runs: counted, bounded by registers, conditional; what their bodies may not do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.frontend import KernelError
from pipeline.emulator.machine import Machine, MachineError
from pipeline.emulator.operations import Control
from tests.emulator.frontend.kernels import refusal, refused_submission
from tests.emulator.frontend.submissions import execute, program_of

DOUBLE_ROWS = """
    @nki.jit
    def kernel(x, n):
        out = nl.ndarray((512, 16), dtype=nl.float32, buffer=nl.shared_hbm)
        zeros = nl.zeros((128, 16), dtype=nl.float32, buffer=nl.sbuf)
        for block in range(4):
            nisa.dma_copy(out[block * 128:(block + 1) * 128], zeros)
        bound = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(bound, n)
        blocks = nisa.register_alloc()
        nisa.register_load(blocks, bound)
"""
BODY = """
            tile = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(tile, x[nl.ds(i * 128, 128), :])
            nisa.tensor_scalar(tile, tile, op0=nl.multiply, operand0=2.0)
            nisa.dma_copy(out[nl.ds(i * 128, 128)], tile)
"""
X = np.arange(512 * 16, dtype=np.float32).reshape(512, 16)


@pytest.mark.parametrize(
    "loop",
    [
        "        def body(i):" + BODY + "        nl.fori_loop(0, blocks, body)\n",
        "        for i in nl.dynamic_range(blocks):" + BODY,
        "        for i in nl.dynamic_range(0, blocks, 1):" + BODY,
    ],
    ids=["fori_loop", "dynamic_range", "dynamic_range-with-start"],
)
@pytest.mark.parametrize("blocks", [0, 1, 3, 4])
def test_a_loop_runs_as_often_as_its_register_says(loop, blocks):
    (out,) = execute(DOUBLE_ROWS + loop + "        return out\n", x=X, n=np.array([[blocks]], np.int32))
    expected = np.where(np.arange(512)[:, None] < 128 * blocks, 2 * X, 0)
    assert np.array_equal(out, expected)


def test_a_loop_is_recorded_once_however_often_it_runs():
    source = DOUBLE_ROWS + "        for i in nl.dynamic_range(4):" + BODY + "        return out\n"
    program = program_of(source, {"x": X, "n": np.array([[4]], np.int32)})
    names = [program.operations[instruction.operation] for instruction in program.instructions]
    assert names[names.index(Control.FOR_BEGIN) :] == [
        "for_begin",
        "dma_copy",
        "tensor_scalar",
        "dma_copy",
        "for_end",
    ]


COUNT_DOWN = """
    @nki.jit
    def kernel(n):
        out = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        total = nl.zeros((1, 1), dtype=nl.int32, buffer=nl.sbuf)
        count = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(count, n)
        going = nisa.register_alloc(count)
        {loop}
        nisa.dma_copy(out, total)
        return out
"""
STEP = """nisa.tensor_scalar(total, total, op0=nl.add, operand0=5.0)
            nisa.tensor_scalar(count, count, op0=nl.subtract, operand0=1.0)
"""
WHILE = "while going:\n            " + STEP + "            nisa.register_load(going, count)"
WHILE_LOOP = (
    "def body(r):\n            "
    + STEP
    + "            nisa.register_load(r, count)\n            return r\n        nl.while_loop(going, body)"
)


@pytest.mark.parametrize("loop", [WHILE, WHILE_LOOP], ids=["while", "while_loop"])
@settings(max_examples=8, deadline=None)
@given(n=st.integers(0, 9))
def test_a_while_loop_runs_until_its_register_is_zero(loop, n):
    (out,) = execute(COUNT_DOWN.format(loop=loop), n=np.array([[n]], np.int32))
    assert out.tolist() == [[5 * n]]


def test_loops_nest_and_address_with_both_counters():
    source = """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((6, 4), dtype=nl.float32, buffer=nl.shared_hbm)
            def rows(i):
                def columns(j):
                    cell = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
                    nisa.dma_copy(cell, x[nl.ds(i, 1), nl.ds(j, 1)])
                    nisa.dma_copy(out[nl.ds(5 - i, 1), nl.ds(3 - j, 1)], cell)
                nl.fori_loop(0, 4, columns)
            nl.fori_loop(0, 6, rows)
            return out
    """
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    (out,) = execute(source, x=x)
    assert np.array_equal(out, x[::-1, ::-1])


def test_registers_move_load_and_store_32_bits():
    source = """
        @nki.jit
        def kernel(n):
            out = nl.ndarray((1, 2), dtype=nl.int32, buffer=nl.shared_hbm)
            cell = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
            nisa.dma_copy(cell, n)
            a, b = nisa.register_alloc(-7), nisa.register_alloc()
            nisa.register_load(b, cell)
            nisa.register_store(out[0:1, 0:1], b)
            nisa.register_move(b, a)
            nisa.register_store(out[0:1, 1:2], b)
            return out
    """
    (out,) = execute(source, n=np.array([[2**31 - 1]], np.int32))
    assert out.tolist() == [[2**31 - 1, -7]]


@pytest.mark.parametrize(
    ("body", "fragments"),
    [
        ("count = 0\nfor i in nl.dynamic_range(3):\n    count += 1\n    nisa.memset(t[:, count:], 0.0)",
         ("changes a Python value",)),
        ("tiles = []\ndef body(i):\n    tiles.append(i)\n    nisa.memset(t[:, len(tiles):], 0.0)\n"
         "nl.fori_loop(0, 3, body)", ("changes a Python value",)),
        ("for i in nl.dynamic_range(3):\n    nisa.memset(t, 0.0)\n    break", ("does not end", "break")),
        ("r = nisa.register_alloc(1)\nif r:\n    nisa.memset(t, 0.0)", ("does not end", "if")),
        ("r = nisa.register_alloc(1)\nif r < 3:\n    nisa.memset(t, 0.0)", ("only on the device",)),
        ("r = nisa.register_alloc(1)\nfor i in range(r):\n    nisa.memset(t, 0.0)", ("only on the device",)),
        ("r = nisa.register_alloc(1)\nfor i in nl.affine_range(r):\n    nisa.memset(t, 0.0)",
         ("unrolled", "fori_loop")),
        ("with nl.no_reorder():\n    for i in nl.dynamic_range(3):\n        nisa.memset(t, 0.0)",
         ("no_reorder", "body")),
        ("for i in nl.dynamic_range(3):\n    nisa.register_move(i, 0)", ("counter", "only the loop")),
        ("for i in nl.dynamic_range(0, 3, 0):\n    nisa.memset(t, 0.0)", ("step", "positive")),
        ("for i in nl.dynamic_range(t):\n    nisa.memset(t, 0.0)", ("upper", "register_load")),
        ("def body(i):\n    nisa.memset(t, 0.0)\n    return t\nnl.fori_loop(0, 3, body)",
         ("returns a value",)),
        ("def body(r):\n    nisa.memset(t, 0.0)\nnl.while_loop(nisa.register_alloc(1), body)",
         ("while_loop", "register")),
        ("kept = []\nfor i in nl.dynamic_range(3):\n    u = nl.zeros((128, 8), nl.float32, nl.sbuf)\n"
         "    kept.append(u)\nnisa.tensor_copy(t, kept[0])", ("within a run-time loop", "before the loop")),
        ("nisa.register_load(3, t[0:1, 0:1])", ("dst must be a register",)),
    ],
)  # fmt: skip
def test_what_a_run_time_loop_cannot_do_is_refused_by_name(body, fragments):
    error = refusal("t = nl.zeros((128, 8), dtype=nl.float32, buffer=nl.sbuf)\n" + body)
    assert error.kind == "compile_error"
    assert all(fragment in error.message for fragment in fragments), error.message


def test_a_return_from_within_a_loop_is_refused():
    source = """
        import nki, nki.language as nl, nki.isa as nisa
        @nki.jit
        def kernel(x):
            out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
            for i in nl.dynamic_range(2):
                nisa.dma_copy(out, x)
                return out
    """
    assert "does not end" in refused_submission(source).message


def test_deeply_nested_loops_are_recorded_in_time_that_grows_with_their_depth():
    lines = ["@nki.jit", "def kernel(x):"]
    lines.append("    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)")
    lines.append("    cell = nl.zeros((1, 1), dtype=nl.float32, buffer=nl.sbuf)")
    for depth in range(16):
        lines.append("    " * (depth + 1) + f"for i{depth} in nl.dynamic_range(1):")
    lines.append("    " * 17 + "nisa.tensor_scalar(cell, cell, op0=nl.add, operand0=1.0)")
    lines += ["    nisa.dma_copy(out, cell)", "    return out"]
    x = np.zeros((1, 1), np.float32)
    program = program_of("\n".join(lines), {"x": x})
    # Bodies recorded twice at every level would have taken 2**16 registers.
    assert program.registers < 16 * 16
    assert Machine(program).run([x])[0].tolist() == [[1.0]]


def test_an_endless_loop_ends_at_the_budget():
    source = """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
            tile = nl.zeros((1, 1), dtype=nl.float32, buffer=nl.sbuf)
            going = nisa.register_alloc(1)
            while going:
                nisa.tensor_scalar(tile, tile, op0=nl.add, operand0=1.0)
            nisa.dma_copy(out, tile)
            return out
    """
    program = program_of(source, {"x": np.zeros((1, 1), np.float32)})
    with pytest.raises(MachineError) as caught:
        Machine(program, budget=1_000_000).run([np.zeros((1, 1), np.float32)])
    assert caught.value.rule == "budget"
    assert caught.value.line > 0


def test_an_empty_endless_loop_ends_at_the_budget_too():
    source = """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
            def body(i):
                pass
            nl.fori_loop(0, 2**31 - 1, body)
            nisa.dma_copy(out, x)
            return out
    """
    program = program_of(source, {"x": np.zeros((1, 1), np.float32)})
    with pytest.raises(MachineError, match="touches more than"):
        Machine(program, budget=1_000_000).run([np.zeros((1, 1), np.float32)])


def test_memory_of_a_loop_keeps_its_contents_from_one_iteration_to_the_next():
    source = """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
            total = nl.zeros((1, 1), dtype=nl.float32, buffer=nl.sbuf)
            def body(i):
                cell = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
                nisa.dma_copy(cell, x[0:1, nl.ds(i, 1)])
                nisa.tensor_tensor(total, total, cell, op=nl.add)
            nl.fori_loop(0, 5, body)
            nisa.dma_copy(out, total)
            return out
    """
    (out,) = execute(source, x=np.array([[1, 2, 4, 8, 16]], np.float32))
    assert out.tolist() == [[31.0]]


def test_a_tensor_cannot_be_the_condition_of_a_while():
    error = refusal("t = nl.zeros((1, 1), dtype=nl.int32, buffer=nl.sbuf)\nwhile t:\n    nisa.memset(t, 0)")
    assert isinstance(error, KernelError)
    assert "condition" in error.message
