"""Code as statements are held to it: quotes, names and numbers of any of its lines, each line read once.

Both sides are hostile. A model may cite the whole file in every one of its statements, and an author may
write lines that take long to read; what one answer costs to check must still be little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import Final

from pipeline.judge.quantities import find_quantities, normalise

__all__ = ["IDENTIFIER", "Number", "Passages", "Span", "collect_numbers", "join_tokens", "merge_spans"]

#: First and last line, 1-based.
Span = tuple[int, int]
#: Value and dimension.
Number = tuple[Decimal, str]

IDENTIFIER: Final = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
#: Parts of a dotted name that are told apart at either end. Nothing in NKI has more than four.
_DOTTED_PARTS: Final = 8


class Passages:
    """The lines of one text, of which any may be cited.

    Args:
        lines: Without their ends.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = tuple(lines)
        self._tokens: dict[int, str] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._numbers: dict[int, frozenset[Number]] = {}

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self._lines)

    def holds_quote(self, span: Span, quote: str) -> bool:
        """Whether lines hold `quote`; how far each of its lines is indented is not looked at."""
        stripped = "\n".join(line.strip() for line in quote.strip().split("\n"))
        return self._finds(quote, span, self._whole) or self._finds(stripped, span, self._stripped)

    def holds_line(self, span: Span, quote: str) -> bool:
        """Whether one of the lines is `quote`, indentation apart."""
        return quote.strip() in (self._lines[place].strip() for place in range(span[0] - 1, span[1]))

    def join_tokens(self, spans: Iterable[Span]) -> str:
        """Return the cited lines in the form of `join_tokens`."""
        kept = self._tokens
        pieces = []
        for place in self._merge(spans):
            if place not in kept:
                kept[place] = join_tokens(normalise(self._lines[place]))[1:]
            pieces.append(kept[place])
        return "\0" + "".join(pieces)

    def list_names(self, spans: Iterable[Span]) -> set[str]:
        """Return the names in the cited lines, and the parts of dotted ones that may stand alone."""
        kept = self._names
        names: set[str] = set()
        for place in self._merge(spans):
            if place not in kept:
                found = IDENTIFIER.findall(normalise(self._lines[place]))
                kept[place] = frozenset(part for name in found for part in _take_apart(name))
            names |= kept[place]
        return names

    def list_numbers(self, spans: Iterable[Span]) -> set[Number]:
        """Return the numbers in the cited lines."""
        kept = self._numbers
        numbers: set[Number] = set()
        for place in self._merge(spans):
            if place not in kept:
                kept[place] = frozenset(collect_numbers(self._lines[place]))
            numbers |= kept[place]
        return numbers

    @cached_property
    def _whole(self) -> tuple[str, list[int]]:
        return _join(self._lines)

    @cached_property
    def _stripped(self) -> tuple[str, list[int]]:
        return _join([line.strip() for line in self._lines])

    def _finds(self, quote: str, span: Span, joined: tuple[str, list[int]]) -> bool:
        text, starts = joined
        first, last = span
        return text.find(quote, starts[first - 1], starts[last] - 1) >= 0

    def _merge(self, spans: Iterable[Span]) -> Iterator[int]:
        """Yield the places of the lines in `spans`, each once and in order."""
        for first, last in merge_spans(spans):
            yield from range(first - 1, min(last, len(self._lines)))


def merge_spans(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans that hold the same lines as `spans`, each line once, in order."""
    done = 0
    for first, last in sorted(spans):
        if last > done:
            yield max(first, done + 1), last
            done = last


def collect_numbers(text: str) -> Iterator[Number]:
    """Yield the numbers in `text`."""
    return ((number.value, number.dimension) for number in find_quantities(normalise(text)))


def join_tokens(text: str) -> str:
    r"""Return the words and signs of a normalised `text`, each between two ``\0``.

    What is found in the tokens of a text so stands there as whole words, whatever the white space.
    """
    return "\0".join(("", *_TOKEN.findall(text.replace("\0", " ")), ""))


def _join(lines: Sequence[str]) -> tuple[str, list[int]]:
    """Return `lines` as one text, and where each begins in it; one that begins after the last ends it."""
    return "\n".join(lines), list(accumulate((len(line) + 1 for line in lines), initial=0))


def _take_apart(name: str) -> Iterator[str]:
    """Yield a dotted name and the parts of it that may stand alone: its beginnings, its endings."""
    yield name
    parts = name.split(".")
    for place in range(1, min(len(parts), _DOTTED_PARTS + 1)):
        yield ".".join(parts[:place])
        yield ".".join(parts[-place:])
