"""`sequence_bounds` against a search left and right of each element."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.running import nki_dtype, run_operation


def bounds(ids):
    (got,) = run_operation(
        "sequence_bounds", {"dst": ((1, 2, ids.size), nki_dtype(ids))}, {"segment_ids": ids[None]}
    )
    return got[0].tolist()


def test_the_documented_example():
    ids = np.array([0, 1, 1, 2, 2, 2, 0, 3, 3], np.int32)
    assert bounds(ids) == [[9, 1, 1, 3, 3, 3, 9, 7, 7], [-1, 3, 3, 6, 6, 6, -1, 9, 9]]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=20).map(sorted),
    st.sampled_from([np.float32, np.int32]),
)
def test_bounds_enclose_the_elements_of_a_segment(ids, dtype):
    starts, ends = bounds(np.array(ids, dtype))
    for place, segment in enumerate(ids):
        if segment == 0:
            assert (starts[place], ends[place]) == (len(ids), -1)
        else:
            assert (starts[place], ends[place]) == (ids.index(segment), len(ids) - ids[::-1].index(segment))


@pytest.mark.parametrize(("ids", "expected"), [([0], [[1], [-1]]), ([5], [[0], [1]])])
def test_a_single_element(ids, expected):
    assert bounds(np.array(ids, np.int32)) == expected
