"""DMA transposes and sums against NumPy's and Python's own."""

import ml_dtypes
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.machine import MachineError
from pipeline.emulator.program import Offset
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import nki_dtype, run

F32 = np.float32
AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


def transpose(src, *, from_sbuf=False, **arguments):
    builder = ProgramBuilder()
    source = builder.input(src.shape, nki_dtype(src))
    if from_sbuf:
        source = builder.load(source)
    dst = builder.tensor(tuple(src.shape[axis] for axis in AXES[src.ndim]), nki_dtype(src))
    builder.add("dma_transpose", dst=dst, src=source, **arguments)
    builder.store(dst)
    (got,) = run(builder, src)
    return got


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=4),
    st.sampled_from([np.float32, np.int32, np.float16, np.uint8]),
    st.booleans(),
)
def test_a_transpose_permutes_by_rank(shape, dtype, from_sbuf):
    src = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    got = transpose(src, from_sbuf=from_sbuf)
    for index in np.ndindex(*shape):
        assert got[tuple(index[axis] for axis in AXES[len(shape)])] == src[index]


def test_a_transpose_moves_bits():
    src = np.array([[0x7FC1, 0xFF80, 0x8000, 0x0001]], np.uint16).view(ml_dtypes.bfloat16)  # NaN, -inf, -0
    assert transpose(src).view(np.uint16).ravel().tolist() == [0x7FC1, 0xFF80, 0x8000, 0x0001]


def test_the_axes_may_be_spelled_out():
    src = np.arange(6, dtype=F32).reshape(1, 2, 3)
    np.testing.assert_array_equal(transpose(src, axes=(2, 1, 0)), transpose(src))


def compute(sources, dtype="float32", shape=None, **arguments):
    builder = ProgramBuilder()
    inputs = [builder.input(array.shape, nki_dtype(array)) for array in sources]
    dst = builder.output(shape or sources[0].shape, dtype)
    builder.add("dma_compute", dst=dst, srcs=inputs, reduce_op="add", **arguments)
    (got,) = run(builder, *sources)
    return got


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 16), st.integers(1, 5), st.integers(0, 99))
def test_a_sum_of_up_to_16_sources_is_taken_in_float32_in_their_order(count, columns, seed):
    random = np.random.default_rng(seed)
    sources = [random.standard_normal((2, columns)).astype(F32) for _ in range(count)]
    expected = sources[0]
    for array in sources[1:]:
        expected = (expected.astype(np.float64) + array).astype(F32)  # one rounding per addition
    np.testing.assert_array_equal(compute(sources), expected)


def test_a_sum_rounds_once_when_written():
    tiny = np.full((1, 1), 2**-9, ml_dtypes.bfloat16)
    one = np.ones((1, 1), ml_dtypes.bfloat16)
    # 1 + 3 * 2^-9 is above the half-way point 1 + 2^-8; adding in bfloat16 would stay at 1.
    assert float(compute([one, tiny, tiny, tiny], "bfloat16")[0, 0]) == 1 + 2**-7


def test_sources_of_several_types_and_shapes_meet_in_order():
    got = compute([np.arange(6, dtype=np.int32).reshape(2, 3), np.full(6, 0.5, np.float16)], shape=(3, 2))
    assert got.tolist() == [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]


@pytest.mark.parametrize(("total", "expected"), [(2.5, 2), (3.5, 4), (-200.0, -128), (1e9, 127)])
def test_an_integer_destination_rounds_to_even_and_saturates(total, expected):
    got = compute([np.full((1, 1), total, F32), np.zeros((1, 1), F32)], "int8")
    assert got.item() == expected


def test_a_destination_may_be_one_of_the_sources():
    builder = ProgramBuilder()
    first, second = builder.input((1, 3)), builder.input((1, 3))
    tile = builder.load(first)
    builder.add("dma_compute", dst=tile, srcs=[second, tile], reduce_op="add", scales=[1.0, 1.0])
    builder.store(tile)
    (got,) = run(builder, np.array([[1, 2, 3]], F32), np.array([[10, 20, 30]], F32))
    assert got.tolist() == [[11, 22, 33]]


def rows_of(builder, table, index):
    """The rows of a matrix that an index tile names."""
    pattern = builder.view(table)
    width = builder.tensors[table].shape[1]
    source = builder.patterns.setdefault(builder.view(index), len(builder.patterns))
    count = int(np.prod(builder.tensors[index].shape))
    return msgspec.structs.replace(
        pattern, dims=((width, count), (1, width)), offsets=(Offset("vector", source, width),)
    )


@pytest.mark.parametrize("shape", [(16, 1), (32, 1), (128, 2)])
def test_a_gathering_transpose_reads_its_indices_down_the_partitions(shape):
    random = np.random.default_rng(0)
    table = random.standard_normal((300, 4)).astype(np.float16)
    index = random.integers(0, 300, shape).astype(np.uint32)
    builder = ProgramBuilder()
    source, given = builder.input(table.shape, "float16"), builder.input(shape, "uint32")
    dst = builder.tensor((4, index.size), "float16")
    builder.add("dma_transpose", dst=dst, src=rows_of(builder, source, builder.load(given)))
    builder.store(dst)
    (got,) = run(builder, table, index)
    order = [index[partition, column] for column in range(shape[1]) for partition in range(shape[0])]
    np.testing.assert_array_equal(got, np.array([table[row] for row in order]).T)


def test_a_gathering_transpose_leaves_the_columns_of_skipped_rows():
    table, index = np.arange(8, dtype=np.float16).reshape(2, 4), np.zeros((16, 1), np.uint32)
    index[3], index[5] = 1, 9
    builder = ProgramBuilder()
    source, given = builder.input(table.shape, "float16"), builder.input(index.shape, "uint32")
    dst = builder.tensor((4, 16), "float16")
    builder.add("memset", dst=dst, value=-1.0)
    rows = rows_of(builder, source, builder.load(given))
    builder.add("dma_transpose", dst=dst, src=rows, oob_mode="skip")
    builder.store(dst)
    (got,) = run(builder, table, index)
    expected = [table[0]] * 16
    expected[3], expected[5] = table[1], np.full(4, -1)
    np.testing.assert_array_equal(got, np.array(expected).T)


def read_modify_write(index, *, scatter, **arguments):
    """Add 10 to a table of ones, at chosen rows; or chosen rows of it to tens."""
    builder = ProgramBuilder()
    table, given = builder.input((4, 2)), builder.input(index.shape, "uint32")
    tile = builder.tensor((len(index), 2))
    builder.add("memset", dst=tile, value=10.0)
    rows = rows_of(builder, table, builder.load(given))
    dst = rows if scatter else tile
    builder.add("dma_compute", dst=dst, srcs=[rows, tile], reduce_op="add", **arguments)
    builder.store(table if scatter else tile)
    (got,) = run(builder, np.arange(8, dtype=F32).reshape(4, 2), index)
    return got.tolist()


def test_a_sum_scatters_into_the_rows_it_gathered():
    index = np.array([[2], [0]], np.uint32)
    assert read_modify_write(index, scatter=True) == [[10, 11], [2, 3], [14, 15], [6, 7]]


def test_a_sum_gathers_rows_and_adds_them_to_its_destination():
    index = np.array([[3], [3], [1]], np.uint32)
    assert read_modify_write(index, scatter=False) == [[16, 17], [16, 17], [12, 13]]


def test_an_index_outside_stops_the_run():
    with pytest.raises(MachineError, match=r"dma_compute: srcs\[0\]: the index of row 1"):
        read_modify_write(np.array([[3], [4]], np.uint32), scatter=False)


@pytest.mark.parametrize(
    ("scatter", "expected"),
    [(True, [[0, 1], [2, 3], [4, 5], [16, 17]]), (False, [[16, 17], [10, 10]])],
)
def test_an_index_outside_may_be_skipped(scatter, expected):
    index = np.array([[3], [4]], np.uint32)
    assert read_modify_write(index, scatter=scatter, oob_mode="skip") == expected
