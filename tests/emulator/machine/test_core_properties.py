"""Two cores of one machine: what a barrier orders and an exchange moves, whatever the type."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.machine.references import BYTES, bits
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import run

FEW = settings(max_examples=25, deadline=None)
SHAPES = st.tuples(st.sampled_from([1, 2, 33]), st.integers(1, 5))


@FEW
@given(st.sampled_from(BYTES), SHAPES, st.data())
def test_after_a_barrier_each_core_reads_what_the_other_wrote(dtype, shape, data):
    rows, columns = shape
    source = data.draw(bits(dtype, (2 * rows, columns)))
    builder = ProgramBuilder(cores=2)
    given_, shared = builder.input(source.shape, dtype), builder.output(source.shape, dtype)
    results = [builder.output(shape, dtype) for _ in range(2)]
    halves = [(slice(core * rows, core * rows + rows), slice(columns)) for core in range(2)]
    # A program lists what both cores do up to a meeting before what they do after it.
    for core in range(2):
        part = builder.block(shared, *halves[core])
        builder.add("dma_copy", core=core, dst=part, src=builder.block(given_, *halves[core]))
        builder.add("core_barrier", core=core, data=shared, cores=(0, 1))
    for core in range(2):
        builder.add("dma_copy", core=core, dst=results[core], src=builder.block(shared, *halves[1 - core]))
    whole, first, second = run(builder, source)
    assert whole.tobytes() == source.tobytes()
    assert first.tobytes() + second.tobytes() == source[rows:].tobytes() + source[:rows].tobytes()


@FEW
@given(st.sampled_from(BYTES), SHAPES, st.sampled_from(["dma", "gpsimd_dma"]), st.data())
def test_sendrecv_swaps_the_bits_of_two_tiles(dtype, shape, mechanism, data):
    sources = [data.draw(bits(dtype, shape)) for _ in range(2)]
    builder = ProgramBuilder(cores=2)
    inputs, outputs = ([make(shape, dtype) for _ in range(2)] for make in (builder.input, builder.output))
    for core in range(2):
        sent, received = (builder.tensor(shape, dtype, core=core) for _ in range(2))
        builder.add("dma_copy", core=core, dst=sent, src=inputs[core])
        builder.add(
            "sendrecv", core=core, src=sent, dst=received, send_to_rank=1 - core, recv_from_rank=1 - core,
            pipe_id=0, dma_engine=mechanism,
        )  # fmt: skip
        builder.add("dma_copy", core=core, dst=outputs[core], src=received)
    first, second = run(builder, *sources)
    assert (first.tobytes(), second.tobytes()) == (sources[1].tobytes(), sources[0].tobytes())
