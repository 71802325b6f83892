from pipeline.emulator.program.resolution import resolve
from tests.emulator.program_builder import ProgramBuilder


def test_equal_instructions_on_different_tiles_share_a_call():
    builder = ProgramBuilder()
    for _ in range(5):
        builder.add("memset", dst=builder.tensor((128, 8)), value=0.0)
    resolution = resolve(builder.program())
    assert len(resolution.calls) == 1
    assert resolution.indices == [0] * 5


def test_arguments_that_only_compare_equal_do_not_share_a_call():
    builder = ProgramBuilder()
    tile = builder.tensor((128, 8))
    for value in (0, 0.0, -0.0, 1, 1.0):
        builder.add("memset", dst=tile, value=value)
    assert resolve(builder.program()).indices == [0, 1, 2, 3, 4]


def test_a_call_names_memory_start_partition_and_psum_bytes():
    builder = ProgramBuilder()
    tile = builder.tensor((128, 8), "bfloat16")
    sums = builder.tensor((128, 600), "float32", "psum")
    builder.add(
        "tensor_copy",
        dst=builder.block(sums, slice(64, 96), slice(510, 518)),
        src=builder.block(tile, slice(32, 64), slice(0, 8)),
    )
    (call,) = resolve(builder.program()).calls
    dst, src = call.tensor("dst"), call.tensor("src")
    assert (dst.memory, dst.start, dst.first_byte, dst.last_byte) == ("psum", 64, 510 * 4, 518 * 4 - 1)
    assert (src.memory, src.dtype, src.start, src.shape) == ("sbuf", "bfloat16", 32, (32, 8))
    assert (call.engine, call.target.name) == ("vector", "trn2")


def test_an_absent_tensor_has_no_operand_and_a_number_is_a_scalar():
    builder = ProgramBuilder()
    tile = builder.tensor((128, 8))
    builder.add("activation", dst=tile, op="exp", data=tile, scale=2.0)
    (call,) = resolve(builder.program()).calls
    assert call.operand("bias") is None
    assert call.scalar("bias") is None
    assert call.operand("scale") is None
    assert call.scalar("scale") == 2.0
