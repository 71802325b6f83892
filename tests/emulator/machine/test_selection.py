import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, nki_dtype, run, run_operation

F32 = np.float32
LEAST = float(np.finfo(F32).min)
SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 12))
FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True)
ORDERINGS = {
    "equal": lambda a, b: a == b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}


def copied_where(before, src, predicate, reverse=False):
    """The tile ``before`` after a predicated copy of a number or a tile onto it."""
    builder = ProgramBuilder()
    inputs = [before, predicate, *([src] if isinstance(src, np.ndarray) else [])]
    tiles = [builder.load(builder.input(array.shape, nki_dtype(array))) for array in inputs]
    source = builder.view(tiles[2]) if len(tiles) == 3 else src
    builder.add("tensor_copy_predicated", dst=tiles[0], src=source, predicate=tiles[1], reverse_pred=reverse)
    builder.store(tiles[0])
    return run(builder, *inputs)[0]


@st.composite
def predicated_copies(draw):
    shape = draw(SHAPES)
    dtype = draw(st.sampled_from([np.dtype(F32), BFLOAT16, np.dtype(np.int32), np.dtype(np.uint8)]))
    bits = arrays.arrays(f"u{dtype.itemsize}", shape)
    predicate = arrays.arrays(draw(st.sampled_from(["u1", "u2", "u4"])), shape, elements=st.integers(0, 2))
    return draw(bits).view(dtype), draw(bits).view(dtype), draw(predicate), draw(st.booleans())


@settings(max_examples=40, deadline=None)
@given(predicated_copies())
def test_a_predicated_copy_moves_the_chosen_elements_bit_for_bit_and_leaves_the_others(call):
    before, src, predicate, reverse = call
    expected = before.copy()
    for place in np.ndindex(before.shape):
        if bool(predicate[place]) != reverse:
            expected[place] = src[place]
    assert copied_where(before, src, predicate, reverse).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("dtype", "number", "stored"),
    [("float32", 1.5, 1.5), ("int32", 2**24 + 1, 2**24 + 1), ("uint8", 300.0, 255), ("int8", -2.5, -2)],
)
def test_a_predicated_copy_of_a_number_converts_it_to_the_destination(dtype, number, stored):
    before = np.array([[7, 7]], dtype)
    got = copied_where(before, number, np.array([[0, 1]], np.uint8))
    assert got.tolist() == [[7, stored]]


def test_predicated_operands_of_other_rank_meet_by_their_flattened_order():
    before = np.zeros((1, 2, 3), F32)
    src = np.arange(6, dtype=F32).reshape(1, 6)
    predicate = np.array([[[1, 0], [1, 0], [1, 0]]], np.uint8)
    assert copied_where(before, src, predicate).reshape(-1).tolist() == [0, 0, 2, 0, 4, 0]


@st.composite
def selections(draw):
    shape = draw(SHAPES)
    on_true = draw(arrays.arrays(F32, shape, elements=FLOATS))
    predicate = draw(arrays.arrays(draw(st.sampled_from(["i1", "u1", "i2", "u2"])), shape))
    column = draw(arrays.arrays(F32, (shape[0], 1), elements=FLOATS))
    on_false = draw(st.sampled_from([column, LEAST, 0.25]))
    return on_true, predicate, on_false, draw(st.booleans())


@settings(max_examples=40, deadline=None)
@given(selections())
def test_select_reduce_chooses_per_element_and_keeps_the_greatest_of_each_row(call):
    on_true, predicate, on_false, reverse = call
    chosen, greatest = run_operation(
        "select_reduce",
        {"dst": (on_true.shape, "float32"), "reduce_res": ((len(on_true), 1), "float32")},
        {
            "predicate": predicate,
            "on_true": on_true,
            "on_false": on_false,
            "reduce_cmd": "reset_reduce",
            "reverse_pred": reverse,
        },
    )
    for row, values in enumerate(on_true):
        other = on_false[row, 0] if isinstance(on_false, np.ndarray) else on_false
        expected = [
            float(value if bool(flag) != reverse else other)
            for value, flag in zip(values, predicate[row], strict=True)
        ]
        np.testing.assert_array_equal(chosen[row], expected)
        holds_nan = any(math.isnan(value) for value in expected)
        np.testing.assert_array_equal(greatest[row, 0], math.nan if holds_nan else max(expected))


@st.composite
def range_selections(draw):
    shape = draw(SHAPES)
    bounds = arrays.arrays(F32, (shape[0], 1), elements=st.integers(-4, 16).map(float))
    data = draw(arrays.arrays(F32, shape, elements=st.floats(-(2.0**99), 2.0**99, width=32)))
    return data, draw(bounds), draw(bounds), draw(st.tuples(*[st.sampled_from(sorted(ORDERINGS))] * 2))


@settings(max_examples=40, deadline=None)
@given(range_selections(), st.integers(-3, 3))
def test_range_select_keeps_the_elements_whose_index_lies_within_both_bounds(call, start):
    data, low, high, (first, second) = call
    kept, greatest = run_operation(
        "range_select",
        {"dst": (data.shape, "float32"), "reduce_res": ((len(data), 1), "float32")},
        {
            "on_true_tile": data,
            "comp_op0": first,
            "comp_op1": second,
            "bound0": low,
            "bound1": high,
            "range_start": start,
        },
    )
    for row, values in enumerate(data):
        expected = [
            float(value)
            if ORDERINGS[first](start + place, low[row, 0]) and ORDERINGS[second](start + place, high[row, 0])
            else LEAST
            for place, value in enumerate(values)
        ]
        assert kept[row].tolist() == expected
        assert greatest[row, 0] == max(expected)


BELOW = {"comp_op0": "greater_equal", "comp_op1": "less"}


def test_an_empty_range_is_minus_infinity_in_bfloat16_and_finite_in_its_maximum():
    # float32's least value rounds beyond bfloat16's; the accumulator still holds it (docstring, stability).
    data = np.array([[1, math.nan]], F32)
    kept, greatest = run_operation(
        "range_select",
        {"dst": ((1, 2), "bfloat16"), "reduce_res": ((1, 1), "float32")},
        {"on_true_tile": data, **BELOW, "bound0": np.zeros((1, 1), F32), "bound1": np.zeros((1, 1), F32)},
    )
    assert kept.astype(F32).tolist() == [[-math.inf, -math.inf]]
    assert greatest.item() == LEAST


def test_a_nan_bound_selects_nothing():
    nan = np.full((1, 1), math.nan, F32)
    (kept,) = run_operation(
        "range_select",
        {"dst": ((1, 2), "float32")},
        {"on_true_tile": np.ones((1, 2), F32), **BELOW, "bound0": nan, "bound1": nan},
    )
    assert kept.tolist() == [[LEAST, LEAST]]


def test_two_range_selects_share_one_maximum():
    builder = ProgramBuilder()
    left, right, low, high = (builder.load(builder.input((1, n))) for n in (3, 3, 1, 1))
    out, greatest = builder.tensor((1, 3)), builder.tensor((1, 1))
    bounds = {**BELOW, "bound0": low, "bound1": high}
    builder.add("range_select", dst=out, on_true_tile=left, **bounds)
    builder.add(
        "range_select",
        dst=out,
        on_true_tile=right,
        **bounds,
        range_start=3,
        reduce_cmd="reduce",
        reduce_res=greatest,
    )
    builder.store(out)
    builder.store(greatest)
    rows = [np.array([row], F32) for row in ([9, 5, 4], [1, 7, 8], [1], [5])]
    kept, top = run(builder, *rows)
    assert kept.tolist() == [[1, 7, LEAST]]  # indices 3 to 5, of which 5 is not below 5
    assert top.item() == 7  # of 5, 4 and 1, 7; the 9 at index 0 is below the range
