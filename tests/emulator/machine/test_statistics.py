import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run, run_operation

F32 = np.float32
VALUES = st.floats(-1000, 1000, width=32, allow_subnormal=False)


def statistics_of(values):
    """Count, mean and sum of squared deviations, in float64."""
    mean = math.fsum(values) / len(values) if values else 0.0
    return len(values), mean, math.fsum((value - mean) ** 2 for value in values)


def bounds(values):
    """How far float32 may stray in mean and in sum of squares: n roundings of the largest term."""
    scale = max(map(abs, values), default=0.0)
    return 1e-7 * (len(values) + 2) * scale, 1e-6 * (len(values) + 2) * len(values) * scale**2 + 1e-30


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(1, 5), st.integers(1, 33)).flatmap(
        lambda shape: arrays.arrays(F32, shape, elements=VALUES)
    )
)
def test_bn_stats_describes_even_and_odd_elements_apart(data):
    (got,) = run_operation("bn_stats", {"dst": ((len(data), 6), "float32")}, {"data": data})
    for row, values in enumerate(data.astype(float).tolist()):
        for parity in range(2):
            half = values[parity::2]
            count, mean, squares = statistics_of(half)
            mean_bound, squares_bound = bounds(half)
            assert got[row, 3 * parity] == count
            assert got[row, 3 * parity + 1] == pytest.approx(mean, abs=mean_bound)
            assert got[row, 3 * parity + 2] == pytest.approx(squares, abs=squares_bound)


def test_bn_stats_of_small_integers_is_exact():
    # Even places 1, 3, 5: mean 3, squared deviations 4 + 0 + 4. Odd places 2, 6: mean 4, 4 + 4.
    data = np.array([[1, 2, 3, 6, 5]], F32)
    (got,) = run_operation("bn_stats", {"dst": ((1, 6), "float32")}, {"data": data})
    assert got.tolist() == [[3, 3, 8, 2, 4, 8]]


def test_a_single_element_has_no_odd_ones():
    (got,) = run_operation("bn_stats", {"dst": ((1, 6), "float32")}, {"data": np.array([[7]], F32)})
    assert got.tolist() == [[1, 7, 0, 0, 0, 0]]


def test_bn_aggr_merges_groups_by_their_counts():
    # Groups {1, 3, 5} and {2, 6}: mean 17 / 5, population variance (1 + 9 + 25 + 4 + 36) / 5 - 3.4**2 = 3.44.
    data = np.array([[3, 3, 8, 2, 4, 8]], F32)
    (got,) = run_operation("bn_aggr", {"dst": ((1, 2), "float32")}, {"data": data})
    assert got[0].tolist() == pytest.approx([3.4, 3.44], rel=1e-6)


def mean_and_variance(data, pieces, dtype="float32"):
    """Of rows that were measured in pieces of the given lengths."""
    builder = ProgramBuilder()
    rows = len(data)
    tile = builder.load(builder.input(data.shape))
    triples, out = builder.tensor((rows, 6 * len(pieces))), builder.tensor((rows, 2), dtype)
    start = 0
    for index, length in enumerate(pieces):
        part = builder.block(tile, slice(rows), slice(start, start + length))
        result = builder.block(triples, slice(rows), slice(6 * index, 6 * index + 6))
        builder.add("bn_stats", dst=result, data=part)
        start += length
    builder.add("bn_aggr", dst=out, data=triples)
    builder.store(out)
    return run(builder, data)[0]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_pieces_merge_to_the_mean_and_population_variance_of_the_row(pieces, seed):
    data = np.random.default_rng(seed).normal(3, 2, (3, sum(pieces))).astype(F32)
    got = mean_and_variance(data, pieces)
    wide = data.astype(np.float64)
    np.testing.assert_allclose(got[:, 0], wide.mean(axis=1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got[:, 1], wide.var(axis=1), rtol=1e-5, atol=1e-5)


def test_a_large_mean_does_not_swallow_the_variance():
    # E[x^2] - E[x]^2 would cancel to nothing in float32.
    data = np.tile(np.array([4095, 4097], F32), 256)[None]
    assert mean_and_variance(data, [512]).tolist() == [[4096, 1]]


def test_statistics_round_to_the_destination():
    (got,) = run_operation("bn_stats", {"dst": ((1, 6), "bfloat16")}, {"data": np.full((1, 4), 1.01, F32)})
    assert got[0, 1] == BFLOAT16.type(1.01)


def test_a_nan_spoils_its_half_only():
    (got,) = run_operation(
        "bn_stats", {"dst": ((1, 6), "float32")}, {"data": np.array([[math.nan, 1, 2, 3]], F32)}
    )
    np.testing.assert_array_equal(got, [[2, math.nan, math.nan, 2, 2, 2]])
