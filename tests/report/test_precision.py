"""The errors of an output, drawn and in words."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from pipeline.report.collect import Detail
from pipeline.report.error_figure import draw_errors
from pipeline.report.feedback import FORMATS, Format, render_feedback
from pipeline.report.precision import Precision, find_precision
from pipeline.types import CaseKind, CaseResult, ErrorPicture, RunResult, Verdict
from tests.report.examples import PICTURE, STUDY
from tests.report.page import Page

SVG = "{http://www.w3.org/2000/svg}"


def run_of(picture: ErrorPicture | None = PICTURE, kind: CaseKind = CaseKind.CHECK) -> RunResult:
    case = CaseResult(case="plain", kind=kind, axes={}, seed=0, verdict=Verdict.CORRECT, message="")
    study = STUDY.model_copy(update={"picture": picture})
    return RunResult(verdict=Verdict.CORRECT, cases=(case,), executor="emulator 1", sandbox="", study=study)


def shown(picture: ErrorPicture = PICTURE) -> Precision:
    found = find_precision(run_of(picture))
    assert found is not None
    return found


def test_the_words_say_how_many_are_right_and_where_the_worst_lies() -> None:
    assert shown().words == (
        "97.6% of 128 elements are within one unit in the last place, the worst is over 4 off."
        " The largest error is 2.5 times its limit, in rows 1:2, columns 48:64."
    )


def test_an_output_without_any_error_says_so() -> None:
    exact = PICTURE.model_copy(update={"ulp_counts": (128, 0, 0, 0, 0), "map": ((0.0, 0.0),)})
    assert shown(exact).words == (
        "100% of 128 elements are within one unit in the last place, all are within 0.5."
        " There is no error at all."
    )


def test_an_error_where_none_is_allowed_has_no_number() -> None:
    infinite = PICTURE.model_copy(update={"map": ((math.inf, 0.0),)})
    assert (
        "The largest error is beyond any multiple of its limit, in rows 0:2, columns 0:32."
        in shown(infinite).words
    )


def test_what_was_not_studied_or_is_hidden_is_not_shown() -> None:
    assert find_precision(None) is None
    assert find_precision(run_of(None)) is None
    assert find_precision(run_of(kind=CaseKind.HIDDEN)) is None
    unknown = run_of().model_copy(update={"cases": ()})
    assert find_precision(unknown) is None


def test_the_figure_is_well_formed_and_reads_itself_out() -> None:
    root = ElementTree.fromstring(draw_errors(shown(), "g-1"))
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    ids = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    labels = [ids[name] for name in (root.get("aria-labelledby") or "").split()]
    assert labels == ["Errors of output out on case plain", shown().words]


def test_figures_of_two_submissions_share_no_id() -> None:
    first, second = (set(re.findall(r' id="([^"]*)"', draw_errors(shown(), key))) for key in ("g-1", "g-2"))
    assert first
    assert not first & second


def test_colours_are_those_of_the_page() -> None:
    svg = draw_errors(shown(), "g-1")
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg)) <= {
        "none", "var(--ink)", "var(--muted)", "var(--grid)", "var(--accent)", "var(--bad)",
    }  # fmt: skip


def test_each_count_and_each_step_of_the_map_is_drawn() -> None:
    svg = draw_errors(shown(), "g-1")
    texts = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert [text for text in texts if text in {"120", "5", "2", "0", "1"}] == ["120", "5", "2", "0", "1"]
    assert {"≤ 0.5", "≤ 4", "> 4", "error over its limit, 2 rows × 64 columns"} <= set(texts)
    # Up to a tenth: one cell; up to half: two neighbours as one box; up to all: one; beyond: one.
    for outline in ("M1 0h1v1h-1z", "M2 0h2v1h-2z", "M0 1h1v1h-1z", "M3 1h1v1h-1z"):
        assert f'd="{outline}"' in svg


def test_a_full_map_stays_small() -> None:
    noisy = tuple(tuple(((row * 7 + column * 13) % 40) / 20 for column in range(32)) for row in range(32))
    assert len(draw_errors(shown(PICTURE.model_copy(update={"map": noisy})), "g-1")) < 40_000


def test_names_in_the_figure_are_escaped() -> None:
    attack = replace(shown(), output="<script>")
    assert "<script>" not in draw_errors(attack, "g-1")


@pytest.mark.parametrize("form", FORMATS)
def test_feedback_shows_it_in_every_format(detail: Detail, form: Format) -> None:
    text = render_feedback(detail, form)
    words = Page(text).words if form == "html" else " ".join(text.replace("\\", "").split())
    assert "Errors" in words
    assert "Of output out on case plain: 97.6% of 128 elements are within one unit in the last place" in words
    assert ("<svg" in text) == (form == "html")
