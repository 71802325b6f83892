import math

import numpy as np
import pytest

from pipeline.emulator.machine import Machine
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run, run_operation

F32 = np.float32


def activate(data, op="copy", dtype="float32", **arguments):
    (got,) = run_operation("activation", {"dst": (data.shape, dtype)}, {"data": data, "op": op, **arguments})
    return got


def test_scale_multiplies_and_bias_adds_before_the_function():
    data = np.array([[1, -2], [3, -4]], F32)
    scale = np.array([[10], [1]], F32)
    bias = np.array([[1], [2]], F32)
    assert activate(data, "relu", scale=scale, bias=bias).tolist() == [[11, 0], [5, 0]]
    assert activate(data, "square", scale=2.0, bias=1.0).tolist() == [[9, 9], [49, 49]]


def test_a_bfloat16_bias_is_read_as_float32():
    data, bias = np.zeros((1, 1), F32), np.array([[1.5]], BFLOAT16)
    assert activate(data, bias=bias).item() == 1.5


def test_the_result_is_rounded_once_into_the_destination():
    data = np.array([[1 + 2**-8]], F32)
    assert activate(data, scale=3.0, dtype="bfloat16").astype(F32).item() == 3.015625  # 3 + 3/256, to 2**-6


@pytest.mark.parametrize("shape", [(1, 1), (128, 3), (5, 2, 7)])
def test_activation_reduce_sums_the_unrounded_activated_values_in_order(shape):
    data = np.random.default_rng(1).standard_normal(shape, dtype=F32)
    out, total = run_operation(
        "activation_reduce",
        {"dst": (shape, "bfloat16"), "reduce_res": ((shape[0], 1), "float32")},
        {"data": data, "op": "square", "reduce_op": "add"},
    )
    expected = np.zeros(shape[0], F32)
    for column in np.square(data).reshape(shape[0], -1).T:
        expected += column
    np.testing.assert_array_equal(total[:, 0], expected)
    np.testing.assert_array_equal(out, np.square(data).astype(BFLOAT16))


def test_the_reduction_registers_persist_until_they_are_reset():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((2, 2)))
    out = builder.tensor((2, 2))
    totals = [builder.tensor((2, 1)) for _ in range(3)]
    common = {"dst": out, "op": "copy", "data": tile, "reduce_op": "add"}
    builder.add("activation", **common, reduce_cmd="reset_reduce", reduce_res=totals[0])
    builder.add("activation", dst=out, op="copy", data=tile)  # idle leaves them alone
    builder.add("activation", **common, reduce_cmd="reduce", reduce_res=totals[1])
    builder.add("activation", **common, reduce_cmd="reset", reduce_res=totals[2])
    for total in totals:
        builder.store(total)
    got = run(builder, np.array([[1, 2], [3, 4]], F32))
    assert [total[:, 0].tolist() for total in got] == [[3, 7], [6, 14], [0, 0]]


def test_registers_belong_to_lanes():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((64, 1)))
    out, total = builder.tensor((64, 1)), builder.tensor((64, 1))
    low, high = (builder.block(tile, slice(s, s + 32), slice(0, 1)) for s in (0, 32))
    out_low, out_high = (builder.block(out, slice(s, s + 32), slice(0, 1)) for s in (0, 32))
    common = {"op": "copy", "reduce_op": "add"}
    builder.add("activation", dst=out_low, data=low, **common, reduce_cmd="reset_reduce")
    builder.add("activation", dst=out_high, data=high, **common, reduce_cmd="reset_reduce")
    builder.add("activation", dst=out, data=tile, **common, reduce_cmd="reduce", reduce_res=total)
    builder.store(total)
    data = np.arange(64, dtype=F32)[:, None]
    (got,) = run(builder, data)
    np.testing.assert_array_equal(got, 2 * data)


def test_softmax_of_a_row_with_a_large_maximum_is_finite():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((2, 4)))
    top, exps, total, inverse = (
        builder.tensor((2, 1)),
        builder.tensor((2, 4)),
        builder.tensor((2, 1)),
        builder.tensor((2, 1)),
    )
    builder.add("tensor_reduce", dst=top, op="maximum", data=tile, axis=1, negate=True)
    builder.add(
        "activation", dst=exps, op="exp", data=tile, bias=builder.view(top), reduce_op="add",
        reduce_res=total, reduce_cmd="reset_reduce",
    )  # fmt: skip
    builder.add("reciprocal", dst=inverse, data=total)
    builder.add("tensor_scalar", dst=exps, data=exps, op0="multiply", operand0=builder.view(inverse))
    builder.store(exps)
    data = np.array([[1000, 1001, 1002, 1003], [-5, -5, -5, -5]], F32)
    (got,) = run(builder, data)
    exact = [math.exp(i - 3) / sum(math.exp(j - 3) for j in range(4)) for i in range(4)]
    np.testing.assert_allclose(got, [exact, [0.25] * 4], rtol=1e-6)


def observed(data, op, **arguments):
    """What one activation tells of its inputs."""
    builder = ProgramBuilder()
    tile = builder.load(builder.input(data.shape))
    out = builder.tensor(data.shape)
    builder.add("memset", dst=out, value=0.0)
    builder.add("activation", dst=out, op=op, data=tile, **arguments)
    builder.store(out)
    (result,) = Machine(builder.program()).execute([[data]])
    return result.observations


def test_inputs_outside_a_functions_domain_are_observed_after_scale_and_bias():
    data = np.array([[1, 2], [3, np.nan]], F32)
    assert observed(data, "sin") == ()
    (observation,) = observed(data, "sin", scale=2.0, bias=-1.0)
    assert (observation.function, observation.position) == ("sin", 2)
    assert (observation.least, observation.greatest) == (1, 5)
    assert (observation.low, observation.high) == (-F32(math.pi), F32(math.pi))
    assert observed(data, "sin", scale=2.0, bias=-4.0) == ()


def test_a_function_without_a_domain_observes_nothing():
    assert observed(np.array([[np.inf, -np.inf, 1e38]], F32), "exp") == ()


def test_the_destination_may_be_the_input_or_hold_the_bias():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((2, 3)))
    bias = builder.block(tile, slice(0, 2), slice(0, 1))
    builder.add("activation", dst=tile, op="square", data=tile, bias=bias, scale=2.0)
    builder.store(tile)
    (got,) = run(builder, np.array([[1, 2, 3], [-1, 0, 2]], F32))
    assert got.tolist() == [[9, 25, 49], [9, 1, 9]]


def test_prelu_without_a_slope_is_relu():
    assert activate(np.array([[-2, 3]], F32), "prelu").tolist() == [[0, 3]]
