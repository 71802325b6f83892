"""`nonzero_with_count` against the loop of its documentation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import nki_dtype, run, run_operation


def nonzero(src, **arguments):
    shape = (src.shape[0], src.shape[1] + 1)
    (got,) = run_operation("nonzero_with_count", {"dst": (shape, "int32")}, {"src": src, **arguments})
    return got


def test_the_documented_example():
    src = np.array([[0, 1, 1, 0, 0, 1, 0, 0]], np.int32)
    got = nonzero(src, index_offset=16, padding_val=-1)
    assert got.tolist() == [[17, 18, 21, -1, -1, -1, -1, -1, 3]]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from([0, 1, -2]), min_size=1, max_size=12),
    st.sampled_from([np.float32, np.int32]),
    st.integers(-5, 5),
    st.integers(-5, 5),
)
def test_indices_padding_and_count_follow_each_other(row, dtype, offset, padding):
    found = [place + offset for place, value in enumerate(row) if value != 0]
    expected = [*found, *[padding] * (len(row) - len(found)), len(found)]
    got = nonzero(np.array([row], dtype), index_offset=offset, padding_val=padding)
    assert got.tolist() == [expected]


@pytest.mark.parametrize(("value", "count"), [(-0.0, 0), (1e-45, 1), (np.nan, 1), (np.inf, 1)])
def test_what_counts_as_zero(value, count):
    assert nonzero(np.array([[value]], np.float32))[0, -1] == count


def test_only_the_first_partition_of_each_core_is_written():
    src = np.ones((33, 2), np.float32)
    builder = ProgramBuilder()
    dst = builder.tensor((33, 3), "int32")
    builder.add("memset", dst=dst, value=7)
    builder.add("nonzero_with_count", dst=dst, src=builder.load(builder.input(src.shape, nki_dtype(src))))
    builder.store(dst)
    (got,) = run(builder, src)
    for partition in range(33):
        assert got[partition].tolist() == ([0, 1, 2] if partition % 16 == 0 else [7, 7, 7])


def test_indices_wrap_in_32_bits():
    assert nonzero(np.array([[0, 1]], np.int32), index_offset=2**31 - 1).tolist() == [[-(2**31), -1, 1]]
