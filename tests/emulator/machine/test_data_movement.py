import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run, run_operation

F32 = np.float32


def test_a_dma_moves_elements_in_order_whatever_the_shapes():
    builder = ProgramBuilder()
    source = builder.input((6,))
    tile = builder.tensor((2, 3))
    builder.add("dma_copy", dst=tile, src=source)
    out = builder.output((3, 2))
    builder.add("dma_copy", dst=out, src=tile)
    (got,) = run(builder, np.arange(6, dtype=F32))
    assert got.tolist() == [[0, 1], [2, 3], [4, 5]]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_strided_view_reads_what_numpy_slicing_reads(data):
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    bounds = [data.draw(st.tuples(st.integers(0, n - 1), st.integers(1, 3))) for n in (rows, columns)]
    (r, rs), (c, cs) = bounds
    reference = np.arange(rows * columns, dtype=F32).reshape(rows, columns)
    expected = reference[r::rs, c::cs]
    if data.draw(st.booleans()):
        expected = expected[:, ::-1]
        last = c + cs * (expected.shape[1] - 1)
        dims, offset = ((columns * rs, expected.shape[0]), (-cs, expected.shape[1])), r * columns + last
    else:
        dims, offset = ((columns * rs, expected.shape[0]), (cs, expected.shape[1])), r * columns + c
    builder = ProgramBuilder()
    source = builder.input((rows, columns))
    out = builder.output(expected.shape)
    builder.add("dma_copy", dst=out, src=builder.view(source, *dims, offset=offset))
    (got,) = run(builder, reference)
    np.testing.assert_array_equal(got, expected)


def test_a_zero_stride_source_broadcasts():
    builder = ProgramBuilder()
    source = builder.input((1, 3))
    tile = builder.tensor((4, 3))
    builder.add("dma_copy", dst=tile, src=builder.view(source, (0, 4), (1, 3)))
    builder.store(tile)
    (got,) = run(builder, np.array([[1, 2, 3]], F32))
    assert got.tolist() == [[1, 2, 3]] * 4


def test_a_view_as_another_dtype_reinterprets_bits():
    builder = ProgramBuilder()
    source = builder.input((1, 2), "float32")
    out = builder.output((1, 4), "uint16")
    builder.add("dma_copy", dst=out, src=builder.view(source, (4, 1), (1, 4), dtype="uint16"))
    (got,) = run(builder, np.array([[1.0, -2.0]], F32))
    assert got.tolist() == [[0x0000, 0x3F80, 0x0000, 0xC000]]


@pytest.mark.parametrize("engine", ["vector", "scalar", "gpsimd"])
@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_equal_dtypes_are_copied_bit_for_bit(engine, target):
    data = np.array([[2**24 + 1, -7]], np.int32)
    results = {"dst": ((1, 2), "int32")}
    (got,) = run_operation("tensor_copy", results, {"src": data}, engine=engine, target=target)
    assert got.tolist() == data.tolist()


def test_copies_between_types_go_through_float32_on_the_scalar_engine_too():
    data = np.array([[2**24 + 1, -7]], np.int32)
    (got,) = run_operation("tensor_copy", {"dst": ((1, 2), "uint32")}, {"src": data}, engine="scalar")
    assert got.tolist() == [[2**24, 0]]


def test_a_casting_dma_goes_through_float32():
    builder = ProgramBuilder()
    source = builder.input((1, 2), "int32")
    out = builder.output((1, 2), "bfloat16")
    builder.add("dma_copy", dst=out, src=source)
    (got,) = run(builder, np.array([[257, 3]], np.int32))
    assert got.astype(F32).tolist() == [[256, 3]]


def test_overlapping_source_and_destination_move_as_if_read_first():
    builder = ProgramBuilder()
    tile = builder.load(builder.input((1, 6)))
    builder.add(
        "tensor_copy",
        dst=builder.block(tile, slice(0, 1), slice(1, 6)),
        src=builder.block(tile, slice(0, 1), slice(0, 5)),
    )
    builder.store(tile)
    (got,) = run(builder, np.arange(6, dtype=F32)[None])
    assert got.tolist() == [[0, 0, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float32", 0.1, float(F32(0.1))),
        ("bfloat16", 257, 256.0),
        ("float16", -np.inf, -np.inf),
        ("int32", -5, -5),
        ("uint8", 255, 255),
        ("bool_", 1, True),
    ],
)
def test_memset_fills_with_the_constant_in_the_tiles_dtype(dtype, value, expected):
    builder = ProgramBuilder()
    tile = builder.tensor((3, 2), dtype)
    builder.add("memset", dst=tile, value=value)
    builder.store(tile)
    (got,) = run(builder)
    assert got.astype(F32 if got.dtype == BFLOAT16 else got.dtype).tolist() == [[expected] * 2] * 3
