"""What an author says about the code, told apart from what the code does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pipeline.judge.citations import split_lines
from pipeline.judge.lexemes import NotPython, scan

__all__ = ["Claim", "separate_claims"]

#: Words that begin a block, whose first statement may follow the colon on the same line.
_BLOCKS: Final = frozenset(
    ("async", "class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while", "with")
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One comment or free-standing string, as written.

    Attributes:
        line: Where it begins, 1-based.
        text: With its hash or its quotes.
    """

    line: int
    text: str


def separate_claims(code: str) -> tuple[list[str], list[Claim]] | None:
    """Return the lines of `code` without comments and free-standing strings, and those as claims in order.

    Line numbers stay: what is taken out leaves its line shorter or empty. Returns None where strings cannot
    be told from code, or brackets do not match.
    """
    text = "\n".join(split_lines(code))
    try:
        spans = sorted(_find_claims(text))
    except NotPython:
        return None
    pieces: list[str] = []
    claims: list[Claim] = []
    done, line = 0, 1
    shortened: set[int] = set()
    for start, end in spans:
        line += text.count("\n", done, start)
        claims.append(Claim(line, text[start:end]))
        breaks = text.count("\n", start, end)
        pieces += (text[done:start], "\n" * breaks)
        shortened |= {line, line + breaks}
        line += breaks
        done = end
    lines = "".join((*pieces, text[done:])).split("\n")
    # White space that only stood before or after a claim says nothing.
    return [kept.rstrip() if place in shortened else kept for place, kept in enumerate(lines, 1)], claims


def _find_claims(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each comment, and of each string that is a statement by itself."""
    strings: list[tuple[int, int]] = []
    alone = True
    begins = True
    depth = 0
    in_head = False
    for lexeme in scan(text):
        kind = lexeme.kind
        if kind == "comment":
            yield lexeme.start, lexeme.end
            continue
        depth += (kind == "open") - (kind == "close")
        if depth == 0 and (kind in ("newline", "semicolon") or (kind == "colon" and in_head)):
            if kind != "colon" and alone:
                yield from strings
            strings, alone, begins, in_head = [], True, True, False
        elif kind == "string":
            strings.append((lexeme.start, lexeme.end))
            begins = False
        elif kind != "newline":
            if begins:
                in_head = kind == "word" and text[lexeme.start : lexeme.end] in _BLOCKS
            alone = begins = False
    if depth:
        raise NotPython
    if alone:
        yield from strings
