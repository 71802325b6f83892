import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run, run_operation

F32 = np.float32
ABSENT = 0xFFFFFFFF
#: Few values, so that duplicates and values that are not there are common.
SMALL = st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, math.inf, math.nan])


def rows_of(elements, width):
    return st.tuples(st.integers(1, 9), width).flatmap(
        lambda shape: arrays.arrays(F32, shape, elements=elements)
    )


@settings(max_examples=40, deadline=None)
@given(rows_of(st.floats(width=32, allow_nan=False), st.integers(8, 40)))
def test_max8_is_the_head_of_the_row_sorted_descending(data):
    (got,) = run_operation("max8", {"dst": ((len(data), 8), "float32")}, {"src": data})
    for row, values in enumerate(data):
        assert got[row].tolist() == sorted(values.tolist(), reverse=True)[:8]


def test_max8_converts_to_float32_and_keeps_duplicates():
    # 2**24 + 1 is no float32; of nine equal values eight are reported.
    data = np.array([[2**24 + 1] * 9 + [0]], np.int32)
    (got,) = run_operation("max8", {"dst": ((1, 8), "float32")}, {"src": data})
    assert got.tolist() == [[2**24] * 8]


def test_max8_reads_a_tile_of_two_free_dimensions():
    data = np.arange(16, dtype=F32).reshape(1, 4, 4)
    (got,) = run_operation("max8", {"dst": ((1, 8), "bfloat16")}, {"src": data})
    assert got.astype(F32).tolist() == [[15, 14, 13, 12, 11, 10, 9, 8]]


def occurrences(row, value):
    return [place for place, element in enumerate(row) if element == value]


def paired(row, wanted, *, ascending):
    """The place each of the eight values is paired with, None where its occurrences have run out.

    Equal values share the occurrences of their value: the j-th of them, counted from the first column or from
    the last, has the j-th.
    """
    columns = range(8) if ascending else range(7, -1, -1)
    places = [None] * 8
    for value in set(wanted):
        sharers = [column for column in columns if wanted[column] == value]
        for column, place in zip(sharers, occurrences(row, value), strict=False):
            places[column] = place
    return places


@st.composite
def searches(draw):
    shape = draw(st.tuples(st.integers(1, 9), st.integers(8, 24)))
    data = draw(arrays.arrays(F32, shape, elements=SMALL))
    return data, draw(arrays.arrays(F32, (shape[0], 8), elements=SMALL))


@settings(max_examples=40, deadline=None)
@given(searches())
def test_equal_values_find_their_occurrences_in_ascending_order(call):
    data, vals = call
    (got,) = run_operation(
        "nc_find_index8", {"dst": ((len(data), 8), "uint32")}, {"data": data, "vals": vals}
    )
    for row, values in enumerate(data):
        places = paired(values, vals[row].tolist(), ascending=True)
        assert got[row].tolist() == [ABSENT if place is None else place for place in places]


@settings(max_examples=40, deadline=None)
@given(searches(), st.sampled_from([-math.inf, 0.0, 7.0]))
def test_equal_values_are_replaced_in_descending_order_each_occurrence_once(call, imm):
    data, vals = call
    replaced, indices = run_operation(
        "nc_match_replace8",
        {"dst": (data.shape, "float32"), "dst_idx": ((len(data), 8), "uint32")},
        {"data": data, "vals": vals, "imm": imm},
    )
    for row, values in enumerate(data):
        places = paired(values, vals[row].tolist(), ascending=False)
        expected = [imm if place in places else float(value) for place, value in enumerate(values)]
        np.testing.assert_array_equal(replaced[row], expected)
        assert indices[row].tolist() == [ABSENT if place is None else place for place in places]


# The example of the docstring of nc_match_replace8, which also says what nc_find_index8 makes of it.
DATA = np.array([[1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8]], F32)
VALS = np.array([[3, 8, 8, 8, 8, 8, 8, 8]], F32)


def test_the_documented_example_of_duplicates():
    _, indices = run_operation(
        "nc_match_replace8",
        {"dst": (DATA.shape, "float32"), "dst_idx": ((1, 8), "uint32")},
        {"data": DATA, "vals": VALS, "imm": 0.0},
    )
    assert indices.tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]
    (found,) = run_operation("nc_find_index8", {"dst": ((1, 8), "uint32")}, {"data": DATA, "vals": VALS})
    assert found.tolist() == [[2, 4, 5, 6, 7, 8, 9, 10]]


@pytest.mark.parametrize(("dtype", "absent"), [("uint16", 0xFFFF), ("uint32", 0xFFFFFFFF)])
def test_a_missing_value_is_all_ones(dtype, absent):
    vals = np.full((1, 8), 9, F32)
    (found,) = run_operation("nc_find_index8", {"dst": ((1, 8), dtype)}, {"data": DATA, "vals": vals})
    assert found.tolist() == [[absent] * 8]


def test_values_of_another_type_are_compared_as_float32():
    # 0.1 as bfloat16 is 0.100097656, which the float32 row must hold to match.
    vals = np.full((1, 8), 0.1, BFLOAT16)
    data = np.array([[0.1, 0.10009765625] * 4], F32)
    (found,) = run_operation("nc_find_index8", {"dst": ((1, 8), "uint32")}, {"data": data, "vals": vals})
    assert found.tolist() == [[1, 3, 5, 7, *[ABSENT] * 4]]


def test_the_sixteen_largest_come_from_two_rounds_in_place():
    builder = ProgramBuilder()
    row = builder.load(builder.input((1, 40)))
    first, second = builder.tensor((1, 8)), builder.tensor((1, 8))
    builder.add("max8", dst=first, src=row)
    builder.add("nc_match_replace8", dst=row, data=row, vals=first, imm=-math.inf)
    builder.add("max8", dst=second, src=row)
    builder.store(first)
    builder.store(second)
    data = np.random.default_rng(5).integers(0, 12, (1, 40)).astype(F32)
    got = np.concatenate(run(builder, data), axis=1)
    assert got[0].tolist() == sorted(data[0].tolist(), reverse=True)[:16]
