"""The place where a corruption works: one statement of an honest draft, and what else there is."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from evals.citations.cases import Case, Statement
from pipeline.types import Citation, Fact

__all__ = ["Site", "Spoiled", "other_digit", "rounds_to", "same"]

Spoiled = tuple[str, tuple[Citation, ...]]

_NUMBER: Final = re.compile(r"(?<![\w.`-])\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w`]|[.,]\d)")
_SCALES: Final[dict[str, dict[str, float]]] = {
    "bytes": {"KiB": 1024, "MiB": 1024**2, "bytes": 1},
    "s": {"µs": 1e-6, "us": 1e-6, "s": 1},
    "ratio": {"%": 0.01},
}


@dataclass(frozen=True, slots=True)
class Site:
    """One statement, where it stands, and what else there is."""

    statement: Statement
    case: Case
    cases: Sequence[Case]
    chance: random.Random

    @property
    def text(self) -> str:
        return self.statement.text

    @property
    def citations(self) -> tuple[Citation, ...]:
        return self.statement.citations

    @property
    def facts(self) -> dict[str, Fact]:
        return {fact.id: fact for fact in self.case.facts}

    def cited(self, kind: str) -> list[int]:
        """Places of the citations of one kind, in random order."""
        places = [place for place, citation in enumerate(self.citations) if citation.kind == kind]
        return self.chance.sample(places, len(places))

    def exchange(self, place: int, **changes: object) -> Spoiled:
        """The statement with one citation changed."""
        changed = list(self.citations)
        changed[place] = changed[place].model_copy(update=changes)
        return self.text, tuple(changed)

    def retell(self, text: str) -> Spoiled | None:
        """The statement in other words, or None if they are the same."""
        return None if text == self.text else (text, self.citations)

    def lines(self) -> list[str]:
        return self.case.code.split("\n")

    def sentence(self) -> Iterator[tuple[re.Match[str], Fact]]:
        """Numbers of the text that stand for a cited fact, each with it."""
        for number in _NUMBER.finditer(self.text):
            for place in self.cited("fact"):
                fact = self.facts[self.citations[place].fact or ""]
                if _stands_for(number, self.text, fact):
                    yield number, fact
                    break

    def speaks_of(self, token: str) -> bool:
        """Whether something cited holds `token` as a number of its own, in whatever scale."""
        value = float(token.replace(",", ""))
        for citation in self.citations:
            for other in re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", citation.quote + " " + citation.value):
                for scale in (1, 100, 1024, 1024**2, 1e6, 1e3):
                    if abs(float(other) - value * scale) <= 0.06 * value * scale:
                        return True
                    if abs(float(other) * scale - value) <= 0.06 * value:
                        return True
            if citation.kind == "lines" and (citation.first_line or 0) <= value <= (citation.last_line or 0):
                return True
        return value in (2, 4, 8, 16, 24, 32, 64, 128, 512, 1024, 2048, 4096)


def _stands_for(number: re.Match[str], text: str, fact: Fact) -> bool:
    if isinstance(fact.value, bool | str) or not math.isfinite(fact.value):
        return False
    after = text[number.end() :].lstrip()
    scales = {"": 1.0}
    for unit, scale in _SCALES.get(fact.unit, {}).items():
        if after.startswith(unit):
            scales = {unit: scale}
    value = float(number[0].replace(",", ""))
    return any(
        fact.value == value * scale or abs(value * scale - fact.value) <= 0.006 * abs(fact.value)
        for scale in scales.values()
    )


def other_digit(token: str, chance: random.Random) -> str:
    """`token` with one significant digit changed."""
    mantissa = re.split(r"[eE]", token)[0]
    first = next((place for place, sign in enumerate(mantissa) if sign in "123456789"), 0)
    places = [place for place, sign in enumerate(mantissa) if sign.isdigit() and place >= first]
    place = chance.choice(places)
    digit = chance.choice([d for d in "123456789" if d != token[place]])
    return token[:place] + digit + token[place + 1 :]


def same(first: str, second: str) -> bool:
    """Whether two values lie within two per cent of each other."""
    try:
        return abs(float(first) - float(second)) <= 0.02 * abs(float(first))
    except ValueError:
        return False


def rounds_to(fact: Fact, digits: str) -> bool:
    """Whether `digits` are those of `fact`, some of them rounded away."""
    places = len(digits.partition(".")[2]) if "e" not in digits else 12
    return same(digits, fact.digits) or f"{fact.value:.{places}f}" == digits
