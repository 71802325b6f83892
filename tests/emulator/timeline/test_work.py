"""What counts, sizes and precision say of instructions that are more than a copy or a plain matmul."""

import msgspec
import pytest

from pipeline.emulator.operations import OPERATIONS
from pipeline.emulator.program import Offset
from pipeline.emulator.targets import TARGETS
from pipeline.emulator.timeline import Computation, compute_dtypes, count, mean_sizes, roofline
from tests.emulator.program_builder import ProgramBuilder

#: A replica group of two ranks: their number, then the ranks.
PAIR = (2, 0, 1)


def mx_program():
    """result[64, 256] from 4 x 32 packed elements of e4m3fn times as many of e2m1fn."""
    builder = ProgramBuilder("trn3")
    left, right = (
        builder.tensor((32, columns), dtype)
        for columns, dtype in ((64, "float8_e4m3fn_x4"), (256, "float4_e2m1fn_x4"))
    )
    scales = [builder.tensor((32, columns), "float8_e8m0fnu") for columns in (64, 256)]
    builder.add(
        "nc_matmul_mx",
        dst=builder.tensor((64, 256), "float32", "psum"),
        stationary=left,
        moving=right,
        stationary_scale=scales[0],
        moving_scale=scales[1],
        accumulate=False,
    )
    return builder.program()


def test_a_microscaling_matmul_contracts_four_elements_per_packed_one():
    counts = count(mx_program())
    assert counts.tensor_flops == {"mx": 2 * (4 * 32) * 64 * 256}
    assert roofline(counts, TARGETS["trn3"]).tensor_seconds == pytest.approx(2 * 128 * 64 * 256 / 315e12)
    sizes = mean_sizes(mx_program())
    assert (sizes.matmul_stationary, sizes.matmul_moving) == (64, 256)


def test_a_microscaling_matmul_computes_in_its_elements_and_not_in_its_scales():
    program = mx_program()
    used = compute_dtypes(program, count(program).computations)
    assert used == ("float4_e2m1fn_x4", "float8_e4m3fn_x4", "float32")


@pytest.mark.parametrize(
    ("perf_mode", "shape", "rate", "depth"), [("none", (), "bf16", 1), ("double_row", (2,), "fp8", 2)]
)
def test_pairs_of_eight_bit_floats_are_a_rate_class_of_their_own(perf_mode, shape, rate, depth):
    builder = ProgramBuilder("trn2")
    stationary, moving = (builder.tensor((128, *shape, columns), "float8_e4m3") for columns in (64, 512))
    sums = builder.tensor((64, 512), "float32", "psum")
    builder.add(
        "nc_matmul", dst=sums, stationary=stationary, moving=moving, accumulate=False, perf_mode=perf_mode
    )
    program = builder.program()
    assert count(program).tensor_flops == {rate: 2 * (depth * 128) * 64 * 512}
    assert (mean_sizes(program).matmul_stationary, mean_sizes(program).matmul_moving) == (64, 512)


def test_a_gather_reads_as_many_bytes_as_it_moves_in_runs_of_one_row():
    builder = ProgramBuilder()
    table = builder.input((1000, 64))
    indices = builder.load(builder.input((128, 1), "int32"))
    tile = builder.tensor((128, 64))
    rows = msgspec.structs.replace(
        builder.view(table, (64, 128), (1, 64)),
        offsets=(Offset("vector", builder.patterns[builder.view(indices)], 64),),
    )
    builder.add("dma_copy", dst=tile, src=rows)
    flat = builder.output((128, 64))
    builder.add("dma_copy", dst=flat, src=rows)
    counts = count(builder.program())
    assert counts.hbm_read_bytes == 128 * 4 + 2 * 128 * 64 * 4  # the indices, and the rows twice
    assert counts.dma_descriptors == 128 + 2 * 128


def test_a_transposing_dma_reads_rows_whatever_order_it_writes_in():
    builder = ProgramBuilder()
    builder.add(
        "dma_transpose", dst=builder.tensor((64, 128), "bfloat16"), src=builder.input((128, 64), "bfloat16")
    )
    counts = count(builder.program())
    assert (counts.hbm_read_bytes, counts.dma_bytes, counts.hbm_write_bytes) == (
        128 * 64 * 2,
        128 * 64 * 2,
        0,
    )
    assert counts.dma_descriptors == 1  # one contiguous matrix


def on_two_cores(name, engine, **arguments):
    builder = ProgramBuilder(cores=2)
    shared = builder.tensor((128, 64), "bfloat16", "shared_hbm")
    for core in (0, 1):
        tiles = {key: builder.tensor((128, 64), "bfloat16", core=core) for key in ("src", "dst")}
        data = tiles if name == "sendrecv" else {"data": shared}
        builder.add(name, engine, core, **data, **{k: v(core) for k, v in arguments.items()})
    return builder.program()


@pytest.mark.parametrize("engine", ["dma", "gpsimd"])
def test_an_exchange_between_cores_is_a_dma_where_the_dma_engines_make_it(engine):
    program = on_two_cores(
        "sendrecv",
        engine,
        send_to_rank=lambda core: 1 - core,
        recv_from_rank=lambda core: 1 - core,
        pipe_id=lambda core: 0,
        dma_engine=lambda core: "dma" if engine == "dma" else "gpsimd_dma",
    )
    counts = count(program)
    assert counts.instructions == {engine: 2}
    transfers = 2 if engine == "dma" else 0
    assert (counts.dma_transfers, counts.dma_bytes) == (transfers, transfers * 128 * 64 * 2)
    assert (counts.hbm_read_bytes, counts.hbm_write_bytes, counts.collectives) == (0, 0, 0)
    assert mean_sizes(program).dma_partition_bytes == (128 if engine == "dma" else None)


def test_a_barrier_touches_nothing_of_the_tensor_it_names():
    program = on_two_cores("core_barrier", "vector", cores=lambda core: (0, 1))
    counts = count(program)
    assert counts.instructions == {"vector": 2}
    assert counts.elements == {"vector": 0}
    assert counts.computations == ()
    assert mean_sizes(program).free_elements is None


def test_two_cores_share_the_work_and_have_twice_the_bandwidth():
    def loading(cores):
        builder = ProgramBuilder(cores=cores)
        source = builder.input((128, 64))
        for core in range(cores):
            tile = builder.tensor((128, 64), core=core)
            builder.add("dma_copy", core=core, dst=tile, src=source)
        return roofline(count(builder.program()), TARGETS["trn2"])

    assert loading(1).hbm_seconds == loading(2).hbm_seconds == pytest.approx(128 * 64 * 4 / 362e9)
    assert loading(2).minimum_hbm_seconds == loading(1).minimum_hbm_seconds / 2


def test_a_collective_moves_bytes_between_ranks_and_is_no_dma():
    builder = ProgramBuilder()
    source, result = builder.input((128, 64)), builder.output((256, 64))
    builder.add("all_gather", src=source, dst=result, replica_group=PAIR, collective_dim=0)
    counts = count(builder.program())
    assert (counts.collectives, counts.collective_bytes) == (1, 2 * 128 * 64 * 4)
    assert (counts.hbm_read_bytes, counts.hbm_write_bytes) == (128 * 64 * 4, 2 * 128 * 64 * 4)
    assert (counts.dma_transfers, counts.dma_bytes, counts.instructions) == (0, 0, {})
    assert counts.known


def test_nobody_knows_beforehand_how_much_a_varying_collective_moves():
    builder = ProgramBuilder("trn3")
    source, result = builder.input((128, 64)), builder.output((256, 64))
    counts_of_rows = builder.tensor((1, 2), "int32", "hbm")
    builder.add("all_gather_v", src=source, dst=result, replica_group=PAIR, send=counts_of_rows)
    assert not count(builder.program()).known


def test_sizes_count_an_instruction_as_often_as_its_loop_runs_it():
    builder = ProgramBuilder()
    builder.registers = 1
    wide, narrow = builder.tensor((128, 512)), builder.tensor((128, 64))
    builder.add("tensor_copy", dst=wide, src=wide)
    builder.add("for_begin", induction=(0,), lower=0, upper=3, step=1)
    builder.add("tensor_copy", dst=narrow, src=narrow)
    builder.add("for_end")
    assert mean_sizes(builder.program()).free_elements == (512 + 3 * 64) / 4


#: Operations that form products or sums. Every other one moves, makes, chooses or waits.
ARITHMETIC = {
    "activate2", "activation", "activation_reduce", "all_reduce", "bn_aggr", "bn_stats",
    "collective_permute_implicit_reduce", "dma_compute", "exponential", "nc_matmul", "nc_matmul_mx",
    "reciprocal", "reduce_scatter", "scalar_tensor_tensor", "tensor_partition_reduce", "tensor_reduce",
    "tensor_scalar", "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor",
    "tensor_tensor_scan",
}  # fmt: skip
MAKES_TENSORS = [
    name for name, operation in OPERATIONS.items() if any(p.kind.written for p in operation.tensor_parameters)
]


@pytest.mark.parametrize("name", MAKES_TENSORS)
def test_precision_is_lost_in_arithmetic_and_nowhere_else(name):
    computation = Computation("vector", name, ("bfloat16",), "bfloat16", 1, 1, (1,))
    used = compute_dtypes(ProgramBuilder().program(), (computation,))
    assert used == (("bfloat16",) if name in ARITHMETIC else ())


def scaled_by(value, dtype="bfloat16"):
    """result = x * column, all of the column set to `value`."""
    builder = ProgramBuilder()
    data = builder.load(builder.input((128, 64), "float32"))
    column, result = builder.tensor((128, 1), dtype), builder.tensor((128, 64), "float32")
    builder.add("memset", dst=column, value=value)
    builder.add("tensor_tensor", dst=result, data1=data, data2=column, op="multiply")
    builder.store(result)
    return builder.program()


@pytest.mark.parametrize(("value", "lost"), [(1.0, False), (-0.5, False), (0.1, True), (257.0, True)])
def test_a_constant_costs_precision_only_where_its_dtype_does_not_hold_it(value, lost):
    # bfloat16 has 8 bits of mantissa: 257 takes 9, and 0.1 has no end in binary.
    program = scaled_by(value)
    assert ("bfloat16" in compute_dtypes(program, count(program).computations)) is lost


def test_a_mask_of_ones_and_zeros_is_exact_in_any_dtype_and_what_is_added_to_it_is_not():
    builder = ProgramBuilder()
    data = builder.load(builder.input((128, 64), "float32"))
    mask, result = builder.tensor((128, 64), "bfloat16"), builder.tensor((128, 64), "float32")
    builder.add("tensor_scalar", dst=mask, data=data, op0="greater", operand0=0.5)
    builder.add("tensor_tensor", dst=result, data1=data, data2=mask, op="multiply")
    builder.store(result)
    program = builder.program()
    assert compute_dtypes(program, count(program).computations) == ("float32",)
    builder.add("tensor_scalar", dst=mask, data=data, op0="multiply", operand0=0.5)
    program = builder.program()
    assert "bfloat16" in compute_dtypes(program, count(program).computations)
