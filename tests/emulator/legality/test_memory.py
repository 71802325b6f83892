from pipeline.emulator.legality import fidelity, memory_peaks
from pipeline.emulator.operations import Fidelity
from tests.emulator.program_builder import ProgramBuilder


def test_a_tile_lives_from_its_first_use_to_its_last():
    builder = ProgramBuilder()
    first, second, third = (builder.tensor((128, 100)) for _ in range(3))  # 400 bytes per partition each
    builder.add("memset", dst=first, value=0.0)
    builder.add("tensor_copy", dst=second, src=first)  # first and second
    builder.add("tensor_copy", dst=third, src=second)  # second and third
    peaks = memory_peaks(builder.program())
    assert (peaks.sbuf_bytes, peaks.sbuf_line) == (800, 11)


def test_psum_tiles_take_whole_banks():
    builder = ProgramBuilder()
    small, large = builder.tensor((128, 1), buffer="psum"), builder.tensor((128, 513), buffer="psum")
    builder.add("memset", dst=small, value=0.0)
    builder.add("memset", dst=large, value=0.0)
    builder.add("tensor_copy", dst=builder.tensor((128, 1)), src=small)
    assert memory_peaks(builder.program()).psum_bytes == 2048 + 4096


def test_a_tile_that_is_never_used_takes_nothing():
    builder = ProgramBuilder()
    builder.tensor((128, 100))
    assert memory_peaks(builder.program()).sbuf_bytes == 0


def test_fidelity_is_the_worst_among_an_operations_uses():
    builder = ProgramBuilder()
    tile = builder.tensor((128, 8))
    builder.add("activation", dst=tile, op="relu", data=tile)
    assert fidelity(builder.program()) == {"activation": Fidelity.EXACT}
    builder.add("activation", dst=tile, op="exp", data=tile)
    builder.add("activation", dst=tile, op="relu", data=tile)
    builder.add("tensor_copy", dst=tile, src=tile)
    assert fidelity(builder.program()) == {
        "activation": Fidelity.APPROXIMATE,
        "tensor_copy": Fidelity.EXACT,
    }
