"""Gathers within SBUF against loops over partitions and indices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.machine import Machine
from pipeline.emulator.operations import OPERATIONS
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run_operation

F32 = np.float32
FEW = settings(max_examples=30, deadline=None)


def nc_n_gather(data, indices):
    dst = (indices.shape, {"float32": "float32", "int32": "int32", "bfloat16": "bfloat16"}[str(data.dtype)])
    (got,) = run_operation("nc_n_gather", {"dst": dst}, {"data": data, "indices": indices})
    return got


@FEW
@given(st.data())
def test_nc_n_gather_takes_each_partitions_own_elements(data):
    rows, width, count = (data.draw(st.integers(1, n)) for n in (20, 9, 12))
    dtype = data.draw(st.sampled_from([F32, np.int32, BFLOAT16]))
    values = np.arange(rows * width).reshape(rows, width).astype(dtype)
    indices = np.array(
        data.draw(st.lists(st.integers(0, width - 1), min_size=rows * count, max_size=rows * count)),
        np.uint32,
    ).reshape(rows, count)
    expected = [[values[p, indices[p, i]] for i in range(count)] for p in range(rows)]
    np.testing.assert_array_equal(nc_n_gather(values, indices), np.array(expected, dtype))


def test_nc_n_gather_keeps_bits():
    data = np.array([[2**24 + 1, -(2**31)]], np.int32)
    assert nc_n_gather(data, np.array([[1, 0, 1]], np.uint32)).tolist() == [[-(2**31), 2**24 + 1, -(2**31)]]


def observed(values, indices):
    """What a gather of the indices reports."""
    builder = ProgramBuilder()
    data, index = builder.input(values.shape), builder.input(indices.shape, "uint32")
    dst = builder.tensor(indices.shape)
    builder.add("nc_n_gather", dst=dst, data=builder.load(data), indices=builder.load(index))
    builder.store(dst)
    (run,) = Machine(builder.program()).execute([[values, indices]])
    return run


def test_an_index_outside_fetches_nan_and_is_reported():
    run = observed(np.array([[1, 2, 3]], F32), np.array([[2, 3, 0, 2**32 - 1]], np.uint32))
    np.testing.assert_array_equal(run.outputs[0], [[3, np.nan, 1, np.nan]])
    (observation,) = run.observations
    assert observation.function == "nc_n_gather"
    assert (observation.low, observation.high) == (0, 2)
    assert (observation.least, observation.greatest) == (0, 2**32 - 1)


def test_indices_inside_are_not_reported():
    assert observed(np.array([[1, 2, 3]], F32), np.array([[2, 0]], np.uint32)).observations == ()


def local_gather(data, index, count, valid, dst_elements):
    (got,) = run_operation(
        "local_gather",
        {"dst": ((data.shape[0], dst_elements), "float32")},
        {"src_buffer": data, "index": index, "num_elem_per_idx": count, "num_valid_indices": valid},
    )
    return got


@FEW
@given(st.data())
def test_local_gather_reads_the_indices_of_a_core_down_its_partitions(data):
    cores = data.draw(st.integers(1, 3))
    count = data.draw(st.sampled_from([1, 2, 4]))
    width, columns = data.draw(st.integers(count, 9)), data.draw(st.integers(1, 3))
    valid = data.draw(st.one_of(st.none(), st.integers(1, 16 * columns)))
    random = np.random.default_rng(data.draw(st.integers(0, 9)))
    index = random.integers(0, width - count + 1, (16 * cores, columns)).astype(np.uint16)
    values = np.arange(16 * cores * width, dtype=F32).reshape(16 * cores, width)
    expected = []
    for partition in range(16 * cores):
        first = partition // 16 * 16
        order = [index[first + p, column] for column in range(columns) for p in range(16)]
        expected.append(
            [values[partition, i + e] for i in order[: valid or len(order)] for e in range(count)]
        )
    got = local_gather(values, index, count, valid, len(expected[0]))
    np.testing.assert_array_equal(got, np.array(expected, F32))


def test_local_gather_does_not_read_past_a_partition():
    values = np.arange(32, dtype=F32).reshape(16, 2)
    got = local_gather(values, np.full((16, 1), 1, np.uint16), 2, 1, 2)
    np.testing.assert_array_equal(got[0], [1, np.nan])


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [
        # 150 + valid * n / (((28 + 4 n) / (4 n)) / min(4 / size, n)), valid = 16
        (1, "float32", 150 + 16 / 8),
        (4, "float32", 150 + 64 / 2.75),
        (4, "bfloat16", 150 + 64 / (2.75 / 2)),
    ],
)
def test_local_gather_costs_what_the_formula_says(count, size, expected):
    from pipeline.emulator.operations import Call, Operand
    from pipeline.emulator.targets import TARGETS

    def tile(columns, dtype):
        return Operand("sbuf", dtype, (16, columns), (columns, 1))

    operation = OPERATIONS["local_gather"]
    operands = (tile(16 * count, size), tile(64, size), tile(1, "uint16"))
    call = Call(operation, "gpsimd", TARGETS["trn2"], operands, (count, None))
    assert operation.cycles(call) == pytest.approx(expected)
