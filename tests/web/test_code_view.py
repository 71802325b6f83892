"""Code in the workspace: whole, numbered, marked, and inert whatever it holds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from pipeline.library.tasks import load_task
from pipeline.types import Finding, Severity
from pipeline.types.visible import show_controls
from pipeline.web.code_view import Cache, list_modes, mark_lines, render_beside, render_code, render_diff
from tests.web.conftest import TASKS

HOSTILE = "x = '</div></pre><script>alert(1)</script>'  # \x1b[31m \u202e evil \u2066\n"


def finding(severity: Severity, message: str, *lines: int) -> Finding:
    return Finding(check="legal", severity=severity, message=message, lines=lines)


@pytest.mark.parametrize("render", [render_code, lambda code, marks: render_diff("", code, marks)])
def test_hostile_code_is_text(render: object) -> None:
    html = str(render(HOSTILE, {}))  # type: ignore[operator]
    assert "<script" not in html
    assert "&lt;script&gt;" in html or "&lt;" in html
    for hidden in ("\x1b", "\u202e", "\u2066"):
        assert hidden not in html
        assert show_controls(hidden) in html


@given(st.text(alphabet="a\n\r<>'\"#\\ \t\x0c\u2028", max_size=80))
def test_every_line_has_its_number(code: str) -> None:
    html = str(render_code(code, {}))
    numbers = [int(number) for number in re.findall(r' id="L(\d+)"', html)]
    assert numbers == list(range(1, len(numbers) + 1))
    expected = re.split(r"\r\n|\r|\n", code)
    assert len(numbers) == len(expected) - (len(expected) > 1 and not expected[-1])


def test_twenty_thousand_lines_come_whole_and_in_blocks() -> None:
    html = str(render_code("y = 1\n" * 20_000, {}))
    assert ' id="L20000"' in html
    assert html.count('<div class="block">') == 100


def test_a_line_of_a_megabyte_is_shown() -> None:
    html = str(render_code("z" * 1_000_000, {}))
    assert "z" * 1_000_000 in html


def test_a_line_bears_the_worst_of_its_findings_with_a_sign_and_a_word() -> None:
    marks = mark_lines([finding(Severity.WARNING, "small", 2), finding(Severity.ERROR, "big", 2, 3)])
    html = str(render_code("a\nb\nc\n", marks))
    assert marks[2].severity is Severity.ERROR
    assert marks[2].target == "finding-2"
    assert marks[2].words == "warning: small error: big"
    assert html.count('class="mark error" href="#finding-2"') == 2
    assert "error found here" in html


def test_what_a_finding_says_cannot_leave_its_attribute() -> None:
    marks = mark_lines([finding(Severity.INFO, '"><script>alert(1)</script>', 1)])
    assert "<script" not in str(render_code("a\n", marks))


def test_a_difference_has_words_beside_its_colours() -> None:
    html = str(render_diff("a\nb\n", "a\nc\n", {}))
    assert "removed </span>" in html
    assert "added </span>" in html
    assert html.count(' id="L') == 2


def test_another_language_stands_beside_the_code() -> None:
    html = str(render_beside("a\n", {}, "__global__ void f(<b>) {}\n", "<kernel>.cu"))
    assert "&lt;kernel&gt;.cu" in html
    assert "<b>" not in html
    assert html.count(' id="L') == 1


def test_modes_follow_what_a_task_has() -> None:
    modes = [mode.id for mode in list_modes(load_task(TASKS / "cumsum"))]
    assert modes[0] == "submission"
    assert "reference:good_simple.py" in modes
    assert "source:kernel.cu" in modes
    assert not any("bad_" in mode for mode in modes)
    assert modes[-1] == "previous"
    assert [mode.id for mode in list_modes(None)] == ["submission", "previous"]


def test_a_cache_keeps_what_was_used_last_up_to_its_size() -> None:
    cache, made = Cache(10), []

    def make(name: str) -> Markup:
        made.append(name)
        return Markup(name * 4)

    for name in "abacab":
        cache.find((name,), lambda name=name: make(name))  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]
