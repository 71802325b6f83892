"""What an author reads, whatever the format and whatever was submitted: well formed, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pipeline.report.collect import Detail
from pipeline.report.feedback import FORMATS, Format, render_feedback
from pipeline.report.markdown import escape_line, fence_code, quote_code
from pipeline.store import Store
from pipeline.types import (
    Citation,
    Score,
)
from tests.report.examples import ATTACK, load
from tests.report.page import Page
from tests.report.test_feedback import LINE, note, redraft

every_format = pytest.mark.parametrize("form", FORMATS)


# Formats.


@pytest.mark.parametrize("name", ["correct", "hostile", "syntax", "binary", "held", "open"])
def test_plain_text_has_at_most_80_columns(store: Store, name: str) -> None:
    assert max(map(len, render_feedback(load(store, name), "text").split("\n"))) <= 80


def test_plain_text_breaks_a_word_that_is_wider_than_the_page(detail: Detail) -> None:
    code = f"{'y' * 300} = 1\n" * 5
    wide = replace(detail, submission=detail.submission.model_copy(update={"code": code}))
    text = render_feedback(redraft(wide, feedback=(note("change", "w" * 300, LINE),)), "text")
    assert max(map(len, text.split("\n"))) == 80


def test_the_page_needs_nothing_else_and_may_load_nothing(detail: Detail) -> None:
    page = Page(render_feedback(detail, "html"))
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(page.tags)
    assert ("meta", "content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert all(link.startswith("#") for link in page.links)
    assert len(page.ids) == len(set(page.ids))


@every_format
def test_the_same_grading_gives_the_same_bytes(detail: Detail, form: Format) -> None:
    assert render_feedback(detail, form) == render_feedback(detail, form)


# Hostile text.


@pytest.fixture
def hostile(detail: Detail) -> Detail:
    """A submission whose code, remarks, reasons and comment try to leave their place."""
    breaker = "`````\n# Grade: 4 of 4\n<script>alert(1)</script>\n```\n[x](http://evil.example)\x1b[31m\u202e"
    code = f"x = '''\n{breaker}\n'''\n{ATTACK}\ny = 1\n"
    attacked = replace(detail, submission=detail.submission.model_copy(update={"code": code}))
    lines = Citation(kind="lines", first_line=2, last_line=9, quote="x")
    items = (note("works", breaker, lines), note("change", f"# {ATTACK}", lines), note("next", "1. 3\n- x"))
    score = Score(criterion="explained", level=1, source="judge", reason=breaker, citations=(lines,))
    assert detail.judgment is not None
    return redraft(attacked, feedback=items, scores=(detail.judgment.scores[0], score))


@every_format
def test_no_control_character_reaches_a_reader(hostile: Detail, form: Format) -> None:
    text = render_feedback(hostile, form)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text)


def test_hostile_text_makes_no_tag_in_html(hostile: Detail) -> None:
    page = Page(render_feedback(hostile, "html"))
    assert "script" not in page.tags
    assert page.misplaced == []
    assert all(link.startswith("#") for link in page.links)
    assert "<script>alert(1)</script>" in page.words


def test_hostile_text_makes_no_structure_in_markdown(hostile: Detail) -> None:
    outside, fence = [], ""
    for line in render_feedback(hostile, "md").split("\n"):
        opened = re.match(r"(`{3,})(\w*)$", line)
        if fence:
            # Only the fence that opened a block may close it.
            fence = "" if line == fence else fence
        elif opened:
            fence = opened[1]
        else:
            outside.append(line)
    assert fence == ""
    headings = [line for line in outside if line.startswith("#")]
    assert headings == [
        "# Feedback: Scale a tensor",
        "## What works",
        "## What must change",
        "## Next step",
        "## Levels",
        "## Errors",
        "## Line by line",
        "## Facts",
    ]
    bare = re.sub(r"\\.|(`+).*?\1|<!-- -->", " ", "\n".join(outside))
    assert not re.search(r"[<>\[\]]|https?://", bare)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain words, 0.5 and nl.load(x)", "plain words, 0.5 and nl.load(x)"),
        ("run.worst_rel_l2", "run.worst_rel_l2"),
        ("*bold* and _slanted_", r"\*bold\* and \_slanted\_"),
        ("# heading", r"\# heading"),
        ("1. first", r"1\. first"),
        ("2) second", r"2\) second"),
        ("- item", r"\- item"),
        ("+ item", r"\+ item"),
        ("===", r"\==="),
        ("> quoted", r"\> quoted"),
        ("a | b", r"a \| b"),
        ("~~gone~~", r"\~\~gone\~\~"),
        ("&lt;b&gt;", r"\&lt;b\&gt;"),
        ("$x$", r"\$x\$"),
        ("<b>", r"\<b\>"),
        ("[a](b)", r"\[a\](b)"),
        ("a\\b", r"a\\b"),
        ("two\nlines", "two lines"),
        ("keep `nl.load` as code", "keep `nl.load` as code"),
        ("one ` alone", r"one \` alone"),
        ("`a` and ` left", r"`a` and \` left"),
        ("https://x.org", "https<!-- -->://x.org"),
        ("www.x.org", "www<!-- -->.x.org"),
        ("a@b.org", "a@<!-- -->b.org"),
        ("thank @octocat", "thank @<!-- -->octocat"),
        ("closes #12", "closes #<!-- -->12"),
        ("see GH-12", "see GH<!-- -->-12"),
        ("\x1b[31m", r"␛\[31m"),
        ("", ""),
    ],
)
def test_a_line_of_markdown_reads_as_it_was_written(text: str, escaped: str) -> None:
    assert escape_line(text) == escaped


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("x", "`x`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a``b", "```a``b```"), ("", "")],
)
def test_a_code_span_is_longer_than_any_run_inside(text: str, quoted: str) -> None:
    assert quote_code(text) == quoted


def test_a_fence_is_longer_than_any_run_inside() -> None:
    assert fence_code("x", "python") == "```python\nx\n```"
    assert fence_code("````") == "`````\n````\n`````"
