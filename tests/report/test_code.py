"""Submitted code in a page: escaped, one span per line, whatever it holds."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.code import highlight_code
from pipeline.types.visible import show_controls


class _Lines(HTMLParser):
    """Text of each line span."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if "id" in dict(attrs):
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        self.lines[-1] += data


def lines_of(code: str) -> list[str]:
    return [line.removesuffix("\n") for line in _Lines(str(highlight_code(code, "g-1", ()))).lines]


@given(
    st.text(
        alphabet=st.characters(codec="utf-8") | st.sampled_from("'\"#\n\r\t\\<&>\x0c\u2028([{"), max_size=200
    )
)
def test_every_line_is_shown_whole_and_in_its_place(code: str) -> None:
    visible = show_controls(code.replace("\r\n", "\n"))
    assert lines_of(code) == visible.removesuffix("\n").split("\n")


@pytest.mark.parametrize("attack", ["</span><b>", "<!--", "&lt;", "'''</pre>", "# <script>"])
def test_markup_in_code_stays_text(attack: str) -> None:
    html = highlight_code(attack, "g-1", ())
    assert "<b>" not in html
    assert "<script" not in html
    assert "<!--" not in html
    assert lines_of(attack) == [attack]


def test_code_too_long_to_colour_is_still_shown_line_by_line() -> None:
    code = "x = '<b>'\n" * 20_000
    assert lines_of(code) == ["x = '<b>'"] * 20_000


def test_windows_line_ends_are_no_extra_lines_and_no_signs() -> None:
    assert lines_of("a = 1\r\nb = 2\r\n") == ["a = 1", "b = 2"]


def test_cited_lines_are_marked() -> None:
    html = highlight_code("a\nb\n", "g-1", (2,))
    assert '<span class="line" id="g-1-L1">' in html
    assert '<span class="line cited" id="g-1-L2">' in html
