"""Text of others inside Markdown: escaped or fenced so that it stays text, whatever it holds.

Written for CommonMark and GitHub's dialect of it: https://spec.commonmark.org, https://github.github.com/gfm.
"""

from __future__ import annotations

import re
from typing import Final

from pipeline.types.visible import show_controls

__all__ = ["escape_line", "fence_code", "quote_code"]

#: Signs that begin something wherever they stand.
_ANYWHERE: Final = re.compile(r"[\\`*\[\]<>~|&$]")
#: An underscore inside a word begins nothing, and names are full of them.
_EDGE_UNDERSCORE: Final = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
#: Signs that begin a heading, a list or a rule where they begin a line.
_LEADING: Final = re.compile(r"^(?:([#+\-=])|(\d+)([.)]))")
#: What GitHub turns into a link by itself, people and issues included, who would hear of it.
_LINK: Final = re.compile(
    r"(?i)(?:\b(?:https?|ftp)(?=://)|\bwww(?=\.)|\b(?:mailto|xmpp)(?=:)|@(?=\w)"
    r"|#(?=\d)|\bGH(?=-\d))"
)
_CODE: Final = re.compile(r"`([^`\n]+)`")
_BACKTICKS: Final = re.compile(r"`+")


def escape_line(text: str) -> str:
    """Return `text` as one line of Markdown that reads as it is written; `names` in backticks stay code."""
    line = " ".join(show_controls(text).split())
    pieces = []
    position = 0
    for match in _CODE.finditer(line):
        pieces += [_escape(line[position : match.start()]), quote_code(match[1])]
        position = match.end()
    escaped = "".join((*pieces, _escape(line[position:])))
    return _LEADING.sub(lambda match: f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}", escaped)


def quote_code(text: str) -> str:
    """Return `text` as a code span in one line; nothing inside it can close it."""
    line = " ".join(show_controls(text).split())
    ticks = "`" * (_longest_run(line) + 1)
    # A space at either end keeps backticks apart, and one is taken away again.
    padding = " " if "`" in (line[:1], line[-1:]) else ""
    return f"{ticks}{padding}{line}{padding}{ticks}" if line else ""


def fence_code(text: str, language: str = "") -> str:
    """Return `text` as a fenced block that nothing inside it can close."""
    shown = show_controls(text.replace("\r\n", "\n"))
    ticks = "`" * max(3, _longest_run(shown) + 1)
    return f"{ticks}{language}\n{shown}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _escape(text: str) -> str:
    escaped = _EDGE_UNDERSCORE.sub(r"\\_", _ANYWHERE.sub(r"\\\g<0>", text))
    # An empty comment ends no word for a reader, and every one for what looks for links.
    return _LINK.sub(r"\g<0><!-- -->", escaped)
