from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipeline.emulator.program import AccessPattern
from pipeline.emulator.program.geometry import covers, may_overlap, tensor_bytes
from tests.emulator.program_builder import ProgramBuilder

DIMS = st.lists(st.tuples(st.integers(-6, 12), st.integers(1, 4)), min_size=1, max_size=3).map(tuple)


def elements(dims, offset=0):
    """Every element a pattern touches, with repetitions."""
    indices = np.full((1,), offset)
    for stride, count in dims:
        indices = (indices[:, None] + stride * np.arange(count)).reshape(-1)
    return indices.tolist()


@given(DIMS)
def test_a_pattern_said_not_to_overlap_touches_no_element_twice(dims):
    if not may_overlap(dims):
        assert len(set(elements(dims))) == prod(count for _, count in dims)


@given(st.permutations([(12, 2), (4, 3), (1, 4)]), st.lists(st.booleans(), min_size=3, max_size=3))
def test_a_rearranged_or_reversed_tensor_does_not_overlap(dims, reversals):
    turned = [
        (-stride if flip else stride, count) for (stride, count), flip in zip(dims, reversals, strict=True)
    ]
    assert not may_overlap(turned)


@given(DIMS)
def test_a_pattern_covers_its_tensor_exactly_if_it_touches_every_element(dims):
    offset = -min(elements(dims))
    touched = set(elements(dims, offset))
    builder = ProgramBuilder()
    builder.tensor((1, max(touched) + 1))
    pattern = AccessPattern(0, "float32", offset, dims)
    claimed = covers(builder.program(), pattern)
    complete = len(touched) == max(touched) + 1
    # The claim is never wrong; an overlapping pattern may cover without being said to.
    assert not claimed or complete
    assert claimed or not complete or may_overlap(dims)


def test_tensor_bytes_count_storage():
    builder = ProgramBuilder()
    builder.tensor((128, 3, 5), "bfloat16")
    assert tensor_bytes(builder.program(), 0) == 128 * 15 * 2
