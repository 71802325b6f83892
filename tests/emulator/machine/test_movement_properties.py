"""What moves values and computes little: copies, fills, transposes and gathers, between any types."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.machine.references import (
    BYTES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SHAPES,
    STORAGE,
    bits,
    engine,
    stored,
    target_for,
    tile,
    values,
)
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import nki_dtype, run, run_operation

FEW = settings(max_examples=30, deadline=None)
ANY = FLOATS + INTEGERS
TYPES = st.sampled_from(ANY)


def patterns(array):
    return array.view(f"u{array.itemsize}").tolist()


def copied(name, source, dst, target, engine=None):
    """A tile copied into another type by a DMA or by a compute engine."""
    (got,) = run_operation(name, {"dst": (source.shape, dst)}, {"src": source}, engine=engine, target=target)
    return got


ENGINES = st.sampled_from(["vector", "gpsimd", "scalar"])


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_tensor_copy_and_dma_copy_convert_through_float32(data):
    first, dst = data.draw(TYPES), data.draw(TYPES)
    source, target = data.draw(tile(first, data.draw(SHAPES))), data.draw(target_for(first, dst))
    unit = data.draw(ENGINES) if target != "trn1" else "vector"
    expected = stored(values(source), dst) if first != dst else source.astype(float)
    np.testing.assert_array_equal(copied("tensor_copy", source, dst, target, unit).astype(float), expected)
    np.testing.assert_array_equal(copied("dma_copy", source, dst, target).astype(float), expected)


@FEW
@given(st.data())
def test_tensor_copy_and_dma_copy_keep_the_bits_of_an_unchanged_type(data):
    dtype = data.draw(TYPES)
    source, target = data.draw(bits(dtype, data.draw(SHAPES))), data.draw(target_for(dtype))
    unit = data.draw(ENGINES) if target != "trn1" else "vector"
    assert patterns(copied("tensor_copy", source, dtype, target, unit)) == patterns(source)
    assert patterns(copied("dma_copy", source, dtype, target)) == patterns(source)


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_memset_fills_every_type_with_the_float32_of_its_constant(data):
    dst, shape = data.draw(TYPES), data.draw(SHAPES)
    if dst in INTEGERS:
        bounds = np.iinfo(STORAGE[dst])
        value = data.draw(st.integers(int(bounds.min), int(bounds.max)))
        expected = value
    else:
        value = data.draw(st.one_of(NUMBERS, st.floats(), st.integers(-(2**40), 2**40)))
        expected = float(stored(engine(value), dst))
    unit = data.draw(st.sampled_from(["vector", "gpsimd"]))
    (got,) = run_operation("memset", {"dst": (shape, dst)}, {"value": value}, engine=unit, target="trn3")
    np.testing.assert_array_equal(got.astype(float), np.full(shape, expected, float))


@pytest.mark.parametrize(("dtype", "half"), [("float16", 2.0**-11), ("bfloat16", 2.0**-8)])
def test_a_constant_is_a_float32_before_it_is_narrower(dtype, half):
    # A little more than half way to the next value, by less than a float32 can tell: a tie, to the even 1.
    (got,) = run_operation("memset", {"dst": ((1, 1), dtype)}, {"value": 1 + half + 2.0**-30})
    assert got.astype(float).item() == 1


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_dma_compute_adds_any_types_in_float32_and_rounds_once(data):
    shape, dst = data.draw(SHAPES), data.draw(TYPES)
    types = data.draw(st.lists(TYPES, min_size=1, max_size=4))
    sources = [data.draw(tile(dtype, shape)) for dtype in types]
    builder = ProgramBuilder(data.draw(target_for(dst, *types)))
    inputs = [builder.input(shape, dtype) for dtype in types]
    output = builder.output(shape, dst)
    builder.add("dma_compute", dst=output, srcs=inputs, reduce_op="add")
    (got,) = run(builder, *sources)
    total = values(sources[0])
    for source in sources[1:]:
        total = engine(total + values(source))
    np.testing.assert_array_equal(got.astype(float), stored(total, dst))


@FEW
@given(st.data())
def test_dma_transpose_keeps_the_bits_of_every_width(data):
    dtype, shape = data.draw(st.sampled_from(BYTES)), data.draw(SHAPES)
    source = data.draw(bits(dtype, shape))
    (got,) = run_operation("dma_transpose", {"dst": (shape[::-1], dtype)}, {"src": source})
    assert patterns(got) == [list(column) for column in zip(*patterns(source), strict=True)]


def transposed(source, unit, target):
    """A tile transposed by the tensor engine into PSUM or by the vector engine into SBUF, and copied out."""
    builder = ProgramBuilder(target)
    tile_ = builder.load(builder.input(source.shape, nki_dtype(source)))
    turned = builder.tensor(source.shape[::-1], nki_dtype(source), "psum" if unit == "tensor" else "sbuf")
    builder.add("nc_transpose", unit, dst=turned, data=tile_)
    out = builder.tensor(source.shape[::-1], nki_dtype(source))
    builder.add("tensor_copy", dst=out, src=turned)
    builder.store(out)
    return run(builder, source)[0]


SQUARES = st.tuples(st.integers(1, 32), st.sampled_from([1, 2, 9]))


@FEW
@given(st.data())
def test_nc_transpose_keeps_bits_on_both_engines_from_neuroncore_v3_on(data):
    # 8-bit floats on the tensor engine widen, which test_tensor_engine.py covers.
    unit, target = (
        data.draw(st.sampled_from(["tensor", "vector"])),
        data.draw(st.sampled_from(["trn2", "trn3"])),
    )
    dtype = data.draw(st.sampled_from([name for name in BYTES if unit == "vector" or "float8" not in name]))
    source = data.draw(bits(dtype, data.draw(SQUARES)))
    assert patterns(transposed(source, unit, target)) == [
        list(c) for c in zip(*patterns(source), strict=True)
    ]


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_nc_transpose_of_neuroncore_v2_is_a_product_on_the_tensor_engine_only(data):
    dtype, shape = data.draw(st.sampled_from(["float32", "bfloat16", "float16"])), data.draw(SHAPES)
    source = data.draw(tile(dtype, shape))
    got = transposed(source, "tensor", "trn1").astype(float)
    for row, column in np.ndindex(shape):
        # Every other element of the column is multiplied by zero and added: no number stays no number.
        others = np.delete(source[:, column].astype(float), row)
        exact = math.nan if not np.isfinite(others).all() else source[row, column].astype(float)
        np.testing.assert_array_equal(got[column, row], exact)
    block = source[:32]
    assert patterns(transposed(block, "vector", "trn1")) == [
        list(c) for c in zip(*patterns(block), strict=True)
    ]


@FEW
@given(st.data())
def test_nc_n_gather_fetches_the_bits_of_every_width_through_flattened_dimensions(data):
    dtype, rows = data.draw(st.sampled_from(BYTES)), data.draw(SHAPES)[0]
    free = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    width, count = math.prod(free), data.draw(st.integers(1, 7))
    source = data.draw(bits(dtype, (rows, width)))
    seed = data.draw(st.integers(0, 99))
    indices = np.random.default_rng(seed).integers(0, width, (rows, count)).astype(np.uint32)
    arguments = {"data": source.reshape(rows, *free), "indices": indices}
    (got,) = run_operation("nc_n_gather", {"dst": ((rows, count), dtype)}, arguments)
    fetched = [[patterns(source)[row][place] for place in places] for row, places in enumerate(indices)]
    assert patterns(got) == fetched


@FEW
@given(st.data())
def test_local_gather_fetches_runs_of_bits_of_every_width(data):
    dtype, cores = data.draw(st.sampled_from(BYTES)), data.draw(st.integers(1, 2))
    count, columns = data.draw(st.sampled_from([1, 2, 8])), data.draw(st.integers(1, 2))
    width, valid = data.draw(st.integers(8, 11)), data.draw(st.integers(1, 16 * columns))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    source = random.integers(0, 256, (16 * cores, width * STORAGE[dtype].itemsize), np.uint8).view(
        STORAGE[dtype]
    )
    index = random.integers(0, width - count + 1, (16 * cores, columns)).astype(np.uint16)
    (got,) = run_operation(
        "local_gather",
        {"dst": ((16 * cores, valid * count), dtype)},
        {"src_buffer": source, "index": index, "num_elem_per_idx": count, "num_valid_indices": valid},
    )
    for partition, row in enumerate(patterns(source)):
        first = partition // 16 * 16
        # A core's indices: down its 16 partitions, then the next column.
        places = [index[first + place % 16, place // 16] for place in range(valid)]
        assert patterns(got)[partition] == [row[place + more] for place in places for more in range(count)]
