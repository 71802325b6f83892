import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.legality import UnwrittenRegion, uninitialised_reads, unwritten
from pipeline.emulator.machine import Machine
from tests.emulator.program_builder import ProgramBuilder


def test_an_output_that_is_written_entirely_is_absent():
    builder = ProgramBuilder()
    builder.store(builder.load(builder.input((4, 6))))
    assert unwritten(builder.program()) == {}


def test_an_output_nothing_writes_is_missing_from_its_first_element():
    builder = ProgramBuilder()
    builder.store(builder.load(builder.input((4, 6))))
    builder.output((4, 6))
    assert unwritten(builder.program()) == {1: UnwrittenRegion(24, (0, 0))}


def test_a_forgotten_tail_is_counted_and_located():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 6)))
    out = builder.output((4, 6))
    rows, columns = slice(0, 4), slice(0, 4)
    builder.add("dma_copy", dst=builder.block(out, rows, columns), src=builder.block(tile, rows, columns))
    assert unwritten(builder.program()) == {0: UnwrittenRegion(8, (0, 4))}


def test_tiles_that_meet_exactly_cover_the_output():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((4, 6)))
    out = builder.output((4, 6))
    for columns in (slice(0, 5), slice(5, 6)):
        part = builder.block(out, slice(0, 4), columns)
        builder.add("dma_copy", dst=part, src=builder.block(tile, slice(0, 4), columns))
    assert unwritten(builder.program()) == {}


def test_an_element_written_by_half_through_a_narrower_view_is_unwritten():
    builder = ProgramBuilder()
    source = builder.input((1, 2), "uint16")
    out = builder.output((1, 2), "float32")
    view = builder.view(out, (4, 1), (1, 2), offset=1, dtype="uint16")  # high half of 0, low half of 1
    builder.add("dma_copy", dst=view, src=source)
    assert unwritten(builder.program()) == {0: UnwrittenRegion(2, (0, 0))}


def test_an_input_that_is_returned_counts_as_written():
    builder = ProgramBuilder()
    builder.outputs.append(builder.input((4, 6)))
    assert unwritten(builder.program()) == {}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_unwritten_is_what_stays_poisoned(data):
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 7))
    builder = ProgramBuilder()
    tile = builder.load(builder.input((rows, columns)))
    out = builder.output((rows, columns))
    for _ in range(data.draw(st.integers(0, 4))):
        r = sorted(data.draw(st.tuples(st.integers(0, rows), st.integers(0, rows))))
        c = sorted(data.draw(st.tuples(st.integers(0, columns), st.integers(0, columns))))
        if r[0] < r[1] and c[0] < c[1]:
            step = data.draw(st.integers(1, 3))
            part = (slice(*r), slice(c[0], c[1], step))
            builder.add("dma_copy", dst=builder.block(out, *part), src=builder.block(tile, *part))
    program = builder.program()
    (result,) = Machine(program).run([np.ones((rows, columns), np.float32)])
    missing = np.argwhere(np.isnan(result))
    expected = {0: UnwrittenRegion(len(missing), tuple(missing[0].tolist()))} if len(missing) else {}
    assert unwritten(program) == expected


def test_a_read_of_memory_nothing_wrote_is_named():
    builder = ProgramBuilder()
    tile, out = builder.tensor((4, 6)), builder.tensor((4, 6))
    builder.add("tensor_copy", dst=out, src=tile)
    (read,) = uninitialised_reads(builder.program())
    assert (read.line, read.operation, read.parameter, read.tensor) == (10, "tensor_copy", "src", tile)


def test_a_read_beyond_the_written_part_is_named_and_one_within_is_not():
    builder = ProgramBuilder()
    tile, out = builder.tensor((4, 6)), builder.tensor((4, 6))
    builder.add("memset", dst=builder.block(tile, slice(0, 4), slice(0, 3)), value=0.0)
    within, beyond = (builder.block(tile, slice(0, 4), slice(0, n)) for n in (3, 4))
    builder.add("tensor_copy", dst=builder.block(out, slice(0, 4), slice(0, 3)), src=within)
    builder.add("tensor_copy", dst=builder.block(out, slice(0, 4), slice(0, 4)), src=beyond)
    assert [read.line for read in uninitialised_reads(builder.program())] == [12]


def test_an_accumulating_matmul_reads_its_destination_and_an_overwriting_one_does_not():
    def lines(accumulate):
        builder = ProgramBuilder()
        tile = builder.load(builder.input((4, 4)))
        sums = builder.tensor((4, 4), "float32", "psum")
        builder.add("nc_matmul", dst=sums, stationary=tile, moving=tile, accumulate=accumulate)
        return [read.line for read in uninitialised_reads(builder.program())]

    assert lines(True) == [11]
    assert lines(False) == []
