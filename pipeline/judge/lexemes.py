"""Comments and strings of Python source, found in one pass of linear time.

Python's own tokenizer takes milliseconds for a kernel, and on hostile text far longer than its length
warrants. What it would refuse is not all refused here; but whatever it accepts is cut at the same places.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Lexeme", "NotPython", "scan"]

#: Since Python 3.12 (PEP 701) an f-string may hold its own quotes and comments; where it ends takes a parser.
_NESTED_QUOTES: Final = sys.version_info >= (3, 12)

_LEXEME: Final = re.compile(
    r"""
      (?P<comment> \#[^\n]* )
    | (?P<string> [bBfFrRtTuU]{0,2} (?:
          \"\"\" [^"\\]*+ (?: (?: \\. | "(?!"") ) [^"\\]*+ )*+ \"\"\"
        | ''' [^'\\]*+ (?: (?: \\. | '(?!'') ) [^'\\]*+ )*+ '''
        | " (?!"") [^"\\\n]*+ (?: \\. [^"\\\n]*+ )*+ "
        | ' (?!'') [^'\\\n]*+ (?: \\. [^'\\\n]*+ )*+ '
      ) )
    | (?P<word> \w+ )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<newline> \n )
    | (?P<semicolon> ; )
    | (?P<colon> : (?!=) )
    | (?P<broken> ["'] )
    | (?P<space> [ \t\f]+ | \\\n )
    | (?P<other> [^\w\s\#"'()\[\]{};:\\]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


class NotPython(ValueError):
    """Text whose strings cannot be told from its code."""


class Lexeme(NamedTuple):
    """A piece of source.

    Attributes:
        kind: ``comment``, ``string`` (with prefix and quotes), ``template`` (a string with fields, which are
            code that runs), ``word`` (names and numbers), ``open`` and ``close`` (brackets), ``newline``,
            ``semicolon``, ``colon`` or ``other``.
        start: Where it begins, counted in characters.
        end: Where it ends.
    """

    kind: str
    start: int
    end: int


def scan(text: str) -> Iterator[Lexeme]:
    """Yield the lexemes of `text`, whose lines end in line feeds; white space is left out.

    Raises:
        NotPython: At a string without an end, or one whose end only a parser can find.
    """
    for match in _LEXEME.finditer(text):
        kind = match.lastgroup or "other"
        if kind == "space":
            continue
        if kind == "broken":
            raise NotPython
        if kind == "string" and _has_fields(match[0]):
            if _NESTED_QUOTES and _may_nest(match[0]):
                raise NotPython
            kind = "template"
        yield Lexeme(kind, match.start(), match.end())


def _has_fields(literal: str) -> bool:
    """Return whether `literal` is an f-string or t-string that may hold code."""
    return literal[0] not in "\"'" and "{" in literal and bool(set(literal[:2].lower()) & set("ft"))


def _may_nest(literal: str) -> bool:
    """Return whether a field of `literal` may hold a string or comment."""
    body = literal.lstrip("bBfFrRtTuU")
    quotes = 3 if body[:3] in ('"""', "'''") else 1
    return bool(re.search(r"[\"'#]", body[quotes:-quotes]))
