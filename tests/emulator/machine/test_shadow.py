"""Execution in float64, and what the rounding of each line contributes: values by hand or from NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pipeline.emulator.machine import Machine
from pipeline.emulator.machine.shadow import Attribution, Shadow, ShadowUnsupported, distance
from pipeline.emulator.program import AccessPattern, Offset, decode, encode, validate
from tests.emulator.program_builder import ProgramBuilder

RNG = np.random.default_rng(5)


def attribute(builder: ProgramBuilder, *inputs: np.ndarray, lines: int = 32) -> Attribution:
    program = decode(encode(builder.program()))
    validate(program)
    return Shadow(program).attribute(inputs, lines=lines)


def normal(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def through(dtype: str) -> ProgramBuilder:
    """Copies a (4, 8) float32 input into a tile of `dtype`, at line 11, and back."""
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 8)))
    narrow, wide = builder.tensor((4, 8), dtype), builder.tensor((4, 8))
    builder.add("tensor_copy", dst=narrow, src=tile)
    builder.add("tensor_copy", dst=wide, src=narrow)
    builder.store(wide)
    return builder


# In float64.


def test_a_chain_of_engines_runs_without_rounding():
    builder = ProgramBuilder()
    a, b, bias = (builder.load(builder.input(shape, "bfloat16")) for shape in ((64, 32), (64, 16), (32, 16)))
    product = builder.tensor((32, 16), buffer="psum")
    hidden, total, result = (builder.tensor(shape, "bfloat16") for shape in ((32, 16), (32, 1), (32, 16)))
    inverse = builder.tensor((32, 1))
    builder.add("nc_matmul", dst=product, stationary=a, moving=b, accumulate=False)
    builder.add("tensor_tensor", dst=hidden, data1=product, data2=bias, op="add")
    builder.add("activation", dst=hidden, op="exp", data=hidden, scale=0.1)
    builder.add("tensor_reduce", dst=total, op="add", data=hidden, axis=1)
    builder.add("reciprocal", dst=inverse, data=total)
    builder.add("tensor_scalar", dst=result, data=hidden, op0="multiply", operand0=builder.view(inverse))
    builder.store(result)
    x, y, z = (normal(*shape, dtype=ml_dtypes.bfloat16) for shape in ((64, 32), (64, 16), (32, 16)))
    found = attribute(builder, x, y, z)
    powers = np.exp((x.astype(float).T @ y.astype(float) + z.astype(float)) * 0.1)
    assert found.outputs[0].dtype == np.float64
    np.testing.assert_allclose(found.outputs[0], powers / powers.sum(axis=1, keepdims=True), rtol=1e-13)
    assert found.narrow == ()


def test_accumulators_keep_float64():
    builder = ProgramBuilder("trn3")
    x = builder.load(builder.input((4, 8)))
    powers, total = builder.tensor((4, 8), "bfloat16"), builder.tensor((4, 1))
    builder.add(
        "exponential",
        dst=powers,
        src=x,
        max_value=0.0,
        reduce_cmd="reset_reduce",
        reduce_res=builder.view(total),
        reduce_init=0.0,
    )
    builder.store(total)
    values = normal(4, 8)
    (total_found,) = attribute(builder, values).outputs
    np.testing.assert_allclose(total_found[:, 0], np.exp(values.astype(float)).sum(axis=1), rtol=1e-14)


def test_numbers_of_the_program_are_not_rounded_either():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 8)))
    filled = builder.tensor((4, 8), "bfloat16")
    builder.add("memset", dst=filled, value=0.1)
    builder.add("tensor_tensor", dst=tile, data1=tile, data2=filled, op="multiply")
    builder.add("tensor_scalar", dst=tile, data=tile, op0="multiply", operand0=1 / 3)
    builder.store(tile)
    found = attribute(builder, np.ones((4, 8), np.float32))
    np.testing.assert_allclose(found.outputs[0], 0.1 / 3, rtol=1e-15)
    # bfloat16(0.1) is 0.10009765625.
    assert (found.lines[0].line, found.lines[0].operation) == (11, "memset")
    assert found.lines[0].rel_l2 == pytest.approx(0.0009765625, rel=1e-9)


def test_integers_are_exact_where_the_vector_engine_is_not():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 2), "int32"))
    builder.add("tensor_scalar", dst=tile, data=tile, op0="add", operand0=2.0)
    builder.store(tile)
    found = attribute(builder, np.array([[(1 << 24) + 1, 1]], np.int32))
    assert found.outputs[0].tolist() == [[16777219, 3]]
    # 16777217 is no float32: it is read as 16777216, and 16777218 is one.
    assert [line.line for line in found.lines] == [11]
    assert found.lines[0].rel_l2 == pytest.approx(1 / 16777219, rel=1e-6)


# One line at a time.


def test_a_line_contributes_what_its_own_rounding_changes():
    values = np.full((4, 8), 1 + 2.0**-10, np.float32)
    found = attribute(through("bfloat16"), values)  # 1 in bfloat16
    ((line,),) = (found.lines,)
    assert (line.line, line.operation, line.share) == (11, "tensor_copy", 1.0)
    assert line.rel_l2 == pytest.approx(2.0**-10 / (1 + 2.0**-10), rel=1e-12)


def test_a_line_is_not_charged_for_what_others_stored():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 8)))
    coarse, fine = builder.tensor((4, 8), "float8_e5m2"), builder.tensor((4, 8), "bfloat16")
    builder.add("tensor_copy", dst=coarse, src=tile)
    builder.add("tensor_copy", dst=fine, src=coarse)
    builder.store(fine)
    found = attribute(builder, np.full((4, 8), 1.1, np.float32))
    # 1.1 is 1 in float8_e5m2, which bfloat16 holds: only line 11 rounds.
    assert [(line.line, line.share) for line in found.lines] == [(11, 1.0)]
    assert found.lines[0].rel_l2 == pytest.approx(0.1 / 1.1, rel=1e-6)


def test_a_sum_that_stops_growing_loses_what_it_no_longer_takes():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 1)))
    total = builder.tensor((1, 1), "bfloat16")
    builder.add("memset", dst=total, value=0.0)
    builder.registers = 1
    builder.add("for_begin", induction=(0,), lower=0, upper=512, step=1)
    builder.add("tensor_tensor", dst=total, data1=total, data2=tile, op="add")
    builder.add("for_end")
    builder.store(total)
    found = attribute(builder, np.ones((1, 1), np.float32))
    # 257 is no bfloat16 and rounds back to 256.
    assert found.outputs[0].tolist() == [[512.0]]
    assert [(line.line, line.rel_l2) for line in found.lines] == [(13, 0.5)]


def test_amplification_by_later_lines_counts_for_the_line_that_rounds():
    builder = ProgramBuilder()
    a, b = builder.load(builder.input((1, 1))), builder.load(builder.input((1, 1)))
    narrow, result = builder.tensor((1, 1), "bfloat16"), builder.tensor((1, 1))
    builder.add("tensor_copy", dst=narrow, src=a)
    builder.add("tensor_tensor", dst=result, data1=narrow, data2=b, op="subtract")
    builder.store(result)
    found = attribute(builder, np.full((1, 1), 257, np.float32), np.full((1, 1), 255, np.float32))
    # 257 becomes 256: half of the difference 2.
    assert [(line.line, line.rel_l2) for line in found.lines] == [(12, 0.5)]


def test_shares_are_squares_over_their_sum_and_the_largest_comes_first():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 64)))
    coarse, fine, result = (builder.tensor((4, 64), t) for t in ("bfloat16", "float16", "float32"))
    builder.add("tensor_copy", dst=fine, src=tile)
    builder.add("tensor_copy", dst=coarse, src=fine)
    builder.add("tensor_copy", dst=result, src=coarse)
    builder.store(result)
    lines = attribute(builder, normal(4, 64)).lines
    assert [line.line for line in lines] == [12, 11]
    total = sum(line.rel_l2**2 for line in lines)
    assert [line.share for line in lines] == pytest.approx([line.rel_l2**2 / total for line in lines])
    # bfloat16 has 3 bits of mantissa fewer than float16.
    assert lines[0].rel_l2 / lines[1].rel_l2 == pytest.approx(8, rel=0.2)


def test_contributions_add_up_to_the_error_of_the_real_execution():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((32, 64)))
    squares, result = builder.tensor((32, 64), "bfloat16"), builder.tensor((32, 64), "bfloat16")
    total, inverse = builder.tensor((32, 1)), builder.tensor((32, 1), "bfloat16")
    scale = builder.tensor((32, 1))
    builder.add("tensor_tensor", dst=squares, data1=tile, data2=tile, op="multiply")
    builder.add("tensor_reduce", dst=total, op="add", data=squares, axis=1)
    builder.add("activation", dst=inverse, op="rsqrt", data=total)
    builder.add("tensor_copy", dst=scale, src=inverse)
    builder.add("tensor_scalar", dst=result, data=tile, op0="multiply", operand0=builder.view(scale))
    builder.store(result)
    values = normal(32, 64)
    found = attribute(builder, values)
    (real,) = Machine(builder.program()).run([values])
    together = float(np.sqrt(sum(line.rel_l2**2 for line in found.lines)))
    assert together == pytest.approx(distance(found.outputs[0], real), rel=0.1)


def test_what_overflows_counts_as_lost():
    values = np.array([[1000.0] + [1.0] * 7] * 4, np.float32)  # the largest float8_e4m3 is 240
    found = attribute(through("float8_e4m3"), values)
    assert found.lines[0].rel_l2 == pytest.approx(1000 / np.sqrt(1000**2 + 7), rel=1e-6)


def test_a_line_is_not_charged_for_inputs_that_overflowed_before():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 8)))
    powers, total = builder.tensor((4, 8)), builder.tensor((4, 1))
    builder.add("activation", dst=powers, op="exp", data=tile)
    builder.add("tensor_reduce", dst=total, op="add", data=powers, axis=1)
    builder.store(total)
    found = attribute(builder, np.full((4, 8), 100, np.float32))  # exp(100) is 2.7e43
    assert [(line.line, line.rel_l2) for line in found.lines] == [(11, 1.0)]


@pytest.mark.parametrize(
    ("exact", "rounded", "expected"),
    [
        ([3.0, 4.0], [3.0, 4.5], 0.1),
        ([1e300, 0.0], [np.inf, 0.0], 1.0),
        ([1e300], [1e38], 1.0),
        ([1.0, np.nan, np.inf], [1.0, 2.0, np.nan], 0.0),
        ([0.0], [1.0], 1.0),
        ([0.0], [0.0], 0.0),
        ([1e-300], [1e300], 1e9),
        ([], [], 0.0),
    ],
)
def test_the_distance_is_finite_whatever_the_values(exact, rounded, expected):
    assert distance(np.array(exact, float), np.array(rounded, float)) == pytest.approx(expected)


def test_lines_that_lose_least_are_left_out_and_named():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 8)))
    coarse, fine, result = (builder.tensor((4, 8), t) for t in ("bfloat16", "float16", "float32"))
    builder.add("tensor_copy", dst=fine, src=tile)
    builder.add("tensor_copy", dst=coarse, src=fine)
    builder.add("tensor_copy", dst=result, src=coarse)
    builder.store(result)
    found = attribute(builder, normal(4, 8), lines=1)
    assert [line.line for line in found.lines] == [12]
    assert found.untried == (11,)


def test_equal_inputs_give_equal_attributions():
    builder, values = through("bfloat16"), normal(4, 8)
    first, second = attribute(builder, values), attribute(builder, values)
    assert (first.lines, first.untried) == (second.lines, second.untried)


# What cannot be widened.


def test_bits_read_as_another_type_stay_what_they_are():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 8)))
    bits, result = builder.tensor((4, 8), "int32"), builder.tensor((4, 8))
    # The sign bit cleared: |x| by a bitvec operator.
    builder.add(
        "tensor_scalar",
        dst=builder.view(bits),
        data=builder.view(tile, dtype="int32"),
        op0="bitwise_and",
        operand0=0x7FFFFFFF,
    )
    builder.add("tensor_copy", dst=result, src=builder.view(bits, dtype="float32"))
    builder.store(result)
    values = normal(4, 8)
    found = attribute(builder, values)
    assert np.array_equal(found.outputs[0], np.abs(values).astype(np.float64))
    assert found.narrow == (10, 12)  # the load of the tile and the copy out of the bits
    assert found.lines == ()


def test_random_numbers_are_drawn_as_they_really_are():
    builder = ProgramBuilder()
    words = builder.tensor((4, 8), "uint32")
    builder.add("rng", dst=words)
    builder.store(words)
    found = attribute(builder)
    assert np.array_equal(found.outputs[0], Machine(builder.program()).run([])[0])


def test_a_collective_is_refused_with_its_line():
    builder = ProgramBuilder()
    x = builder.input((4, 8))
    out = builder.tensor((4, 8), buffer="hbm")
    builder.add("all_reduce", src=x, dst=out, replica_group=(2, 0, 1), op="add")
    with pytest.raises(ShadowUnsupported, match="line 10: all_reduce exchanges data with other ranks"):
        Shadow(builder.program())


def test_two_cores_that_meet_run_in_float64():
    builder = ProgramBuilder(cores=2)
    x = builder.input((4, 8))
    out = builder.output((4, 8), "bfloat16")
    shared = builder.tensor((4, 8), "float16", "shared_hbm")
    tile = builder.tensor((4, 8), core=0)
    builder.add("dma_copy", dst=tile, src=x)
    builder.add("dma_copy", dst=shared, src=tile)
    builder.add("core_barrier", data=shared, cores=(0, 1))
    other = builder.tensor((4, 8), core=1)
    builder.add("core_barrier", core=1, data=shared, cores=(0, 1))
    builder.add("dma_copy", core=1, dst=other, src=shared)
    builder.add("dma_copy", core=1, dst=out, src=other)
    values = normal(4, 8)
    found = attribute(builder, values)
    assert np.array_equal(found.outputs[0], values.astype(np.float64))
    assert [line.line for line in found.lines] == [15, 11]


def test_an_address_of_run_time_moves_wide_elements():
    builder = ProgramBuilder()
    builder.registers = 1
    x = builder.input((4, 8))
    tile, out = builder.tensor((4, 1)), builder.tensor((4, 8), "bfloat16")
    builder.outputs.append(builder.tensor((4, 8), "bfloat16", "shared_hbm"))
    builder.add("for_begin", induction=(0,), lower=0, upper=8, step=1)
    column = AccessPattern(x, "float32", 0, ((8, 4), (1, 1)), (Offset("register", 0, 1),))
    builder.add("dma_copy", dst=tile, src=column)
    target = AccessPattern(out, "bfloat16", 0, ((8, 4), (1, 1)), (Offset("register", 0, 1),))
    builder.add("tensor_copy", dst=target, src=tile)
    builder.add("for_end")
    builder.add("dma_copy", dst=builder.outputs[0], src=out)
    values = normal(4, 8)
    found = attribute(builder, values)
    assert np.array_equal(found.outputs[0], values.astype(np.float64))
    rounded = values.astype(ml_dtypes.bfloat16)
    assert [line.line for line in found.lines] == [12]
    assert found.lines[0].rel_l2 == pytest.approx(distance(values, rounded), rel=1e-12)


@pytest.mark.parametrize(
    "inputs",
    [[], [np.ones((4, 8), np.float64)], [np.ones((4, 7), np.float32)]],
    ids=["missing", "dtype", "shape"],
)
def test_inputs_must_be_what_the_program_declares(inputs):
    with pytest.raises(ValueError, match="given"):
        Shadow(through("bfloat16").program()).attribute(inputs)
