import pytest

from pipeline.emulator.targets import TARGETS
from pipeline.emulator.timeline import count, roofline
from tests.emulator.program_builder import ProgramBuilder


def matmul_program(dtype="bfloat16"):
    """result[64, 256] = left[128, 64].T @ right[128, 256]."""
    builder = ProgramBuilder()
    left, right = (builder.load(builder.input(shape, dtype)) for shape in ((128, 64), (128, 256)))
    sums = builder.tensor((64, 256), "float32", "psum")
    builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=False)
    out = builder.tensor((64, 256), dtype)
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    return builder


def test_bytes_flops_and_instructions_of_a_matmul():
    counts = count(matmul_program().program())
    assert counts.hbm_read_bytes == (128 * 64 + 128 * 256) * 2
    assert counts.hbm_write_bytes == 64 * 256 * 2
    assert counts.minimum_bytes == counts.hbm_read_bytes + counts.hbm_write_bytes
    assert counts.tensor_flops == {"bf16": 2 * 128 * 64 * 256}
    assert counts.transpose_flops == {}
    assert counts.instructions == {"dma": 3, "tensor": 1, "vector": 1}
    assert counts.elements["vector"] == 64 * 256
    # max(min(64, 64), 256) on the tensor engine; max(64, 256) for the copy.
    assert counts.cycles == {"tensor": 256, "vector": 256}
    assert counts.uncosted == {}


def test_float32_matmuls_run_at_a_quarter_of_the_rate():
    counts = count(matmul_program("float32").program())
    assert counts.tensor_flops == {"fp32": 2 * 128 * 64 * 256}
    assert counts.cycles["tensor"] == 4 * 256


def test_loading_an_input_twice_doubles_its_traffic_but_not_the_minimum():
    builder = ProgramBuilder()
    source = builder.input((128, 64))
    builder.load(source)
    builder.store(builder.load(source))
    counts = count(builder.program())
    assert counts.hbm_read_bytes == 2 * 128 * 64 * 4
    assert counts.minimum_bytes == 2 * 128 * 64 * 4  # once in, once out


def test_a_sum_by_dma_reads_every_source():
    builder = ProgramBuilder()
    sources = [builder.input((128, 64)) for _ in range(3)]
    tile = builder.tensor((128, 64))
    builder.add("dma_compute", dst=tile, srcs=[*sources, tile], reduce_op="add")
    counts = count(builder.program())
    assert (counts.hbm_read_bytes, counts.hbm_write_bytes) == (3 * 128 * 64 * 4, 0)
    assert counts.dma_bytes == 4 * 128 * 64 * 4
    assert counts.dma_descriptors == 4 * 128


def test_a_dma_splits_into_contiguous_runs_of_the_side_with_the_shorter_ones():
    builder = ProgramBuilder()
    source = builder.input((128, 64))
    tile = builder.tensor((128, 16))
    columns = builder.block(source, slice(0, 128), slice(8, 24))  # 16 of 64 columns: 64-byte runs
    builder.add("dma_copy", dst=tile, src=columns)
    counts = count(builder.program())
    assert (counts.dma_transfers, counts.dma_bytes, counts.dma_descriptors) == (1, 128 * 64, 128)
    assert counts.dma_average_bytes == 128 * 64
    assert counts.descriptor_average_bytes == 64


def test_a_strided_innermost_dimension_moves_single_elements():
    builder = ProgramBuilder()
    source = builder.input((128, 64))
    tile = builder.tensor((128, 32))
    builder.add("dma_copy", dst=tile, src=builder.view(source, (64, 128), (2, 32)))
    assert count(builder.program()).descriptor_average_bytes == 4


def test_transposes_on_the_tensor_engine_are_counted_apart():
    builder = ProgramBuilder()
    tile = builder.tensor((128, 64), "bfloat16")
    out = builder.tensor((64, 128), "bfloat16", "psum")
    builder.add("nc_transpose", "tensor", dst=out, data=tile)
    counts = count(builder.program())
    assert counts.tensor_flops == {}
    assert counts.transpose_flops == {"bf16": 2 * 128 * 128 * 64}


def test_computations_tell_in_which_types_a_program_computes():
    found = {
        (c.operation, c.inputs, c.output, c.instructions)
        for c in count(matmul_program().program()).computations
    }
    assert ("nc_matmul", ("bfloat16", "bfloat16"), "float32", 1) in found
    assert ("tensor_copy", ("float32",), "bfloat16", 1) in found
    assert ("dma_copy", ("bfloat16",), "bfloat16", 3) in found


def test_computations_name_their_lines_and_elements():
    (copy,) = [c for c in count(matmul_program().program()).computations if c.operation == "tensor_copy"]
    assert (copy.engine, copy.elements, copy.lines) == ("vector", 64 * 256, (13,))


def test_an_operation_without_a_published_cost_is_said_to_have_none():
    builder = ProgramBuilder()
    builder.add(
        "tensor_partition_reduce", dst=builder.tensor((1, 8)), op="add", data=builder.tensor((128, 8))
    )
    assert count(builder.program()).uncosted == {"tensor_partition_reduce": 1}


def test_the_roofline_is_the_larger_of_traffic_and_flops():
    counts = count(matmul_program().program())
    bounds = roofline(counts, TARGETS["trn2"])
    assert bounds.hbm_seconds == pytest.approx((128 * 320 + 64 * 256) * 2 / 362e9)
    assert bounds.tensor_seconds == pytest.approx(2 * 128 * 64 * 256 / 78.6e12)
    assert (bounds.seconds, bounds.bound) == (bounds.hbm_seconds, "hbm")


def test_many_flops_on_few_bytes_are_bound_by_the_tensor_engine():
    builder = matmul_program("float32")
    left, right, sums = 1, 3, 4
    for _ in range(1000):
        builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=True)
    bounds = roofline(count(builder.program()), TARGETS["trn2"])
    assert bounds.tensor_seconds == pytest.approx(1001 * 2 * 128 * 64 * 256 / 19.7e12)
    assert bounds.bound == "tensor"


def test_a_program_without_dma_has_no_averages():
    counts = count(ProgramBuilder().program())
    assert (counts.dma_average_bytes, counts.descriptor_average_bytes) == (0.0, 0.0)
