"""What two cores do to the analyses of a program."""

import pytest

from pipeline.emulator.legality import check, independent_outputs
from tests.emulator.program_builder import ProgramBuilder


def swapped(*, loading: int) -> ProgramBuilder:
    """One core loads an input and sends it to the other, which stores what it received."""
    builder = ProgramBuilder(cores=2)
    source, result = builder.input((32, 8)), builder.output((32, 8))
    tiles = [[builder.tensor((32, 8), core=core) for _ in range(2)] for core in (0, 1)]
    for core, (sent, received) in enumerate(tiles):
        if core == loading:
            builder.add("dma_copy", core=core, dst=sent, src=source)
        else:
            builder.add("memset", core=core, dst=sent, value=0.0)
        routes = {"send_to_rank": 1 - core, "recv_from_rank": 1 - core, "pipe_id": 0}
        builder.add("sendrecv", core=core, src=sent, dst=received, **routes)
        if core != loading:
            builder.add("dma_copy", core=core, dst=result, src=received)
    return builder


@pytest.mark.parametrize("loading", [0, 1])
def test_an_input_reaches_the_output_through_the_other_core(loading):
    assert independent_outputs(swapped(loading=loading).program()) == ()


def test_two_cores_that_read_one_tensor_do_not_race():
    builder = ProgramBuilder(cores=2)
    source = builder.input((32, 8))
    for core in (0, 1):
        builder.add("dma_copy", core=core, dst=builder.tensor((32, 8), core=core), src=source)
    assert check(builder.program()) == []


def test_a_barrier_may_name_what_is_written_in_part():
    builder = ProgramBuilder(cores=2)
    shared = builder.tensor((64, 8), "float32", "shared_hbm")
    source = builder.input((32, 8))
    builder.add("dma_copy", dst=builder.block(shared, slice(0, 32), slice(0, 8)), src=source)
    for core in (0, 1):
        builder.add("core_barrier", core=core, data=shared, cores=(0, 1))
    assert "uninitialised-read" not in [violation.rule for violation in check(builder.program())]


def test_a_program_of_one_core_has_no_other_core_to_race_with():
    builder = ProgramBuilder()
    shared = builder.tensor((32, 8), "float32", "shared_hbm")
    tile = builder.load(builder.input((32, 8)))
    for _ in range(2):
        builder.add("dma_copy", dst=shared, src=tile)
    assert [violation.rule for violation in check(builder.program())] == []
