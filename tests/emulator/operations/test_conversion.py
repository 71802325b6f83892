"""Every conversion against the bit-level definition of its format, exhaustively where 16 bits suffice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.emulator.dtypes import DTYPES, PACKED
from pipeline.emulator.operations import Operand
from pipeline.emulator.operations.conversion import broadcast_operand, decoding_table, loader, writer

F32 = np.float32


@dataclass(frozen=True)
class Format:
    """A sign, an exponent field with bias ``2 ** (bits - 1) - 1``, a mantissa field.

    An IEEE-like format keeps its highest exponent for infinities and NaN; a finite-only one keeps a single
    pattern of each sign for NaN, or none.
    """

    exponent_bits: int
    mantissa_bits: int
    has_infinity: bool
    has_nan: bool = True

    def value(self, code: int) -> float:
        mantissa = code & ((1 << self.mantissa_bits) - 1)
        exponent = code >> self.mantissa_bits & ((1 << self.exponent_bits) - 1)
        sign = -1.0 if code >> (self.exponent_bits + self.mantissa_bits) else 1.0
        bias = (1 << (self.exponent_bits - 1)) - 1
        if exponent == (1 << self.exponent_bits) - 1:
            if self.has_infinity:
                return sign * math.inf if mantissa == 0 else math.nan
            if self.has_nan and mantissa == (1 << self.mantissa_bits) - 1:
                return math.nan
        if exponent == 0:
            return sign * math.ldexp(mantissa, 1 - bias - self.mantissa_bits)
        return sign * math.ldexp((1 << self.mantissa_bits) + mantissa, exponent - bias - self.mantissa_bits)

    @property
    def positive(self) -> np.ndarray:
        """The finite values that are not negative, ascending: the value of code ``i`` at place ``i``."""
        codes = range(1 << (self.exponent_bits + self.mantissa_bits))
        return np.array([v for v in map(self.value, codes) if math.isfinite(v)])

    @np.errstate(invalid="ignore")  # signalling NaN
    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The nearest values of the format, ties to the even code; infinity or NaN for what is too large."""
        known = self.positive
        # As if one more value followed: what rounds to it overflows.
        extended = np.append(known, 2 * known[-1] - known[-2])
        magnitude = np.abs(values.astype(np.float64))
        upper = np.clip(np.searchsorted(extended, magnitude), 1, len(known))
        above, below = extended[upper] - magnitude, magnitude - extended[upper - 1]
        code = np.where((above < below) | ((above == below) & (upper % 2 == 0)), upper, upper - 1)
        beyond = np.inf if self.has_infinity else np.nan
        rounded = np.where(code == len(known), beyond, extended[code])
        return np.copysign(np.where(np.isnan(values), np.nan, rounded), values)


FORMATS = {
    "float16": Format(5, 10, has_infinity=True),
    "float8_e4m3": Format(4, 3, has_infinity=True),
    "float8_e5m2": Format(5, 2, has_infinity=True),
    "float8_e4m3fn": Format(4, 3, has_infinity=False),
}
EIGHT_BITS = [name for name in FORMATS if name.startswith("float8")]
FOUR_BITS = Format(2, 1, has_infinity=False, has_nan=False)

#: Every upper half of a float32, with lower halves on, just off and far from the places where rounding turns.
HALVES = np.arange(1 << 16, dtype=np.uint32) << 16
AROUND = np.concatenate([HALVES | low for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]).view(F32)


def written(values: np.ndarray, dtype: str) -> np.ndarray:
    destination = np.empty(values.shape, DTYPES[dtype].storage)
    with np.errstate(all="ignore"):
        writer(dtype)(destination, values)
    return destination


def read(array: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return loader(Operand("sbuf", dtype, array.shape, ()), array.shape)(array)


def same(first: np.ndarray, second: np.ndarray) -> bool:
    """Equal in value and in sign, zeros included; NaN equals NaN."""
    signs = np.isnan(first) | (np.signbit(first) == np.signbit(second))
    return bool(np.array_equal(first, second, equal_nan=True) and signs.all())


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_every_pattern_of_an_8_bit_float_is_read_as_its_format_says(dtype):
    patterns = np.arange(256, dtype=np.uint8).view(DTYPES[dtype].storage)
    expected = np.array([FORMATS[dtype].value(code) for code in range(256)])
    assert same(read(patterns, dtype), expected.astype(F32))


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_float_is_written_as_the_nearest_value_ties_to_even(dtype):
    assert same(written(AROUND, dtype).astype(np.float64), FORMATS[dtype].nearest(AROUND))


@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_every_float16_and_bfloat16_is_rounded_once_into_8_bits(dtype):
    for wide in ("float16", "bfloat16"):
        values = read(np.arange(1 << 16, dtype=np.uint16).view(DTYPES[wide].storage), wide)
        assert same(written(values, dtype).astype(np.float64), FORMATS[dtype].nearest(values))


def test_bfloat16_drops_16_bits_to_nearest_even():
    bits = AROUND.view(np.uint32).astype(np.uint64)
    expected = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    numbers = ~np.isnan(AROUND)
    assert np.array_equal(written(AROUND, "bfloat16").view(np.uint16)[numbers], expected[numbers])
    assert np.isnan(written(AROUND, "bfloat16")[~numbers].astype(F32)).all()


@pytest.mark.parametrize(
    ("dtype", "greatest", "rounds_down", "overflows", "beyond"),
    [
        ("float8_e4m3", 240, 247.99, 248, math.inf),
        ("float8_e4m3fn", 448, 464, 464.01, math.nan),
        ("float8_e5m2", 57344, 61439, 61440, math.inf),
        ("float16", 65504, 65519, 65520, math.inf),
    ],
)
def test_beyond_the_greatest_value_there_is_infinity_or_nan(dtype, greatest, rounds_down, overflows, beyond):
    got = written(np.array([greatest, rounds_down, overflows, -overflows, np.inf], F32), dtype).astype(F32)
    assert same(got, np.array([greatest, greatest, beyond, -beyond, beyond], F32))


def test_a_scale_is_a_power_of_two_and_255_is_nan():
    patterns = np.arange(256, dtype=np.uint8).view(DTYPES["float8_e8m0fnu"].storage)
    got = read(patterns, "float8_e8m0fnu")
    assert got[:255].tolist() == [2.0 ** (code - 127) for code in range(255)]
    assert np.isnan(got[255])
    assert written(np.array([0.25, 2.0, 2.0**100], F32), "float8_e8m0fnu").view(np.uint8).tolist() == [
        125,
        128,
        227,
    ]


def test_four_bit_elements_are_those_of_the_microscaling_specification():
    values = decoding_table(DTYPES["float4_e2m1fn_x4"].element)
    assert values.tolist() == [FOUR_BITS.value(code) for code in range(16)]
    assert values[:8].tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]


INTEGERS = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
}
EDGES = [0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 254.5, 2.0**24 + 2, 2.0**31, 2.0**32, -(2.0**31), 1e30, -1e30]


@pytest.mark.parametrize("dtype", INTEGERS)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False), max_size=8))
def test_a_float_is_written_to_an_integer_to_nearest_even_and_saturates(dtype, values):
    low, high = INTEGERS[dtype]
    values = [float(F32(v)) for v in values + EDGES]
    expected = [
        high if v == math.inf else low if v == -math.inf else min(max(round(v), low), high) for v in values
    ]
    assert written(np.array(values, F32), dtype).tolist() == expected


@pytest.mark.parametrize("dtype", INTEGERS)
def test_in_range_and_saturating_tiles_round_alike(dtype):
    values = np.array([0.5, 1.5, 2.5, 3.5, 100.5, 101.5], F32)
    assert written(values, dtype).tolist() == [0, 2, 2, 4, 100, 102]
    assert written(np.append(values, F32(1e20)), dtype).tolist()[:6] == [0, 2, 2, 4, 100, 102]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_nan_becomes_zero_in_an_integer_as_nothing_says_otherwise(dtype):
    assert written(np.array([np.nan, 7, np.inf], F32), dtype).tolist() == [0, 7, INTEGERS[dtype][1]]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_written_exactly_and_saturate(dtype):
    low, high = INTEGERS[dtype]
    values = np.array([0, 1, -1, 2**24 + 1, 2**31 - 1, -(2**31)], np.int32)
    assert written(values, dtype).tolist() == [min(max(int(v), low), high) for v in values]
    unsigned = np.array([2**32 - 1, 2**31, 3], np.uint32)
    assert written(unsigned, dtype).tolist() == [min(int(v), high) for v in unsigned]


def test_an_integer_is_read_through_float32():
    assert read(np.array([2**24 + 1, -(2**24) - 1, 7], np.int32), "int32").tolist() == [2**24, -(2**24), 7]


def test_double_precision_intermediates_round_to_float32_first():
    # 1 + 2**-8 + 2**-30 is above the middle between two bfloat16 values; float32 makes it the middle.
    value = np.array([1 + 2**-8 + 2**-30])
    assert written(value, "bfloat16").astype(F32).tolist() == [1.0]
    assert written(np.array([0.5 + 2**-30]), "int8").tolist() == [0]


def test_flags_are_whether_a_value_is_not_zero():
    assert written(np.array([0, -0.0, 0.5, np.nan], F32), "bool_").tolist() == [False, False, True, True]
    assert written(np.array([True, False]), "float8_e5m2").astype(F32).tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["float8_e4m3", "bfloat16", "int8", "int32", "float32"])
def test_a_strided_destination_takes_values_in_their_flattened_order(dtype):
    tile = np.zeros((3, 8), DTYPES[dtype].storage)
    writer(dtype)(tile[:, 1::2], np.arange(12, dtype=F32).reshape(2, 6))
    assert tile[:, 1::2].astype(F32).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert not tile[:, ::2].astype(F32).any()


@pytest.mark.parametrize("dtype", ["float8_e4m3", "bfloat16", "int16", "float32"])
def test_a_strided_source_is_read_in_its_flattened_order(dtype):
    tile = np.arange(24).reshape(3, 8).astype(DTYPES[dtype].storage)
    view = tile[:, ::2]
    got = loader(Operand("sbuf", dtype, view.shape, ()), (6, 2))(view)
    assert got.dtype == F32
    assert got.tolist() == [[0, 2], [4, 6], [8, 10], [12, 14], [16, 18], [20, 22]]


def test_what_is_read_from_float32_is_the_tile_itself_and_writing_leaves_values_alone():
    tile = np.array([[300.5, -1.0]], F32)
    assert read(tile, "float32") is tile
    for dtype in ("int8", "float8_e4m3", "bfloat16"):
        written(tile, dtype)
    assert tile.tolist() == [[300.5, -1.0]]


def test_a_scalar_operand_broadcasts_along_the_free_dimensions():
    tile = np.array([[1.5], [2.5]], DTYPES["bfloat16"].storage)
    column = broadcast_operand(Operand("sbuf", "bfloat16", (2, 1), (1, 1)), None, (2, 3, 4))
    assert (column(tile) * np.ones((2, 3, 4), F32))[:, 2, 3].tolist() == [1.5, 2.5]
    assert broadcast_operand(None, 3, (2, 3))(None) == 3.0


@pytest.mark.parametrize("dtype", sorted(PACKED))
def test_packed_types_have_no_value_of_their_own(dtype):
    with pytest.raises(TypeError, match=dtype):
        loader(Operand("sbuf", dtype, (1, 1), (1, 1)), (1, 1))
    with pytest.raises(TypeError, match=dtype):
        writer(dtype)
