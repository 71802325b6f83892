"""`quantize_mx` and `nc_matmul_mx` against straightforward loops over the OCP formats."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.legality import Severity, check
from pipeline.emulator.machine import Machine
from tests.emulator.program_builder import ProgramBuilder
from tests.emulator.running import BFLOAT16, run

F32 = np.float32
#: Element dtype, bits of one element, exponent of its largest value.
FORMATS = {
    "float8_e4m3fn_x4": (ml_dtypes.float8_e4m3fn, 8, 8),
    "float8_e5m2_x4": (ml_dtypes.float8_e5m2, 8, 15),
    "float4_e2m1fn_x4": (ml_dtypes.float4_e2m1fn, 4, 2),
}
WORDS = {"float8_e4m3fn_x4": np.uint32, "float8_e5m2_x4": np.uint32, "float4_e2m1fn_x4": np.uint16}


def pack(elements, dtype):
    """Four neighbours per word, the first in the lowest bits."""
    _, width, _ = FORMATS[dtype]
    codes = elements.view(np.uint8).astype(np.uint32).reshape(*elements.shape[:-1], -1, 4)
    words = sum(codes[..., place] << (width * place) for place in range(4))
    return words.astype(WORDS[dtype])


def scale_row(partition):
    """Where the scale of a partition's group lies: within the partition's quadrant of 32, one per 8."""
    return partition // 32 * 32 + partition % 32 // 8


def spread(scales, rows):
    """Put one scale per 8 partitions where the engines look for it; elsewhere a value that would hurt."""
    tile = np.full((rows, scales.shape[1]), 255, np.uint8)
    for group, row in enumerate(scales):
        tile[scale_row(8 * group)] = row
    return tile


def quantized(src, dtype="float8_e4m3fn_x4", *, version="0.6", scale_dtype="uint8", at=0, height=None):
    """Words and the whole scale tile, whose other rows hold 7."""
    partitions, columns = src.shape[0], src[0].size // 4
    builder = ProgramBuilder("trn3", version)
    names = {BFLOAT16: "bfloat16", np.dtype(np.float16): "float16"}
    tile = builder.load(builder.input(src.shape, names[src.dtype]))
    words = builder.tensor((partitions, columns), dtype)
    height = height or max(partitions, 32)
    scales = builder.tensor((height, columns), "uint8")
    builder.add("memset", dst=scales, value=7)
    view = builder.view(scales, (columns, height - at), (1, columns), offset=at * columns, dtype=scale_dtype)
    builder.add("quantize_mx", dst=words, src=tile, dst_scale=view)
    builder.store(words)
    builder.store(scales)
    assert [v.rule for v in check(builder.program()) if v.severity is Severity.ERROR] == []
    return run(builder, src)


def quantized_by_hand(src, dtype):
    """The documented formula, group by group, in Python."""
    element, _, emax = FORMATS[dtype]
    values = src.astype(np.float64).reshape(src.shape[0], -1)
    scales = np.zeros((values.shape[0] // 8, values.shape[1] // 4), np.uint8)
    elements = np.zeros(values.shape, element)
    for group, column in np.ndindex(scales.shape):
        part = (slice(8 * group, 8 * group + 8), slice(4 * column, 4 * column + 4))
        largest = np.abs(values[part]).max()
        exponent = -127 if largest == 0 else max(math.frexp(largest)[1] - 1 - (emax - 1), -127)
        scales[group, column] = exponent + 127
        elements[part] = (values[part] / 2.0**exponent).astype(F32).astype(element)
    return pack(elements, dtype), scales


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["float8_e4m3fn_x4", "float8_e5m2_x4"]),
    st.sampled_from([BFLOAT16, np.dtype(np.float16)]),
    st.sampled_from([32, 64, 96, 128]),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
)
def test_quantize_divides_each_group_by_the_documented_scale(dtype, source, partitions, columns, seed):
    rng = np.random.default_rng(seed)
    spread_out = 12 if source == np.float16 else 120
    values = rng.standard_normal((partitions, 4 * columns)) * 2.0 ** rng.integers(
        -spread_out, spread_out, (partitions, 4 * columns)
    )
    values[: partitions // 4] *= rng.random() < 0.5
    src = np.clip(values, -6e4, 6e4).astype(source) if source == np.float16 else values.astype(source)
    words, scales = quantized(src, dtype)
    expected_words, expected_scales = quantized_by_hand(src, dtype)
    np.testing.assert_array_equal(words, expected_words)
    for group, row in enumerate(expected_scales):
        np.testing.assert_array_equal(scales[scale_row(8 * group)], row)


def test_the_scale_of_a_group_by_hand():
    src = np.zeros((32, 8), BFLOAT16)
    src[3, 1] = -5.0  # floor(log2 5) = 2, minus 8 - 1, plus 127
    words, scales = quantized(src)
    assert scales[:4, 0].tolist() == [122, 0, 0, 0]  # a group of zeros has the least scale, 2**-127
    assert scales[:4, 1].tolist() == [0, 0, 0, 0]
    # -5 / 2**-5 = -160 = -(1 + 2/8) * 2**7: sign, exponent 7 + 7, mantissa 2; the second of four.
    assert words[3, 0] == (1 << 7 | 14 << 3 | 2) << 8
    assert words[:3].tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(("version", "scale", "largest"), [("0.6", 1, 256), ("0.5", 1, 256), ("0.4", 0, 448)])
def test_before_0_5_the_scale_is_half_and_the_largest_values_saturate(version, scale, largest):
    # 255 = 1.99 * 2**7. Divided by 2**0 it stays below 2**8 and rounds up to it; divided by 2**-1 it is 510,
    # beyond 448.
    src = np.full((32, 4), 255, BFLOAT16)
    words, scales = quantized(src, version=version)
    assert scales[0, 0] == 127 + 7 - 8 + scale
    assert words.view(ml_dtypes.float8_e4m3fn).astype(F32).tolist()[0] == [largest] * 4


def test_scales_keep_to_their_rows_so_that_tiles_can_share_a_tile():
    src = np.ones((64, 8), BFLOAT16)
    _, scales = quantized(src, at=4, height=64)
    written = [row for row in range(64) if (scales[row] != 7).any()]
    assert written == [4, 5, 6, 7, 36, 37, 38, 39]
    assert np.unique(scales[written]) == [127 + 0 - 7]


def test_a_scale_tile_of_exponents_is_the_same_bytes():
    src = np.full((32, 4), 3.0, BFLOAT16)
    for scale_dtype in ("uint8", "float8_e8m0fnu"):
        _, scales = quantized(src, scale_dtype=scale_dtype)
        assert scales[:4].tolist() == [[121]] * 4


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_group_with_an_infinity_or_nan_is_observed(value):
    builder = ProgramBuilder("trn3")
    tile = builder.load(builder.input((32, 4), "bfloat16"))
    words, scales = builder.tensor((32, 1), "float8_e5m2_x4"), builder.tensor((4, 1), "uint8")
    builder.add("quantize_mx", dst=words, src=tile, dst_scale=scales)
    builder.store(words)
    machine = Machine(builder.program())
    src = np.full((32, 4), 2, BFLOAT16)
    (finite,) = machine.execute([[src]])
    assert finite.observations == ()
    src[5, 2] = value
    (other,) = machine.execute([[src]])
    (observation,) = other.observations
    assert (observation.function, observation.position) == ("quantize_mx", 1)
    assert observation.high == 2.0**127 * (2 - 2**-7)
    assert np.isnan(value) or value in (observation.least, observation.greatest)


def product(
    stationary, moving, dtypes, scales, *, dst="float32", accumulate=(False,), at=(0, 0), **arguments
):
    """Words and spread scales, multiplied; the scale tiles are views that start at partitions `at`."""
    builder = ProgramBuilder("trn3")
    tiles = [
        builder.load(builder.input(words.shape, dtype))
        for words, dtype in zip((stationary, moving), dtypes, strict=True)
    ]
    views = []
    for scale, start in zip(scales, at, strict=True):
        rows, columns = scale.shape
        tile = builder.load(builder.input(scale.shape, "uint8"))
        views.append(builder.view(tile, (columns, rows - start), (1, columns), offset=start * columns))
    sums = builder.tensor((stationary.shape[1], moving.shape[1]), dst, "psum")
    for adds in accumulate:
        builder.add(
            "nc_matmul_mx", dst=sums, stationary=tiles[0], moving=tiles[1], stationary_scale=views[0],
            moving_scale=views[1], accumulate=adds, **arguments,
        )  # fmt: skip
    out = builder.tensor((stationary.shape[1], moving.shape[1]), dst)
    builder.add("tensor_copy", dst=out, src=sums)
    builder.store(out)
    assert [v.rule for v in check(builder.program()) if v.severity is Severity.ERROR] == []
    (got,) = run(builder, stationary, moving, *scales)
    return got


def random_operand(rng, dtype, partitions, columns):
    """Elements of small integers and halves, their words, one scale per group."""
    element, _, _ = FORMATS[dtype]
    elements = rng.integers(-4, 5, (partitions, columns, 4)).astype(element)
    scales = rng.integers(120, 134, (partitions // 8, columns)).astype(np.uint8)
    return elements, pack(elements, dtype).reshape(partitions, columns), scales


def multiplied_by_hand(first, second):
    """Sum over partitions and the four packed elements, each times its group's power of two."""
    (a, _, a_scales), (b, _, b_scales) = first, second
    result = np.zeros((a.shape[1], b.shape[1]))
    for k, q in itertools.product(range(a.shape[0]), range(4)):
        left = a[k, :, q].astype(np.float64) * 2.0 ** (a_scales[k // 8].astype(int) - 127)
        right = b[k, :, q].astype(np.float64) * 2.0 ** (b_scales[k // 8].astype(int) - 127)
        result += np.outer(left, right)
    return result


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(FORMATS)),
    st.sampled_from(sorted(FORMATS)),
    st.sampled_from([32, 64, 96, 128]),
    st.sampled_from([2, 4, 6]),
    st.integers(1, 7),
    st.integers(0, 2**32 - 1),
)
def test_matmul_contracts_partitions_and_packed_elements_of_any_two_formats(left, right, k, m, n, seed):
    rng = np.random.default_rng(seed)
    first, second = random_operand(rng, left, k, m), random_operand(rng, right, k, n)
    scales = [spread(operand[2], max(k, 32)) for operand in (first, second)]
    got = product(first[1], second[1], (left, right), scales)
    expected = multiplied_by_hand(first, second)
    # Sums of 4k products in any order of float32.
    size = multiplied_by_hand(
        (np.abs(first[0].astype(F32)), None, first[2]), (np.abs(second[0].astype(F32)), None, second[2])
    )
    assert (np.abs(got - expected) <= 4 * k * 2.0**-24 * size).all()


@pytest.fixture
def operands():
    rng = np.random.default_rng(7)
    return random_operand(rng, "float8_e5m2_x4", 64, 2), random_operand(rng, "float4_e2m1fn_x4", 64, 3)


DTYPES = ("float8_e5m2_x4", "float4_e2m1fn_x4")


def test_scales_packed_into_one_tile_are_read_at_their_offset(operands):
    first, second = operands
    together = np.full((64, 3), 255, np.uint8)
    for group in range(8):
        together[scale_row(8 * group), :2] = first[2][group]
        together[scale_row(8 * group) + 4] = second[2][group]
    plain = product(first[1], second[1], DTYPES, [spread(o[2], 64) for o in operands])
    shared = [np.ascontiguousarray(together[:, :2]), together]
    np.testing.assert_array_equal(product(first[1], second[1], DTYPES, shared, at=(0, 4)), plain)


def test_thirty_two_partitions_need_no_more_than_four_scale_rows():
    rng = np.random.default_rng(3)
    first, second = (random_operand(rng, "float8_e4m3fn_x4", 32, 2) for _ in range(2))
    got = product(first[1], second[1], ("float8_e4m3fn_x4",) * 2, [first[2], second[2]])
    np.testing.assert_allclose(got, multiplied_by_hand(first, second), rtol=1e-6)


def test_accumulation_adds_in_float32_and_rounds_to_a_bfloat16_destination_each_time(operands):
    first, second = operands
    scales = [spread(operand[2], 64) for operand in operands]
    once = product(first[1], second[1], DTYPES, scales)
    np.testing.assert_array_equal(
        product(first[1], second[1], DTYPES, scales, accumulate=(False, True, True)), once + once + once
    )
    rounded = once.astype(BFLOAT16)
    twice = (rounded.astype(F32) + once).astype(BFLOAT16)
    got = product(first[1], second[1], DTYPES, scales, dst="bfloat16", accumulate=(False, True))
    np.testing.assert_array_equal(got, twice)


def test_a_row_tile_changes_no_value(operands):
    first, second = operands
    scales = [spread(operand[2], 64) for operand in operands]
    plain = product(first[1], second[1], DTYPES, scales)
    tiled = product(first[1], second[1], DTYPES, scales, tile_position=(0, 0), tile_size=(64, 128))
    np.testing.assert_array_equal(tiled, plain)


def test_a_scale_of_255_is_nan_and_spoils_its_column(operands):
    first, second = operands
    scales = [spread(operand[2], 64) for operand in operands]
    scales[1][scale_row(8), 1] = 255
    got = product(first[1], second[1], DTYPES, scales)
    assert np.isnan(got).tolist() == [[False, True, False]] * 2


@pytest.mark.parametrize("dtype", ["float8_e4m3fn_x4", "float8_e5m2_x4"])
def test_what_is_quantized_multiplies_back_to_what_it_was(dtype):
    # Powers of two survive quantisation; each partition and element of four holds another one.
    src = (2.0 ** (np.arange(32 * 8).reshape(32, 8) % 5)).astype(BFLOAT16)
    words, scales = quantized(src, dtype)
    got = product(words, words, (dtype, dtype), [scales, scales])
    values = src.astype(np.float64).reshape(32, 2, 4)
    np.testing.assert_array_equal(got, np.einsum("kmq,knq->mn", values, values))


@pytest.mark.parametrize("dtype", sorted(FORMATS))
def test_packed_tiles_are_moved_bit_for_bit_and_filled_with_zero(dtype):
    builder = ProgramBuilder("trn3")
    tile = builder.load(builder.input((32, 4), dtype))
    copy, zeros = builder.tensor((32, 2, 2), dtype), builder.tensor((32, 4), dtype)
    builder.add("tensor_copy", dst=copy, src=tile)
    builder.add("memset", dst=zeros, value=0)
    builder.store(copy)
    builder.store(zeros)
    words = np.random.default_rng(1).integers(0, np.iinfo(WORDS[dtype]).max, (32, 4), WORDS[dtype])
    moved, filled = run(builder, words)
    np.testing.assert_array_equal(moved.reshape(32, 4), words)
    assert not filled.any()
