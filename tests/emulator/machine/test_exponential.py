import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, nki_dtype, run, run_operation

F32 = np.float32
#: exp of a float32 difference: half a unit for the difference, magnified by its size, and one for exp.
UNIT = 2.0**-23


def exponential(src, dtype="float32", **arguments):
    results = {"dst": (src.shape, dtype)}
    if "reduce_cmd" in arguments:
        results["reduce_res"] = ((len(src), 1), "float32")
    return run_operation("exponential", results, {"src": src, **arguments}, target="trn3")


@st.composite
def scores(draw):
    shape = draw(st.tuples(st.integers(1, 9), st.integers(1, 12)))
    elements = st.floats(-40, 40, width=32)
    src = draw(arrays.arrays(F32, shape, elements=elements))
    return src, draw(arrays.arrays(F32, (shape[0], 1), elements=elements))


@settings(max_examples=40, deadline=None)
@given(scores())
def test_it_exponentiates_the_difference_and_sums_each_row(call):
    src, greatest = call
    got, sums = exponential(src, max_value=greatest, reduce_cmd="reset_reduce")
    for row, values in enumerate(src.astype(float)):
        differences = [value - float(greatest[row, 0]) for value in values]
        expected = [math.exp(difference) for difference in differences]
        within = UNIT * (2 + max(abs(difference) for difference in differences))
        assert got[row].tolist() == pytest.approx(expected, rel=within, abs=1e-45)
        assert sums[row, 0] == pytest.approx(math.fsum(expected), rel=within + UNIT * len(values), abs=1e-45)


def test_the_ends_of_the_range():
    src = np.array([[-math.inf, -104, -88, 0, 88, 89, math.inf, math.nan]], F32)
    (got,) = exponential(src)
    expected = [0, 0, math.exp(-88), 1, math.exp(88), math.inf, math.inf, math.nan]
    np.testing.assert_allclose(got[0], expected, rtol=1e-6)
    assert 0 < got[0, 2] < np.finfo(F32).tiny  # a denormal


def test_a_masked_row_minus_its_own_maximum_is_not_a_number():
    src = np.full((1, 2), -math.inf, F32)
    (got,) = exponential(src, max_value=src[:, :1].copy())
    assert np.isnan(got).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8"])
def test_the_sum_is_taken_before_values_are_rounded(dtype):
    # exp(0.25) = 1.2840254..., which no narrow type holds.
    src = np.full((1, 4), 0.25, F32)
    _, sums = exponential(src, dtype, reduce_cmd="reset_reduce")
    assert sums.item() == pytest.approx(4 * math.exp(0.25), rel=4 * UNIT)


def test_a_sum_starts_from_what_is_loaded():
    src = np.zeros((2, 3), F32)
    init = np.array([[10], [20]], F32)
    _, sums = exponential(src, reduce_cmd="load_reduce", reduce_init=init)
    assert sums.tolist() == [[13], [23]]


def test_softmax_of_a_row_in_two_pieces():
    builder = ProgramBuilder("trn3")
    src = np.array([[1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 0]], BFLOAT16)
    tile = builder.load(builder.input(src.shape, nki_dtype(src)))
    top = builder.load(builder.input((2, 1)))
    out, sums = builder.tensor((2, 6)), builder.tensor((2, 1))
    for piece, more in ((slice(0, 3), {}), (slice(3, 6), {"reduce_res": sums})):
        builder.add(
            "exponential",
            dst=builder.block(out, slice(2), piece),
            src=builder.block(tile, slice(2), piece),
            max_value=builder.view(top),
            reduce_cmd="reduce" if more else "reset_reduce",
            **more,
        )
    builder.store(out)
    builder.store(sums)
    values, totals = run(builder, src, np.array([[6], [0]], F32))
    wide = np.exp(src.astype(np.float64) - [[6], [0]])
    np.testing.assert_allclose(values / totals, wide / wide.sum(axis=1, keepdims=True), rtol=1e-6)
