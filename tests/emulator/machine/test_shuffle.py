import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.legality import fidelity
from pipeline.emulator.operations import Fidelity
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, nki_dtype, run

F32 = np.float32
KEEP = 255
MASKS = st.lists(st.one_of(st.integers(0, 31), st.just(KEEP)), min_size=32, max_size=32)


def shuffled(before, src, mask):
    """The tile ``before`` after a shuffle of ``src`` onto it."""
    builder = ProgramBuilder()
    dst, data = (builder.load(builder.input(array.shape, nki_dtype(array))) for array in (before, src))
    builder.add("nc_stream_shuffle", dst=dst, src=data, shuffle_mask=tuple(mask))
    builder.store(dst)
    return run(builder, before, src)[0]


@st.composite
def shuffles(draw):
    quadrants, columns = draw(st.sampled_from([1, 2, 4])), draw(st.integers(1, 3))
    dtype = draw(st.sampled_from([np.dtype(F32), BFLOAT16, np.dtype(np.uint8)]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dst, src = (generator.integers(0, 99, (32 * quadrants, columns)).astype(dtype) for _ in range(2))
    rows = draw(st.integers(1, 32)) if quadrants == 1 else 32 * quadrants
    return dst[:rows], src, draw(MASKS)


@settings(max_examples=40, deadline=None)
@given(shuffles())
def test_every_quadrant_copies_its_own_partitions_by_the_same_mask(call):
    before, src, mask = call
    expected = before.copy()
    for partition in range(len(before)):
        origin = mask[partition % 32]
        if origin != KEEP:
            expected[partition] = src[partition - partition % 32 + origin]
    assert shuffled(before, src, mask).tobytes() == expected.tobytes()


def test_one_partition_spreads_over_a_quadrant():
    # The broadcast of public libraries: a source of one partition, whose quadrant starts at 64.
    builder = ProgramBuilder()
    tile = builder.load(builder.input((96, 2)))
    builder.add(
        "nc_stream_shuffle",
        dst=builder.block(tile, slice(0, 32), slice(2)),
        src=builder.block(tile, slice(64, 65), slice(2)),
        shuffle_mask=(0,) * 32,
    )
    builder.store(tile)
    data = np.arange(192, dtype=F32).reshape(96, 2)
    (got,) = run(builder, data)
    assert got[:32].tolist() == [[128, 129]] * 32
    assert got[32:].tolist() == data[32:].tolist()


def test_a_shuffle_in_place_reads_before_it_writes():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((32, 1)))
    builder.add("nc_stream_shuffle", dst=tile, src=tile, shuffle_mask=tuple(range(31, -1, -1)))
    builder.store(tile)
    (got,) = run(builder, np.arange(32, dtype=F32)[:, None])
    assert got[:, 0].tolist() == list(range(31, -1, -1))


def test_free_dimensions_meet_by_their_flattened_order():
    src = np.arange(128, dtype=F32).reshape(32, 2, 2)
    got = shuffled(np.zeros((32, 4), F32), src, [1] * 32)
    assert got.tolist() == [[4, 5, 6, 7]] * 32


@pytest.mark.parametrize(("entry", "level"), [(0, Fidelity.EXACT), (1, Fidelity.UNMODELLED)])
def test_a_partition_outside_the_source_is_not_modelled(entry, level):
    builder = ProgramBuilder()
    dst, src = builder.tensor((32, 2)), builder.tensor((1, 2))
    builder.add("nc_stream_shuffle", dst=dst, src=src, shuffle_mask=(entry,) * 32)
    assert fidelity(builder.program()) == {"nc_stream_shuffle": level}
