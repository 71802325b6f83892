"""Numbers in prose: with the digits that are printed and the unit that follows, ready to be held to a fact.

Only figures count as numbers. What is said in words ("twice", "half", "a dozen") is text: nothing here sees
it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

from pipeline.types import Fact

__all__ = ["NEEDED_UNITS", "Quantity", "find_quantities", "normalise", "read_value", "stands_for"]

#: Spelling of a unit to its dimension and its size in the unit that facts use. KB is 1,000 bytes, as kB is.
_UNITS: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(("B", "byte", "bytes"), ("bytes", "1")),
    **dict.fromkeys(("KiB", "kibibytes"), ("bytes", "1024")),
    **dict.fromkeys(("MiB", "mebibytes"), ("bytes", "1048576")),
    **dict.fromkeys(("GiB", "gibibytes"), ("bytes", "1073741824")),
    **dict.fromkeys(("kB", "KB", "kilobytes"), ("bytes", "1e3")),
    **dict.fromkeys(("MB", "megabytes"), ("bytes", "1e6")),
    **dict.fromkeys(("GB", "gigabytes"), ("bytes", "1e9")),
    **dict.fromkeys(("s", "sec", "second", "seconds"), ("s", "1")),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("s", "1e-3")),
    **dict.fromkeys(("us", "μs", "microsecond", "microseconds"), ("s", "1e-6")),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), ("s", "1e-9")),
    **dict.fromkeys(("%", "percent", "per cent"), ("ratio", "0.01")),
    **dict.fromkeys(("x", "×", "times", "fold", "ratio"), ("ratio", "1")),
    **dict.fromkeys(("flop", "flops", "FLOP", "FLOPs"), ("flop", "1")),
    **dict.fromkeys(("kflop", "KFLOP"), ("flop", "1e3")),
    **dict.fromkeys(("Mflop", "MFLOP"), ("flop", "1e6")),
    **dict.fromkeys(("Gflop", "GFLOP"), ("flop", "1e9")),
    **dict.fromkeys(("Tflop", "TFLOP"), ("flop", "1e12")),
    **dict.fromkeys(
        (
            "flop/byte",
            "flops/byte",
            "flop/B",
            "FLOP/byte",
            "FLOPs/byte",
            "FLOP/B",
            "flop per byte",
            "flops per byte",
        ),
        ("flop/byte", "1"),
    ),
    **dict.fromkeys(("element", "elements"), ("elements", "1")),
    **dict.fromkeys(("transfer", "transfers"), ("transfers", "1")),
    **dict.fromkeys(("instruction", "instructions"), ("instructions", "1")),
    **dict.fromkeys(("B/s",), ("bytes/s", "1")),
    **dict.fromkeys(("MB/s",), ("bytes/s", "1e6")),
    **dict.fromkeys(("GB/s",), ("bytes/s", "1e9")),
    **dict.fromkeys(("GiB/s",), ("bytes/s", "1073741824")),
    **dict.fromkeys(("TB/s",), ("bytes/s", "1e12")),
    **dict.fromkeys(("flop/s", "flops/s", "FLOPS", "FLOP/s"), ("flop/s", "1")),
    **dict.fromkeys(("Gflop/s", "GFLOPS", "GFLOP/s"), ("flop/s", "1e9")),
    **dict.fromkeys(("Tflop/s", "TFLOPS", "TFLOP/s"), ("flop/s", "1e12")),
    **dict.fromkeys(("Hz",), ("Hz", "1")),
    **dict.fromkeys(("MHz",), ("Hz", "1e6")),
    **dict.fromkeys(("GHz",), ("Hz", "1e9")),
    **dict.fromkeys(("bit", "bits"), ("bits", "1")),
    **dict.fromkeys(("cycle", "cycles"), ("cycles", "1")),
    # Nothing here is told in these: a number that carries one of them is no fact's.
    **dict.fromkeys(("TB", "TiB", "Mbit", "Gbit", "kbit", "kHz"), ("?", "1")),
    **dict.fromkeys(
        ("min", "minute", "minutes", "hour", "hours", "W", "mW", "J", "mJ", "°C", "dB"), ("?", "1")
    ),
}
#: What makes a rate of the unit before it, in one of the spellings above or in none.
_PER: Final = r"(?:\s?/\s?|\s+per\s+)(?:s|sec|seconds?|ms|μs|us|ns|cycles?|clock|bytes?|B|flops?)\b"
#: Units of what is counted: a sentence may set the noun apart ("4 scalar and 8 vector instructions").
_COUNTS: Final = ("elements", "transfers", "instructions")
#: Units without which a number says nothing.
NEEDED_UNITS: Final = ("bytes", "s", "flop", "flop/byte", "bytes/s", "flop/s", "Hz")

_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SUPERSCRIPT: Final = re.compile("10([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_POWER: Final = re.compile(r"(?<=[\d.])\s*[*x×·]\s*10\s*(?:\^|\*\*)\s*[({]?([-+]?\d+)[)}]?")
_LONE_POWER: Final = re.compile(r"(?<![\w.])10\s*(?:\^|\*\*)\s*[({]?([-+]?\d+)[)}]?")

_SPELLINGS: Final = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_QUANTITY: Final = re.compile(
    r"(?:(?<![\w.^])|(?<=\d[x×]))"
    r"(?P<sign>(?<![\w.)\]])[-+])?"
    r"(?P<figures>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:_\d{3})+|\d+)(?:\.\d+)?|\.\d+|inf\b)"
    r"(?P<exponent>[eE][-+]?\d+)?"
    # A size such as 128 x 512 is no factor.
    rf"(?:[ \t\n-]{{0,2}}(?P<unit>{_SPELLINGS})(?!\w|(?<=[x×])\s*\d)(?P<per>{_PER})?"
    r"|(?P<rest>(?![x×]\d)[^\W\d_]\w*)?)"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number as it stands in a text.

    Attributes:
        value: In the unit that facts use, e.g. bytes or seconds.
        step: Size of one unit of the last printed digit, likewise.
        dimension: Unit that facts use; empty where none follows, ``?`` for letters that are no unit.
        text: As written, unit included.
        start: Where it begins in the normalised text.
        end: Where it ends.
    """

    value: Decimal
    step: Decimal
    dimension: str
    text: str
    start: int
    end: int

    def equals(self, exact: float | int | Decimal) -> bool:
        """Whether it is `exact`, rounded at most to the digits that are printed.

        Half a unit of the last digit is what rounding may cost: 1.2 stands for 1.24, not for 1.26. A printed
        zero stands for zero alone.
        """
        if isinstance(exact, float) and not math.isfinite(exact):
            return self.value.is_infinite() and exact == float(self.value)
        if not self.value.is_finite():
            return False
        other = Decimal(repr(exact)) if isinstance(exact, float) else Decimal(exact)
        if self.value == 0 or other == 0:
            return self.value == other
        return abs(self.value - other) * 2 <= self.step


def normalise(text: str) -> str:
    """Return `text` with one spelling of digits, signs and powers of ten, e.g. 4 × 10⁻³ as 4e-3."""
    if not text.isascii():
        text = _SUPERSCRIPT.sub(lambda match: f"10^{match[1].translate(_SUPERSCRIPTS)}", text)
        # No digit of another script and no invisible sign may hide a number or break one up.
        text = "".join(map(_plain, unicodedata.normalize("NFKC", text)))
    if "10" in text and ("^" in text or "**" in text):
        text = _POWER.sub(lambda match: f"e{match[1]}", text)
        text = _LONE_POWER.sub(lambda match: f"1e{match[1]}", text)
    return text


def find_quantities(text: str) -> list[Quantity]:
    """Return every number in a normalised `text`, in order.

    Figures inside a word are part of a name (float32, L2); figures before one are a number with letters that
    are no unit, unless they make an ordinal or a dimensionality (2nd, 3-D).
    """
    found = []
    for match in _QUANTITY.finditer(text):
        rest = match["rest"] or ""
        if re.fullmatch(r"st|nd|rd|th|D", rest) or re.match(r"-D\b", text[match.end() :]):
            continue
        found.append(_read(match, "?" if rest or match["per"] else None))
    return found


@lru_cache(maxsize=1024)
def read_value(text: str) -> Quantity | None:
    """Return the one number that `text` consists of, or None where it is anything else."""
    text = normalise(text).strip()
    match = _QUANTITY.fullmatch(text)
    return None if match is None or match["rest"] or match["per"] else _read(match, None)


def stands_for(quantity: Quantity, fact: Fact, *, bare: bool = False) -> bool:
    """Whether `quantity` says the value of `fact`, to its printed digits and with its unit.

    Args:
        quantity: From a statement, or from a citation's value.
        fact: What it may stand for.
        bare: Whether the unit may be left out, as a citation's value may.
    """
    if isinstance(fact.value, bool | str):
        return False
    if not _fits(quantity, fact, bare):
        return False
    if quantity.equals(fact.value):
        return True
    # A judge is told four digits; what it rounds further starts from those.
    told = read_value(fact.digits)
    return told is not None and quantity.equals(told.value)


def _fits(quantity: Quantity, fact: Fact, bare: bool) -> bool:
    """Whether the unit is the fact's, or may be missing."""
    if quantity.dimension == "":
        return bare or fact.unit not in NEEDED_UNITS
    if quantity.dimension == fact.unit:
        return True
    # Facts that count something have the noun in their label: "Instructions, largest shape".
    noun = quantity.dimension.removesuffix("s")
    return quantity.dimension in _COUNTS and fact.unit == "" and noun in f"{fact.id} {fact.label}".lower()


def _read(match: re.Match[str], dimension: str | None) -> Quantity:
    figures = match["figures"].replace(",", "").replace("_", "")
    sign, exponent = match["sign"] or "", match["exponent"] or ""
    # Decimal's exponent is bounded; a number beyond it is no number of ours.
    if len(exponent) > 6 or figures == "inf":
        value, step = Decimal(f"{sign}Infinity"), Decimal(0)
    else:
        value = Decimal(f"{sign}{figures}{exponent}")
        step = Decimal(1).scaleb(int(value.as_tuple().exponent))
    unit, size = _UNITS.get(match["unit"] or "", ("", "1"))
    scale = Decimal(size)
    start, end = match.start("figures"), match.end()
    return Quantity(
        value=value * scale,
        step=step * scale,
        dimension=unit if dimension is None else dimension,
        text=match.string[start:end],
        start=match.start(),
        end=end,
    )


def _plain(sign: str) -> str:
    if sign.isascii():
        return sign
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    category = unicodedata.category(sign)
    if category == "Cf":
        return ""
    return "-" if category == "Pd" or sign == "−" else sign
