"""The calibration report: complete, self-contained, deterministic, and honest about what it rests on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.errors import GraderError
from pipeline.report.calibration.render import render_calibrations, write_calibrations
from pipeline.routing.calibration_result import NOT_EVIDENCE
from tests.report.calibrated import ATTACK, PROMISE, REFUSAL, calibration, two_scopes
from tests.report.page import Page


@pytest.fixture(scope="module")
def html() -> str:
    return render_calibrations(two_scopes())


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_every_tag_closes_every_id_is_unique_and_every_link_leads_somewhere(page: Page) -> None:
    assert page.misplaced == []
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_the_page_needs_no_script_and_loads_nothing(html: str, page: Page) -> None:
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name == "src"]
    assert "url(http" not in html
    assert "default-src 'none'" in html


def test_the_same_calibration_gives_the_same_bytes(html: str, tmp_path: Path) -> None:
    path = write_calibrations(two_scopes(), tmp_path / "calibration.html")
    assert path.read_text(encoding="utf-8") == html


def test_a_certificate_is_shown_with_its_promise_and_what_it_rests_on(page: Page) -> None:
    assert PROMISE in page.words
    # Threshold, share accepted, wrong of those above, bound, labels, look: as the certificate has them.
    assert "0.800 62 % 5 of 130 7.9 % 210 1 of 3" in page.words
    assert "void" in page.words


def test_a_refusal_says_why_and_what_would_help(page: Page) -> None:
    assert REFUSAL in page.words
    assert "none none – – 19 1 of 3" in page.words


def test_fewer_than_twenty_get_no_number_and_no_figure() -> None:
    page = Page(render_calibrations([calibration(19, certified=False)]))
    assert "svg" not in page.tags
    assert "The grade 19" in page.words
    assert "too few: 19 of at least 20" in page.words


@pytest.mark.parametrize("n", [0, 1, 19, 20])
def test_nothing_is_ever_not_a_number(n: int) -> None:
    html = render_calibrations([calibration(n, certified=False)])
    assert not re.search(r"\b(nan|NaN|inf|None)\b", html)


def test_every_figure_stands_above_a_table_of_its_numbers(page: Page, html: str) -> None:
    figures = re.findall(r"<figure.*?</figure>", html, re.DOTALL)
    # Two findings of the scope that has enough labels, two figures each.
    assert len(figures) == 4
    assert all("<svg" in figure and "<table" in figure for figure in figures)


def test_constructed_labels_are_named_in_plain_sight() -> None:
    page = Page(render_calibrations([calibration(constructed=True)]))
    # At the top, over the scope, and beside the certificate.
    assert page.words.count(NOT_EVIDENCE) == 3
    assert NOT_EVIDENCE not in Page(render_calibrations([calibration()])).words


def test_a_dry_run_says_that_nothing_is_in_force() -> None:
    words = Page(render_calibrations([calibration(dry_run=True)])).words
    assert "dry run: nothing is in force" in words
    assert "the labels that certify were not touched" in words


def test_hostile_text_reaches_the_reader_as_text() -> None:
    html = render_calibrations([calibration(hostile=True)])
    assert "<script" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    page = Page(html)
    assert page.misplaced == []
    shown = " ".join(ATTACK.split()).replace("\x1b", "␛").replace("\u202e", "⟦U+202E⟧")
    assert shown in page.words


def test_a_report_of_nothing_is_refused_and_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one scope"):
        render_calibrations([])
    with pytest.raises(GraderError, match="there is no folder"):
        write_calibrations([calibration(0, certified=False)], tmp_path / "nowhere" / "r.html")
