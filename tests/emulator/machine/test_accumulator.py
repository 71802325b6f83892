import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import run, run_operation

F32 = np.float32


def one_row(*values):
    return np.array([values], F32)


def test_five_instructions_share_one_accumulator():
    builder = ProgramBuilder("trn3")
    zeros, numbers, low, high = (builder.load(builder.input((1, n))) for n in (2, 3, 1, 1))
    flags = builder.load(builder.input((1, 3), "uint8"))
    out, narrow = builder.tensor((1, 3)), builder.tensor((1, 2))
    results = [builder.tensor((1, 1)) for _ in range(4)]
    more = {"reduce_cmd": "reduce"}
    builder.add("exponential", dst=narrow, src=zeros, reduce_cmd="reset_reduce")
    scalar = {"dst": out, "data": numbers, "op0": "multiply", "operand0": 1.0}
    builder.add("tensor_scalar_reduce", **scalar, reduce_op="add", reduce_res=results[0], **more)
    builder.add("tensor_scalar_cumulative", dst=out, src=numbers, op0="add", imm0=0.0, op1="add", **more)
    builder.add("tensor_scalar_reduce", **scalar, reduce_op="minimum", reduce_res=results[1], **more)
    select = {"dst": out, "predicate": flags, "on_true": numbers, "on_false": 9.0}
    builder.add("select_reduce", **select, reduce_res=results[2], **more)
    within = {"comp_op0": "greater_equal", "comp_op1": "less", "bound0": low, "bound1": high}
    builder.add("range_select", dst=out, on_true_tile=numbers, **within, reduce_res=results[3], **more)
    for result in results:
        builder.store(result)
    inputs = [one_row(0, 0), one_row(1, 2, 30), one_row(2), one_row(3), np.array([[0, 1, 1]], np.uint8)]
    got = [array.item() for array in run(builder, *inputs)]
    # exp(0) twice, then 1 + 2 + 30; another 33, and the least of 68 and the row; 9, 2 and 30; 30 at index 2.
    assert got == [35, 1, 30, 30]


def test_partitions_have_registers_of_their_own():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((64, 1)))
    out, sums = builder.tensor((64, 1)), builder.tensor((64, 1))
    whole = {"op0": "add", "operand0": 0.0, "reduce_op": "add"}
    upper = [builder.block(t, slice(32, 64), slice(1)) for t in (out, tile)]
    builder.add("tensor_scalar_reduce", dst=out, data=tile, **whole)
    builder.add("tensor_scalar_reduce", dst=upper[0], data=upper[1], **whole, reduce_cmd="reduce")
    builder.add("tensor_scalar_reduce", dst=out, data=tile, **whole, reduce_cmd="reduce", reduce_res=sums)
    builder.store(sums)
    (got,) = run(builder, np.ones((64, 1), F32))
    assert got[:, 0].tolist() == [2] * 32 + [3] * 32


@pytest.mark.parametrize(
    ("op", "identity"), [("add", 0), ("multiply", 1), ("maximum", -math.inf), ("minimum", math.inf)]
)
def test_a_reset_forgets_what_came_before(op, identity):
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 2)))
    out, result = builder.tensor((1, 2)), builder.tensor((1, 1))
    call = {"dst": out, "data": tile, "op0": "add", "operand0": 0.0, "reduce_op": op}
    builder.add("tensor_scalar_reduce", **call, reduce_cmd="load_reduce", reduce_init=-7.5)
    builder.add("tensor_scalar_reduce", **call, reduce_res=result)
    builder.store(result)
    (got,) = run(builder, one_row(identity, 3))
    assert got.item() == 3


def test_idle_leaves_the_accumulator_undefined():
    builder = ProgramBuilder()
    tile, flags = builder.load(builder.input((1, 2))), builder.load(builder.input((1, 2), "uint8"))
    out, result = builder.tensor((1, 2)), builder.tensor((1, 1))
    select = {"dst": out, "predicate": flags, "on_true": tile, "on_false": 0.0}
    builder.add("select_reduce", **select, reduce_cmd="reset_reduce")
    builder.add("select_reduce", **select)
    builder.add("select_reduce", **select, reduce_cmd="reduce", reduce_res=result)
    builder.store(result)
    (got,) = run(builder, one_row(1, 2), np.ones((1, 2), np.uint8))
    assert math.isnan(got.item())


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-(2.0**40), 2.0**40, width=32), min_size=1, max_size=20),
    st.sampled_from(["add", "multiply"]),
    st.floats(-8, 8, width=32),
)
def test_a_loaded_reduction_goes_on_element_by_element(values, op, start):
    state = F32(start)
    with np.errstate(over="ignore", invalid="ignore"):
        for value in values:
            state = state + F32(value) if op == "add" else state * F32(value)
    _, got = run_operation(
        "tensor_scalar_reduce",
        {"dst": ((1, len(values)), "bfloat16"), "reduce_res": ((1, 1), "float32")},
        {
            "data": one_row(*values),
            "op0": "add",
            "operand0": 0.0,
            "reduce_op": op,
            "reduce_cmd": "load_reduce",
            "reduce_init": start,
        },
    )
    np.testing.assert_array_equal(got.item(), state)


def test_a_negated_result_leaves_the_register_as_it_is():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 2)))
    out, first, second = builder.tensor((1, 2)), builder.tensor((1, 1)), builder.tensor((1, 1))
    call = {"dst": out, "data": tile, "op0": "add", "operand0": 0.0, "reduce_op": "add"}
    builder.add("tensor_scalar_reduce", **call, reduce_res=first, reduce_res_negate=True)
    builder.add("tensor_scalar_reduce", **call, reduce_res=second, reduce_cmd="reduce")
    builder.store(first)
    builder.store(second)
    assert [array.item() for array in run(builder, one_row(1, 2))] == [-3, 6]


def test_a_result_that_lies_in_the_destination_survives_it():
    # NKI 0.6.0 release notes fix the like of it in the vendor's simulator.
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 3)))
    last = builder.block(tile, slice(1), slice(2, 3))
    call = {"op0": "multiply", "operand0": 2.0, "reduce_op": "add"}
    builder.add("tensor_scalar_reduce", dst=tile, data=tile, **call, reduce_res=last)
    builder.store(tile)
    assert run(builder, one_row(1, 2, 3))[0].tolist() == [[2, 4, 12]]
