"""Along a row, any types in and out: against loops that round every step to float32, as documented."""

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.machine.references import (
    FLOATS,
    INTEGERS,
    SHAPES,
    STORAGE,
    engine,
    stored,
    target_for,
    tile,
    values,
)
from tests.emulator.running import run_operation

FEW = settings(max_examples=25, deadline=None)
ANY = FLOATS + INTEGERS
NARROW = [name for name in ANY if name not in ("int32", "uint32")]

STEPS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "greater": lambda a, b: a > b,
    "logical_and": lambda a, b: (a != 0) & (b != 0),
    "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
}
REDUCTIONS = sorted(set(STEPS) - {"greater"})
BITWISE = {
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
}


def folded(op, row):
    """A row reduced first element first, every step rounded to float32; an element alone is the result."""
    if op.startswith("logical"):
        row = (row != 0).astype(float)
    return list(itertools.accumulate(row, lambda state, value: engine(STEPS[op](state, value))))[-1]


@st.composite
def reductions(draw):
    """A shape and how many of its last dimensions are reduced."""
    rows, *free = draw(SHAPES)[0], *draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    return (rows, *free), draw(st.integers(1, len(free)))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_tensor_reduce_folds_the_last_dimensions_of_any_type_in_float32(data):
    shape, reduced = data.draw(reductions())
    op, negate = data.draw(st.sampled_from(REDUCTIONS)), data.draw(st.booleans())
    first, dst = data.draw(st.sampled_from(ANY)), data.draw(st.sampled_from(ANY))
    source = data.draw(tile(first, shape))
    kept = shape[:-reduced]
    axis = tuple(range(len(kept), len(shape)))
    arguments = {"data": source, "op": op, "axis": axis, "negate": negate}
    results = {"dst": ((*kept, 1) if len(kept) == 1 else kept, dst)}
    (got,) = run_operation("tensor_reduce", results, arguments, target=data.draw(target_for(first, dst)))
    wide = values(source).reshape(math.prod(kept), -1)
    expected = np.array([folded(op, row) for row in wide]) * (-1 if negate else 1)
    np.testing.assert_array_equal(got.astype(float).ravel(), stored(expected, dst))


@FEW
@given(st.data())
def test_tensor_reduce_of_bit_patterns_is_exact_in_every_integer_type(data):
    shape, dtype = data.draw(SHAPES), data.draw(st.sampled_from(INTEGERS))
    op, source = data.draw(st.sampled_from(sorted(BITWISE))), data.draw(tile(dtype, shape))
    arguments = {"data": source, "op": op, "axis": -1}
    (got,) = run_operation("tensor_reduce", {"dst": ((shape[0], 1), dtype)}, arguments)
    expected = [list(itertools.accumulate(map(int, row), BITWISE[op]))[-1] for row in source]
    assert got[:, 0].tolist() == expected


IDENTITIES = {"add": 0.0, "multiply": 1.0, "maximum": -math.inf, "minimum": math.inf}


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_tensor_scalar_reduce_writes_every_element_and_reduces_them_unrounded(data):
    shape, op0 = data.draw(SHAPES), data.draw(st.sampled_from(sorted(STEPS)))
    first, dst, sums = (data.draw(st.sampled_from(ANY)) for _ in range(3))
    reduce_op, negate = data.draw(st.sampled_from(sorted(IDENTITIES))), data.draw(st.booleans())
    source, column = data.draw(tile(first, shape)), data.draw(tile("float32", (shape[0], 1)))
    loaded = data.draw(st.one_of(st.none(), tile("float32", (shape[0], 1))))
    arguments = {
        "data": source, "op0": op0, "operand0": column, "reduce_op": reduce_op, "reduce_res_negate": negate,
    }  # fmt: skip
    if loaded is not None:
        arguments |= {"reduce_cmd": "load_reduce", "reduce_init": loaded}
    results = {"dst": (shape, dst), "reduce_res": ((shape[0], 1), sums)}
    target = data.draw(target_for(first, dst, sums))
    got, reduced = run_operation("tensor_scalar_reduce", results, arguments, target=target)
    elements = engine(STEPS[op0](values(source), values(column)))
    np.testing.assert_array_equal(got.astype(float), stored(elements, dst))
    for row in range(shape[0]):
        start = IDENTITIES[reduce_op] if loaded is None else float(loaded[row, 0])
        total = folded(reduce_op, np.array([start, *elements[row]])) * (-1 if negate else 1)
        np.testing.assert_array_equal(reduced[row].astype(float), stored([total], sums))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_a_scan_of_any_types_keeps_its_state_in_float32(data):
    shape = data.draw(SHAPES)
    op0, op1 = (data.draw(st.sampled_from(sorted(STEPS))) for _ in range(2))
    first, second, dst = (data.draw(st.sampled_from(ANY)) for _ in range(3))
    data0, data1 = data.draw(tile(first, shape)), data.draw(tile(second, shape))
    reverse0, reverse1 = data.draw(st.booleans()), data.draw(st.booleans())
    initial = data.draw(tile(data.draw(st.sampled_from(["float32", "bfloat16"])), (shape[0], 1)))
    arguments = {
        "data0": data0, "data1": data1, "initial": initial, "op0": op0, "op1": op1,
        "reverse0": reverse0, "reverse1": reverse1,
    }  # fmt: skip
    target = data.draw(target_for(first, second, dst))
    (got,) = run_operation("tensor_tensor_scan", {"dst": (shape, dst)}, arguments, target=target)
    for row in range(shape[0]):
        state, expected = float(initial[row, 0]), []
        for left, right in zip(values(data0)[row], values(data1)[row], strict=True):
            inner = engine(STEPS[op0](*((state, left) if reverse0 else (left, state))))
            state = engine(STEPS[op1](*((right, inner) if reverse1 else (inner, right))))
            expected.append(float(state))
        np.testing.assert_array_equal(got[row].astype(float), stored(expected, dst))


CUMULATIVE = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "maximum": -math.inf, "minimum": math.inf}


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_tensor_scalar_cumulative_follows_the_loop_of_its_docstring(data):
    shape, op0 = data.draw(SHAPES), data.draw(st.sampled_from(sorted(STEPS)))
    op1 = data.draw(st.sampled_from(sorted(CUMULATIVE)))
    first, dst = data.draw(st.sampled_from(NARROW)), data.draw(st.sampled_from(NARROW))
    source, column = data.draw(tile(first, shape)), data.draw(tile("float32", (shape[0], 1)))
    loaded = data.draw(st.one_of(st.none(), st.sampled_from([0.5, -3.0, math.inf])))
    arguments = {"src": source, "op0": op0, "op1": op1, "imm0": column}
    if loaded is not None:
        arguments |= {"imm1": loaded, "reduce_cmd": "load_reduce"}
    results, target = {"dst": (shape, dst)}, data.draw(target_for(first, dst))
    (got,) = run_operation("tensor_scalar_cumulative", results, arguments, target=target)
    elements = engine(STEPS[op0](values(source), values(column)))
    for row in range(shape[0]):
        state, expected = CUMULATIVE[op1] if loaded is None else loaded, []
        for element in elements[row]:
            state = engine(STEPS[op1](element, state))
            expected.append(float(state))
        np.testing.assert_array_equal(got[row].astype(float), stored(expected, dst))


@st.composite
def statistics_inputs(draw, dtype, shape):
    """Numbers whose squares stay finite, so that an error can be bounded."""
    if dtype in INTEGERS:
        return draw(tile(dtype, shape))
    return draw(tile(dtype, shape, st.floats(-200, 200, width=32)))


@FEW
@given(st.data())
def test_bn_stats_describes_the_halves_of_a_row_of_any_type(data):
    rows, columns = data.draw(SHAPES)
    first = data.draw(st.sampled_from(ANY))
    source = data.draw(statistics_inputs(first, (rows, columns)))
    results, target = {"dst": ((rows, 6), "float32")}, data.draw(target_for(first))
    (got,) = run_operation("bn_stats", results, {"data": source}, target=target)
    for row, elements in enumerate(values(source)):
        for parity in range(2):
            half = elements[parity::2]
            count, mean, squares = got[row, 3 * parity : 3 * parity + 3].astype(float)
            assert count == len(half)
            exact = math.fsum(half) / len(half) if len(half) else 0.0
            scale = float(np.abs(half).max(initial=0))
            # The last term is the smallest step of float32, which a mean of denormal numbers rounds to.
            assert abs(mean - exact) <= 2.0**-22 * len(half) * scale + 2.0**-149
            exact = math.fsum((half - exact) ** 2)
            assert abs(squares - exact) <= 2.0**-19 * len(half) ** 2 * scale**2 + 2.0**-126


@FEW
@given(st.data())
def test_bn_aggr_merges_any_groups_by_their_counts(data):
    rows, groups = data.draw(SHAPES)
    finite = st.floats(-100, 100, width=32)
    counts = data.draw(tile("float32", (rows, groups), st.integers(1, 512).map(float)))
    means, squares = (
        data.draw(tile("float32", (rows, groups), finite)),
        data.draw(tile("float32", (rows, groups), finite)),
    )
    source = np.stack([counts, means, np.abs(squares)], axis=2).reshape(rows, 3 * groups)
    (got,) = run_operation("bn_aggr", {"dst": ((rows, 2), "float32")}, {"data": source})
    for row in range(rows):
        weights, centres, spreads = source[row].astype(float).reshape(groups, 3).T
        mean = math.fsum(weights * centres) / math.fsum(weights)
        variance = math.fsum(spreads + weights * (centres - mean) ** 2) / math.fsum(weights)
        scale = 1 + float(np.abs(centres).max())
        assert abs(got[row, 0] - mean) <= 2.0**-21 * groups * scale
        assert abs(got[row, 1] - variance) <= 2.0**-19 * groups * (scale**2 + variance)


@FEW
@given(st.data())
def test_statistics_are_rounded_once_into_any_type(data):
    dst = data.draw(st.sampled_from([*FLOATS, "int8"]))
    source = data.draw(tile("float32", (2, 3), st.integers(-60, 60).map(float)))
    source[:, 2] = source[:, 0]  # so that the mean of the even elements is exact
    (got,) = run_operation("bn_stats", {"dst": ((2, 6), dst)}, {"data": source}, target="trn3")
    expected = [[2, row[0], 0, 1, row[1], 0] for row in source]
    np.testing.assert_array_equal(got.astype(float), stored(expected, dst))
    triples = np.repeat(np.array([[1.0, 0.0, 0.0]], np.float32), 2, axis=0)
    triples[:, 1:] = source[:, :2]
    (got,) = run_operation("bn_aggr", {"dst": ((2, 2), dst)}, {"data": triples}, target="trn3")
    np.testing.assert_array_equal(got.astype(float), stored(source[:, :2], dst))


@FEW
@given(st.sampled_from([math.nan, math.inf, -math.inf]), st.integers(0, 4))
@np.errstate(all="ignore")
def test_what_is_no_number_spoils_its_own_half_and_the_merged_row(value, place):
    source = np.arange(1, 6, dtype=np.float32)[None].copy()
    source[0, place] = value
    (stats,) = run_operation("bn_stats", {"dst": ((1, 6), "float32")}, {"data": source})
    spoiled, sound = (slice(3, 6), slice(0, 3)) if place % 2 else (slice(0, 3), slice(3, 6))
    assert np.isfinite(stats[0, sound]).all()
    assert not np.isfinite(stats[0, spoiled][1:]).any()
    (merged,) = run_operation("bn_aggr", {"dst": ((1, 2), "float32")}, {"data": stats})
    assert not np.isfinite(merged).any()


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_partitions_are_reduced_lowest_first_in_float32(data):
    shape = data.draw(SHAPES)
    op = data.draw(st.sampled_from(["add", "average", "maximum"]))
    first, dst = data.draw(st.sampled_from(ANY)), data.draw(st.sampled_from(ANY))
    source, target = data.draw(tile(first, shape)), data.draw(target_for(first, dst))
    arguments = {"data": source, "op": op}
    (got,) = run_operation("tensor_partition_reduce", {"dst": ((1, shape[1]), dst)}, arguments, target=target)
    expected = [folded("add" if op == "average" else op, column) for column in values(source).T]
    if op == "average":
        expected = engine(np.array(expected) / shape[0])
    np.testing.assert_array_equal(got[0].astype(float), stored(expected, dst))


@FEW
@given(st.data())
def test_partitions_of_bit_patterns_are_reduced_exactly(data):
    shape, dtype = data.draw(SHAPES), data.draw(st.sampled_from(INTEGERS))
    op, source = data.draw(st.sampled_from(["bitwise_and", "bitwise_or"])), data.draw(tile(dtype, shape))
    arguments = {"data": source, "op": op}
    (got,) = run_operation("tensor_partition_reduce", {"dst": ((1, shape[1]), dtype)}, arguments)
    expected = [list(itertools.accumulate(map(int, column), BITWISE[op]))[-1] for column in source.T]
    assert got[0].tolist() == expected
    assert got.dtype == STORAGE[dtype]
