"""Submitted code as HTML: highlighted where that is cheap, escaped always, one anchor per line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from markupsafe import Markup, escape
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters.html import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers.c_cpp import CppLexer  # type: ignore[import-untyped]
from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

from pipeline.types.visible import show_controls

__all__ = ["highlight_code", "highlight_lines", "line_anchor", "style_sheet"]

#: Longer code is shown without colours: a lexer's time on hostile text need not be linear.
_HIGHLIGHTED_CHARACTERS: Final = 100_000
_LIGHT: Final = "friendly"
_DARK: Final = "github-dark"
_CPP_ENDINGS: Final = (".cu", ".cuh", ".cpp", ".h")


def line_anchor(grading_id: str, line: int) -> str:
    """Return the id of a line of a grading's code in the page."""
    return f"{grading_id}-L{line}"


def highlight_code(code: str, grading_id: str, cited: Collection[int]) -> Markup:
    """Return the lines of `code` as one ``span`` each, the `cited` ones (1-based) marked.

    Characters that would change what a reader sees without being seen are replaced by visible signs.
    """
    lines = []
    for number, content in enumerate(highlight_lines(code), 1):
        mark = " cited" if number in cited else ""
        lines.append(
            Markup('<span class="line{}" id="{}">{}\n</span>').format(
                mark, line_anchor(grading_id, number), content
            )
        )
    return Markup("").join(lines)


def highlight_lines(code: str, name: str = "kernel.py") -> list[Markup]:
    """Return HTML per line, as many as `code` has between its line feeds; a last line feed starts no line.

    Args:
        code: The text.
        name: Its file name, which tells its language: CUDA and C++ by their endings, else Python.
    """
    text = show_controls(code.replace("\r\n", "\n"))
    plain = text.removesuffix("\n").split("\n")
    if len(text) <= _HIGHLIGHTED_CHARACTERS:
        language = CppLexer if name.endswith(_CPP_ENDINGS) else PythonLexer
        lexer = language(stripnl=False, ensurenl=True)
        coloured = highlight(text, lexer, HtmlFormatter(nowrap=True)).removesuffix("\n").split("\n")
        if len(coloured) == len(plain):
            return [Markup(line) for line in coloured]
    return [escape(line) for line in plain]


def style_sheet() -> Markup:
    """Return the colours of highlighted code, for light and for dark pages."""
    light = HtmlFormatter(style=_LIGHT).get_style_defs(".code")
    dark = HtmlFormatter(style=_DARK).get_style_defs(".code")
    return Markup("{}\n@media (prefers-color-scheme: dark) {{\n{}\n}}").format(Markup(light), Markup(dark))
