"""What an author says about the code, told apart from what the code does."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.judge.citations import split_lines

__all__ = ["Claim", "separate_claims"]

#: Tokens that carry neither code nor claim.
_LAYOUT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENCODING)


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

    Line numbers stay: what is taken out leaves its line shorter or empty. Returns None for what is no
    sequence of Python tokens. Only the tokenizer is used: a parser can be driven into the ground by nesting.
    """
    lines = split_lines(code)
    source = io.StringIO("\n".join(lines))
    try:
        tokens = list(tokenize.generate_tokens(source.readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return None
    if any(token.type == tokenize.ERRORTOKEN for token in tokens):
        return None
    spans = sorted(_find_claims(tokens), key=lambda token: token.start)
    claims = [Claim(token.start[0], token.string) for token in spans]
    for token in reversed(spans):
        (first, begin), (last, end) = token.start, token.end
        rest = lines[last - 1][end:]
        lines[first - 1] = (lines[first - 1][:begin] + rest).rstrip()
        lines[first:last] = [""] * (last - first)
    return lines, claims


def _find_claims(tokens: list[tokenize.TokenInfo]) -> Iterator[tokenize.TokenInfo]:
    """Yield every comment, and every string that is a statement by itself."""
    yield from (token for token in tokens if token.type == tokenize.COMMENT)
    statement: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) or token.string == ";":
            if statement and all(part.type == tokenize.STRING for part in statement):
                yield from statement
            statement = []
        elif token.type not in _LAYOUT:
            statement.append(token)
