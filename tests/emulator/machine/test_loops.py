"""Loops and registers of hand-made programs: what the machine does, whoever recorded them."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.emulator.machine import Machine, MachineError
from pipeline.emulator.program import ProgramError, validate
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import run


def adding_loop(begin: str, end: str, registers: int = 2, **arguments: object) -> ProgramBuilder:
    """Adds the input to a total once per iteration; register 1 is loaded from the second input."""
    builder = ProgramBuilder()
    builder.registers = registers
    x, bound = builder.input((2, 3)), builder.input((1, 1), "int32")
    tile, total = builder.load(x), builder.tensor((2, 3))
    builder.add("memset", dst=total, value=0.0)
    builder.add("register_load", dst=(1,), src=bound)
    builder.add(begin, **arguments)
    builder.add("tensor_tensor", dst=total, data1=total, data2=tile, op="add")
    if begin == "while_begin":
        builder.add("register_move", dst=(1,), src=0)
    builder.add(end)
    builder.store(total)
    return builder


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("lower", "upper", "step", "bound", "times"),
    [
        (0, 4, 1, 0, 4),
        (0, (1,), 1, 3, 3),
        ((1,), 5, 2, 1, 2),
        (3, 3, 1, 0, 0),
        (5, 2, 1, 0, 0),
        (0, (1,), 1, -2, 0),
        (0, 7, 3, 0, 3),
    ],
)
def test_a_counted_loop_runs_from_lower_by_step_to_below_upper(lower, upper, step, bound, times):
    builder = adding_loop("for_begin", "for_end", induction=(0,), lower=lower, upper=upper, step=step)
    (total,) = run(builder, X, np.array([[bound]], np.int32))
    assert np.array_equal(total, times * X)


@pytest.mark.parametrize(("condition", "times"), [(0, 0), (1, 1), (-5, 1)])
def test_a_conditional_loop_asks_before_every_iteration(condition, times):
    builder = adding_loop("while_begin", "while_end", condition=(1,))
    (total,) = run(builder, X, np.array([[condition]], np.int32))
    assert np.array_equal(total, times * X)


def test_what_the_body_does_to_the_counter_does_not_change_the_loop():
    builder = ProgramBuilder()
    builder.registers = 1
    x = builder.input((1, 1), "int32")
    count = builder.load(x)
    builder.add("for_begin", induction=(0,), lower=0, upper=3, step=1)
    builder.add("tensor_scalar", dst=count, data=count, op0="add", operand0=1.0)
    builder.add("register_move", dst=(0,), src=100)
    builder.add("for_end")
    builder.store(count)
    assert run(builder, np.array([[5]], np.int32))[0].tolist() == [[8]]


@pytest.mark.parametrize(
    ("marks", "rule"),
    [
        (["for_begin"], "loop"),
        (["for_end"], "loop"),
        (["for_begin", "while_end"], "loop"),
        (["for_begin"] * 17 + ["for_end"] * 17, "loop"),
    ],
)
def test_loops_that_do_not_nest_are_no_program(marks, rule):
    builder = ProgramBuilder()
    builder.registers = 1
    builder.store(builder.load(builder.input((1, 1))))
    arguments = {"for_begin": {"induction": (0,), "lower": 0, "upper": 1, "step": 1}}
    for mark in marks:
        builder.add(mark, **arguments.get(mark, {}))
    with pytest.raises(ProgramError) as caught:
        validate(builder.program())
    assert caught.value.rule == rule


@pytest.mark.parametrize("number", [2, -1, 2**40])
def test_a_register_that_there_is_not_is_no_program(number):
    builder = adding_loop("while_begin", "while_end", condition=(number,))
    with pytest.raises(ProgramError, match="condition"):
        validate(builder.program())


def test_nested_loops_that_explode_end_at_the_budget():
    builder = ProgramBuilder()
    builder.registers = 16
    tile = builder.load(builder.input((1, 1)))
    for depth in range(8):
        builder.add("for_begin", induction=(depth,), lower=0, upper=10**9, step=1)
    builder.add("tensor_scalar", dst=tile, data=tile, op0="add", operand0=1.0)
    for _ in range(8):
        builder.add("for_end")
    builder.store(tile)
    program = builder.program()
    validate(program)
    with pytest.raises(MachineError) as caught:
        Machine(program, budget=1 << 22).run([np.zeros((1, 1), np.float32)])
    assert caught.value.rule == "budget"


def test_tensors_of_a_loop_live_as_long_as_the_loop():
    builder = ProgramBuilder()
    builder.registers = 1
    x = builder.load(builder.input((128, 64)))
    builder.add("for_begin", induction=(0,), lower=0, upper=3, step=1)
    tiles = [builder.tensor((128, 64)) for _ in range(4)]
    for tile in tiles:
        builder.add("tensor_copy", dst=tile, src=x)
    builder.add("for_end")
    builder.store(x)
    tile_bytes = 128 * 64 * 4
    assert Machine(builder.program()).peak_bytes == 5 * tile_bytes
