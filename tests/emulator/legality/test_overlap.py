"""Which elements two sets of access patterns share, against sets of bytes."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.dtypes import DTYPES
from pipeline.emulator.legality.overlap import shared_pair
from pipeline.emulator.program import AccessPattern
from tests.emulator.program_builder import ProgramBuilder

ELEMENTS = 24  # float32 elements of the tensor


def bytes_of(pattern):
    size = DTYPES[pattern.dtype].itemsize
    counts = [range(count) for _, count in pattern.dims]
    touched = set()
    for indices in itertools.product(*counts):
        steps = sum(i * stride for i, (stride, _) in zip(indices, pattern.dims, strict=True))
        touched |= set(range((pattern.offset + steps) * size, (pattern.offset + steps + 1) * size))
    return touched


@st.composite
def patterns(draw):
    dtype = draw(st.sampled_from(["float32", "bfloat16", "uint8"]))
    dims = draw(st.lists(st.tuples(st.integers(-3, 6), st.integers(1, 3)), max_size=3))
    capacity = ELEMENTS * 4 // DTYPES[dtype].itemsize
    low = sum(min(0, stride * (count - 1)) for stride, count in dims)
    high = sum(max(0, stride * (count - 1)) for stride, count in dims)
    offset = draw(st.integers(-low, max(-low, capacity - 1 - high)))
    if offset + high >= capacity:
        dims = []
    return AccessPattern(0, dtype, min(offset, capacity - 1), tuple(dims))


@settings(max_examples=50, deadline=None)
@given(st.lists(patterns(), min_size=1, max_size=4), st.lists(patterns(), max_size=4))
def test_a_pair_is_found_exactly_where_bytes_are_shared(first, second):
    builder = ProgramBuilder()
    builder.input((ELEMENTS,))
    table = [*first, *second]
    builder.patterns = {pattern: number for number, pattern in enumerate(dict.fromkeys(table))}
    ours, theirs = ([builder.patterns[pattern] for pattern in part] for part in (first, second))
    pair = shared_pair(builder.program(), ours, theirs)
    meeting = {
        (a, b)
        for a in ours
        for b in theirs
        if bytes_of(list(builder.patterns)[a]) & bytes_of(list(builder.patterns)[b])
    }
    assert pair in meeting if meeting else pair is None


def test_even_and_odd_rows_are_apart():
    builder = ProgramBuilder()
    tensor = builder.input((8, 4))
    rows = [builder.view(tensor, (8, 4), (1, 4), offset=offset) for offset in (0, 4)]
    builder.patterns = {pattern: number for number, pattern in enumerate(rows)}
    assert shared_pair(builder.program(), [0], [1]) is None
    assert shared_pair(builder.program(), [0], [0, 1]) == (0, 0)
