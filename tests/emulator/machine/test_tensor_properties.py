"""The tensor engine and quantisation, every pair of types, tails and what is no number: against float64."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.emulator.machine.references import FLOATS, STORAGE, bits, engine, stored, tile
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import nki_dtype, run

FEW = settings(max_examples=30, deadline=None)
NARROW = [name for name in FLOATS if name != "float32"]
#: Small integers, whose products and sums every order of float32 additions finds exactly, and what spreads.
SMALL = st.integers(-8, 8).map(float)
SPECIAL = st.sampled_from([math.nan, math.inf, -math.inf])
#: Contracted, stationary and moving elements: single ones, tails, whole quadrants.
SIZES = st.tuples(*(st.sampled_from(sizes) for sizes in ([1, 3, 32, 37], [1, 2, 33], [1, 2, 5])))


@st.composite
def small_integers(draw, dtype, shape, most=2):
    """A tile of small integers, in which up to `most` elements are no numbers."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    wide = random.integers(-8, 9, shape).astype(np.float32)
    for _ in range(draw(st.integers(0, most))):
        wide.flat[draw(st.integers(0, wide.size - 1))] = draw(SPECIAL)
    return wide.astype(STORAGE[dtype])


def product(pairs, *, target="trn2", dst="float32", repeated=1, **flags):
    """Matmuls into one PSUM tile, the first of which overwrites it, each of them `repeated` times."""
    builder = ProgramBuilder(target)
    operands = [array for pair in pairs for array in pair]
    tiles = [builder.load(builder.input(array.shape, nki_dtype(array))) for array in operands]
    shape = (operands[0].shape[-1], operands[1].shape[-1])
    sums, out = builder.tensor(shape, dst, "psum"), builder.tensor(shape, dst)
    matmuls = [(tiles[i], tiles[i + 1]) for i in range(0, len(tiles), 2)] * repeated
    for number, (left, right) in enumerate(matmuls):
        builder.add("nc_matmul", dst=sums, stationary=left, moving=right, accumulate=number > 0, **flags)
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    return run(builder, *operands)[0].astype(float)


@st.composite
def operand_types(draw):
    """Two types that may meet, and a chip that has both."""
    if draw(st.integers(0, 4)) == 0:
        return "float32", "float32", draw(st.sampled_from(["trn1", "trn2", "trn3"]))
    first, second = draw(st.sampled_from(NARROW)), draw(st.sampled_from(NARROW))
    if {first, second} == {"float8_e4m3", "float8_e4m3fn"}:
        second = first
    new = "float8_e4m3fn" in (first, second)
    return first, second, "trn3" if new else draw(st.sampled_from(["trn1", "trn2", "trn3"]))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_nc_matmul_of_any_two_types_spreads_nan_and_infinity_as_sums_of_products_do(data):
    (first, second, target), (k, m, n) = data.draw(operand_types()), data.draw(SIZES)
    left, right = data.draw(small_integers(first, (k, m))), data.draw(small_integers(second, (k, n)))
    expected = np.zeros((m, n))
    for row in range(k):
        expected += np.outer(left[row].astype(float), right[row].astype(float))
    np.testing.assert_array_equal(product([(left, right)], target=target), expected)


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_nc_matmul_accumulates_in_program_order_with_one_rounding_each(data):
    dst = data.draw(st.sampled_from(["float32", "bfloat16"]))
    count, repeated = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    # One product per matmul: 257 * 3 and its like round in bfloat16, and huge ones overflow.
    elements = st.sampled_from([1.0, -1.0, 3.0, 257.0, 2.0**-140, 2.0**100, math.inf]) | SMALL
    pairs = [[data.draw(tile("float32", (1, 1), elements)) for _ in range(2)] for _ in range(count)]
    total = None
    for left, right in pairs * repeated:
        exact = engine(left.astype(float) * right.astype(float))
        total = stored(exact if total is None else engine(total + exact), dst)
    got = product(pairs, target="trn3", dst=dst, repeated=repeated)
    np.testing.assert_array_equal(got, total)


@FEW
@given(st.data())
def test_nc_matmul_of_small_and_of_denormal_numbers_keeps_to_the_bound_of_float32_sums(data):
    (first, second, target), (k, m, n) = data.draw(operand_types()), data.draw(SIZES)
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    power = data.draw(st.sampled_from([-66, -8, 0, 5]))
    left, right = (
        (random.standard_normal((k, free)) * 2.0**power).astype(STORAGE[dtype])
        for dtype, free in ((first, m), (second, n))
    )
    a, b = left.astype(float), right.astype(float)
    # Higham, Accuracy and Stability of Numerical Algorithms, (3.5), and half of the least denormal per term.
    bound = 1.01 * k * 2.0**-24 * (abs(a).T @ abs(b)) + k * 2.0**-149
    assert (abs(product([(left, right)], target=target) - a.T @ b) <= bound).all()


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_double_row_contracts_twice_the_partitions_of_any_two_8_bit_types(data):
    eight = ["float8_e4m3", "float8_e5m2", "float8_e4m3fn"]
    first = data.draw(st.sampled_from(eight))
    second = data.draw(st.sampled_from([name for name in eight if {first, name} != {eight[0], eight[2]}]))
    k, m, n = data.draw(SIZES)
    left, right = data.draw(small_integers(first, (k, 2, m))), data.draw(small_integers(second, (k, 2, n)))
    target = "trn3" if "float8_e4m3fn" in (first, second) else data.draw(st.sampled_from(["trn2", "trn3"]))
    expected = np.zeros((m, n))
    for row, half in np.ndindex(k, 2):
        expected += np.outer(left[row, half].astype(float), right[row, half].astype(float))
    got = product([(left, right)], target=target, perf_mode="double_row")
    np.testing.assert_array_equal(got, expected)


@FEW
@given(st.data())
def test_transpose_mode_moves_the_bits_of_any_16_or_32_bit_type(data):
    dtype, shape = data.draw(st.sampled_from(["float32", "float16", "bfloat16"])), data.draw(SIZES)[:2]
    source, identity = data.draw(bits(dtype, shape)), np.eye(shape[0], dtype=STORAGE[dtype])
    builder = ProgramBuilder(data.draw(st.sampled_from(["trn2", "trn3"])))
    left, right = (builder.load(builder.input(array.shape, dtype)) for array in (source, identity))
    turned, out = builder.tensor(shape[::-1], dtype, "psum"), builder.tensor(shape[::-1], dtype)
    flags = {"is_transpose": True, "accumulate": False}
    builder.add("nc_matmul", dst=turned, stationary=left, moving=right, **flags)
    builder.add("tensor_copy", dst=out, src=turned)
    builder.store(out)
    (got,) = run(builder, source, identity)
    words = f"u{source.itemsize}"
    assert got.view(words).tolist() == source.view(words).T.tolist()


ELEMENTS = {"float8_e4m3fn_x4": ("float8_e4m3fn", 8), "float8_e5m2_x4": ("float8_e5m2", 15)}


@FEW
@given(st.data())
def test_quantize_mx_divides_denormals_zeros_and_the_greatest_values_by_the_documented_scale(data):
    packed = data.draw(st.sampled_from(sorted(ELEMENTS)))
    element, emax = ELEMENTS[packed]
    dtype = data.draw(st.sampled_from(["bfloat16", "float16"]))
    greatest = 65504.0 if dtype == "float16" else 2.0**127
    numbers = st.sampled_from([0.0, -0.0, 2.0**-133, 2.0**-130, 2.0**-126, 2.0**-24, 1.0, -1.75, greatest])
    # One kind of number per group of 8 partitions and 4 elements, so that scales differ widely.
    largest = data.draw(tile(dtype, (4, 2), numbers)).astype(float)
    shares = data.draw(tile("float32", (32, 8), st.sampled_from([0.0, 1.0, -1.0, 0.75, 2.0**-7, 0.46875])))
    source = (np.repeat(np.repeat(largest, 8, axis=0), 4, axis=1) * shares).astype(STORAGE[dtype])
    builder = ProgramBuilder("trn3")
    source_tile = builder.load(builder.input((32, 8), dtype))
    words, scales = builder.tensor((32, 2), packed), builder.tensor((4, 2), "uint8")
    builder.add("quantize_mx", dst=words, src=source_tile, dst_scale=scales)
    builder.store(words)
    builder.store(scales)
    got, exponents = run(builder, source)
    elements = got.view(STORAGE[element]).astype(float).reshape(32, 8)
    for group, column in np.ndindex(4, 2):
        part = (slice(8 * group, 8 * group + 8), slice(4 * column, 4 * column + 4))
        values = source[part].astype(float)
        top = np.abs(values).max()
        # floor(log2) by frexp, which is exact; the scale is no less than 2**-127, its value for zeros.
        power = max(math.frexp(top)[1] - 1 - (emax - 1), -127) if top else -127
        assert exponents[group, column] == power + 127
        np.testing.assert_array_equal(elements[part], stored(values / 2.0**power, element))


@FEW
@given(st.data())
@np.errstate(all="ignore")
def test_nc_matmul_mx_spreads_the_infinities_and_nans_of_its_elements_and_scales(data):
    columns, dst = data.draw(st.sampled_from([2, 4])), data.draw(st.sampled_from(["float32", "bfloat16"]))
    left, right = (data.draw(small_integers("float8_e5m2", (32, 4 * free))) for free in (columns, 3))
    exponents = st.sampled_from([126, 127, 129, 130, 255])
    scales = [
        data.draw(arrays.arrays(np.uint8, (4, free), elements=exponents, fill=st.just(125)))
        for free in (columns, 3)
    ]
    builder = ProgramBuilder("trn3")
    packed = "float8_e5m2_x4"
    tiles = [builder.load(builder.input((32, free), packed)) for free in (columns, 3)]
    scale_tiles = [builder.load(builder.input(scale.shape, "uint8")) for scale in scales]
    sums, out = builder.tensor((columns, 3), dst, "psum"), builder.tensor((columns, 3), dst)
    builder.add(
        "nc_matmul_mx", dst=sums, stationary=tiles[0], moving=tiles[1], stationary_scale=scale_tiles[0],
        moving_scale=scale_tiles[1], accumulate=False,
    )  # fmt: skip
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    (got,) = run(builder, left.view(np.uint32), right.view(np.uint32), *scales)
    factors = [np.where(scale == 255, math.nan, 2.0 ** (scale.astype(float) - 127)) for scale in scales]
    wide = [
        array.astype(float).reshape(32, free, 4) * np.repeat(factor, 8, axis=0)[:, :, None]
        for array, free, factor in zip((left, right), (columns, 3), factors, strict=True)
    ]
    expected = np.zeros((columns, 3))
    for partition, place in np.ndindex(32, 4):
        expected += np.outer(wide[0][partition, :, place], wide[1][partition, :, place])
    np.testing.assert_array_equal(got.astype(float), stored(engine(expected), dst))
