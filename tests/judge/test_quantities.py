"""Numbers in prose are read with their digits and their unit, and stand for a fact or do not."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judge.quantities import find_quantities, normalise, read_value, stands_for
from pipeline.types import Fact, Provenance


def read(text: str) -> list[tuple[str, str]]:
    return [(f"{q.value.normalize():f}", q.dimension) for q in find_quantities(normalise(text))]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("12.5 KiB are used", [("12800", "bytes")]),
        ("12.5 kB are used", [("12500", "bytes")]),
        ("12.5KB", [("12500", "bytes")]),
        ("3 MiB and 3 MB", [("3145728", "bytes"), ("3000000", "bytes")]),
        ("1,024 elements", [("1024", "elements")]),
        ("2,097,152", [("2097152", "")]),
        ("4e-3", [("0.004", "")]),
        ("4 × 10⁻³", [("0.004", "")]),
        ("4 x 10^-3 and 10^-4", [("0.004", ""), ("0.0001", "")]),
        ("87 %", [("0.87", "ratio")]),
        ("87 per cent", [("0.87", "ratio")]),
        ("2.3x, 2.3×, 2.3 times, 2-fold", [("2.3", "ratio")] * 3 + [("2", "ratio")]),
        ("17.4 µs", [("0.0000174", "s")]),
        ("17.4 μs", [("0.0000174", "s")]),
        ("17.4us", [("0.0000174", "s")]),
        ("0.5 ms or 500 microseconds", [("0.0005", "s"), ("0.0005", "s")]),
        ("171 flop/byte", [("171", "flop/byte")]),
        ("362 GB/s", [("362000000000", "bytes/s")]),
        ("5 of 9, or 5/9", [("5", ""), ("9", ""), ("5", ""), ("9", "")]),
        ("between 3-5", [("3", ""), ("5", "")]),
        ("it is -3.5 off", [("-3.5", "")]),
        ("K=4096.", [("4096", "")]),
        ("a tile of 128 x 512", [("128", ""), ("512", "")]),
        ("16-bit", [("16", "bits")]),
        ("４２ and ٤٢", [("42", ""), ("42", "")]),
        ("1\u200b2 and 1\u20602", [("12", ""), ("12", "")]),
        ("4k rows", [("4", "?")]),
        ("9 minutes", [("9", "?")]),
        ("9 bytes/s and 9 KiB per cycle", [("9", "?"), ("9216", "?")]),
        ("9 KiB per partition", [("9216", "bytes")]),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, numbers: list[tuple[str, str]]) -> None:
    assert read(text) == numbers


@pytest.mark.parametrize(
    "text", ["float32 and L2", "trn2", "a 2-D tile, 2D or 3rd", "x^2", "twice, half, a dozen"]
)
def test_figures_of_a_name_are_no_number(text: str) -> None:
    assert read(text) == []


def fact(value: bool | int | float | str, unit: str = "", label: str = "") -> Fact:
    return Fact(id="a.b", value=value, unit=unit, provenance=Provenance.COUNTED, label=label)


def says(text: str, known: Fact) -> bool:
    (quantity,) = find_quantities(normalise(text))
    return stands_for(quantity, known)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("20 KiB", fact(20480, "bytes")),
        ("20,480 bytes", fact(20480, "bytes")),
        ("20.48 kB", fact(20480, "bytes")),
        ("8.9 %", fact(0.08929, "ratio")),
        ("0.089", fact(0.08929, "ratio")),
        ("0.09 times", fact(0.08929, "ratio")),
        ("17.4 µs", fact(1.738e-05, "s")),
        ("1.74e-5 s", fact(1.738e-05, "s")),
        ("0.0174 ms", fact(1.738e-05, "s")),
        ("512", fact(512, "elements")),
        ("512 elements", fact(512, "elements")),
        ("9", fact(9)),
        ("96 instructions", fact(96, label="Instructions, largest shape")),
        ("inf", fact(float("inf"), "ratio")),
        ("0", fact(0.0, "ratio")),
        # A judge is told 0.1250 and rounds on from there; exactly it is 0.12496.
        ("0.125", fact(0.12496, "ratio")),
    ],
    ids=str,
)
def test_a_number_stands_for_a_fact(text: str, known: Fact) -> None:
    assert says(text, known)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("20.0 kB", fact(20480, "bytes")),
        ("20 MiB", fact(20480, "bytes")),
        ("20480", fact(20480, "bytes")),
        ("20480 elements", fact(20480, "bytes")),
        ("20.4 KiB", fact(20480, "bytes")),
        ("8.9", fact(0.08929, "ratio")),
        ("0.089 %", fact(0.08929, "ratio")),
        ("8.8 %", fact(0.08929, "ratio")),
        ("17.4 ms", fact(1.738e-05, "s")),
        ("1.738e-05", fact(1.738e-05, "s")),
        ("17.3 µs", fact(1.738e-05, "s")),
        ("512 bytes", fact(512, "elements")),
        ("512 transfers", fact(512, "elements")),
        ("9 GB/s", fact(9)),
        ("9 %", fact(9)),
        ("9 instructions", fact(9, label="Case runs")),
        ("inf", fact(1e300, "ratio")),
        # Rounded to nothing: a printed zero is a claim of its own.
        ("0", fact(0.004, "ratio")),
        ("0 %", fact(0.004, "ratio")),
        ("1", fact(True)),
        ("32", fact("float32")),
    ],
    ids=str,
)
def test_a_number_stands_for_no_other_fact(text: str, known: Fact) -> None:
    assert not says(text, known)


@pytest.mark.parametrize("text", ["", "about 5", "5 of 9", "5 5", "five", "nan", "5 elephants", "`5`"])
def test_a_value_is_one_number_and_nothing_else(text: str) -> None:
    assert read_value(text) is None


def test_a_value_may_carry_its_unit() -> None:
    quantity = read_value(" 12.5 KiB ")
    assert quantity is not None
    assert (quantity.value, quantity.step, quantity.dimension) == (Decimal(12800), Decimal("102.4"), "bytes")


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    for quantity in find_quantities(normalise(text)):
        stands_for(quantity, fact(1.5, "s"))


@given(st.integers(min_value=0, max_value=10**12), st.sampled_from(["bytes", "elements"]))
def test_every_count_stands_for_itself_as_printed(value: int, unit: str) -> None:
    assert says(f"{value:,} {unit}", fact(value, unit))


@given(st.floats(min_value=1e-12, max_value=1e12))
def test_every_float_stands_for_itself_as_printed(value: float) -> None:
    known = fact(value, "ratio")
    assert says(known.digits, known)
