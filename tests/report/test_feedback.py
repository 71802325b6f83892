"""What an author reads, in three formats: everything that concerns them, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.report.author import compose_author_view
from pipeline.report.collect import Detail
from pipeline.report.feedback import FORMATS, Format, render_feedback
from pipeline.store import Store, open_store
from pipeline.types import (
    CheckReport,
    CheckStatus,
    Citation,
    Confidence,
    Fact,
    Fault,
    FeedbackItem,
    Judgment,
    OverallGrade,
    Owner,
    Provenance,
    Score,
    Struck,
    Verdict,
    Vote,
)
from tests.report.examples import decide, fill, load
from tests.report.page import Page

every_format = pytest.mark.parametrize("form", FORMATS)
LINE = Citation(kind="lines", first_line=5, last_line=5, quote="return 2 * x")
ERROR = Citation(kind="fact", fact="run.worst_rel_l2", value="1.25e-07")
MODELLED = Fact(
    id="profile.time", value=2.5e-6, unit="s", provenance=Provenance.MODELLED, label="Shortest time"
)


@pytest.fixture
def released(tmp_path: Path) -> Iterator[Detail]:
    """The same after the reviewer ada decided and commented."""
    with open_store(tmp_path / "released.duckdb") as store:
        fill(store)
        decide(store)
        yield load(store, "correct")


def redraft(detail: Detail, **changes: Any) -> Detail:
    assert detail.judgment is not None
    return replace(detail, judgment=detail.judgment.model_copy(update=changes))


def words(text: str) -> str:
    """Return what a reader of any of the formats sees, without marks and line breaks."""
    return Page(text).words if text.startswith("<!DOCTYPE") else " ".join(re.sub(r"[\\*`]", "", text).split())


def note(part: Any, text: str, *citations: Citation) -> FeedbackItem:
    return FeedbackItem(part=part, text=text, citations=citations)


# What is said.


@every_format
def test_verdict_overall_and_what_decides_it_are_said_in_plain_words(detail: Detail, form: Format) -> None:
    said = words(render_feedback(detail, form))
    assert "Scale a tensor" in said
    assert "It is right on every case, the hidden ones included." in said
    assert "Passed, overall 1.00; 0.70 passes." in said
    assert "75% of the rubric's weight is scored" in said


@every_format
def test_the_three_parts_stand_in_order_with_what_they_cite(detail: Detail, form: Format) -> None:
    said = words(render_feedback(detail, form))
    assert said.index("What works") < said.index("The error is small.") < said.index("Next step")
    assert said.index("Next step") < said.index("Say why in correct.")
    assert "run.worst_rel_l2 = 1.25e-07, emulated" in said
    assert "line 5" in said[said.index("Say why") :]


@every_format
def test_each_scored_criterion_has_level_anchor_reason_and_who_gave_it(detail: Detail, form: Format) -> None:
    said = words(render_feedback(detail, form))
    assert "4 of 4" in said
    assert "margin anchor 4" in said
    assert re.search(r"Settled by a check: far below", said)
    # The weights are 3 and 1.
    assert re.search(r"weight 75 ?%", said)


@every_format
def test_what_was_not_scored_is_said_with_a_reason_and_costs_nothing(detail: Detail, form: Format) -> None:
    said = words(render_feedback(detail, form))
    assert "Explained: it needs a reader of the code, and this was written from facts alone." in said
    assert "This costs you nothing" in said


@every_format
def test_a_draft_says_so_and_a_released_grade_says_who_decided(
    detail: Detail, released: Detail, form: Format
) -> None:
    assert "Draft. A person reads it before anything is decided" in words(render_feedback(detail, form))
    final = words(render_feedback(released, form))
    assert "Final, released on 30 November 2026. A reviewer decided it." in final
    assert "Draft." not in final


@every_format
def test_a_grade_that_facts_settled_says_so(store: Store, form: Format) -> None:
    said = words(render_feedback(load(store, "syntax"), form))
    assert "Facts decided it." in said
    assert "It does not compile." in said
    assert "Close the bracket." in said


@every_format
def test_the_reviewers_comment_is_given_without_the_reviewers_name(released: Detail, form: Format) -> None:
    said = words(render_feedback(released, form))
    assert "The reviewer says: Fine." in said
    assert not re.search(r"\bada\b", said)


@every_format
def test_a_level_that_a_reviewer_gave_names_no_reviewer(released: Detail, form: Format) -> None:
    assert released.grade is not None
    given = Score(criterion="explained", level=2, source="reviewer:ada", reason="decided by ada")
    grade = released.grade.model_copy(update={"scores": (released.grade.scores[0], given)})
    said = words(render_feedback(replace(released, grade=grade), form))
    assert "Decided by a reviewer" in said
    assert "explanation anchor 2" in said
    assert not re.search(r"\bada\b", said)


@every_format
def test_a_pass_against_the_levels_is_said_to_be_a_reviewers(released: Detail, form: Format) -> None:
    assert released.grade is not None
    overall = released.grade.overall.model_copy(update={"passed": False, "reason": "ada decided: no"})
    grade = released.grade.model_copy(update={"overall": overall})
    said = words(render_feedback(replace(released, grade=grade), form))
    assert "Not passed, overall 1.00" in said
    assert "A reviewer decided otherwise" in said
    assert not re.search(r"\bada\b", said)


@every_format
def test_a_closed_gate_decides_alone_and_its_reason_is_not_said_twice(detail: Detail, form: Format) -> None:
    assert detail.inspection is not None
    failed = CheckReport(check="correct", status=CheckStatus.FAILED, reason="3 of 9 case runs fail")
    inspection = detail.inspection.model_copy(update={"reports": (failed,)})
    closed = OverallGrade(value=0.0, passed=False, reason="r", scored_weight=0.75, closed_gates=("correct",))
    shut = redraft(replace(detail, inspection=inspection), overall=closed, feedback=())
    said = words(render_feedback(shut, form))
    assert "decides alone: Correct (3 of 9 case runs fail)." in said
    assert "Not passed." in said
    # A grade of 0 does cost something.
    assert "This costs you nothing" not in said
    told = redraft(shut, feedback=(note("change", "3 of 9 case runs fail: mend the tail.", LINE),))
    assert "decides alone: Correct." in words(render_feedback(told, form))


@every_format
@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict.UNSUPPORTED, "That is our gap, not yours."),
        (Verdict.INFRASTRUCTURE, "something failed on our side. It costs you nothing."),
    ],
)
def test_what_is_our_fault_is_said_to_be(detail: Detail, form: Format, verdict: Verdict, said: str) -> None:
    silent = OverallGrade(value=None, passed=None, reason="r", scored_weight=0.0)
    ours = redraft(detail, overall=silent)
    ours = replace(ours, summary=detail.summary.model_copy(update={"verdict": verdict}))
    told = words(render_feedback(ours, form))
    assert said in told
    assert "There is no overall grade." in told


@pytest.mark.parametrize("verdict", [None, *Verdict])
def test_every_verdict_is_a_sentence_without_our_words_for_it(
    detail: Detail, verdict: Verdict | None
) -> None:
    other = replace(detail, summary=detail.summary.model_copy(update={"verdict": verdict}))
    said = compose_author_view(other).verdict
    assert said.endswith(".")
    assert "_" not in said


@every_format
def test_too_little_that_is_scored_is_said_with_both_numbers(detail: Detail, form: Format) -> None:
    little = OverallGrade(value=None, passed=None, reason="r", scored_weight=0.4)
    said = words(render_feedback(redraft(detail, overall=little), form))
    assert "40% of the rubric's weight is scored; an overall grade needs 50%." in said
    assert "There is no overall grade yet." in said


@every_format
def test_every_state_of_a_grading_renders(store: Store, form: Format) -> None:
    for name in ("correct", "hostile", "syntax", "binary", "held", "open"):
        assert render_feedback(load(store, name), form).endswith("\n")


# Facts and where they come from.


@every_format
def test_a_modelled_number_is_said_to_be_modelled_and_what_that_means(detail: Detail, form: Format) -> None:
    assert detail.inspection is not None
    inspection = detail.inspection.model_copy(update={"facts": (*detail.inspection.facts, MODELLED)})
    cited = Citation(kind="fact", fact="profile.time", value="2.5e-06")
    item = note("works", "It takes 2.5e-06 s.", cited)
    said = words(render_feedback(redraft(replace(detail, inspection=inspection), feedback=(item,)), form))
    assert "profile.time = 2.5e-06 s, modelled" in said
    assert "modelled: from a formula" in said or "modelled from a formula" in said
    assert "Shortest time" in said


@every_format
def test_only_facts_that_are_cited_are_listed(detail: Detail, form: Format) -> None:
    assert detail.inspection is not None
    inspection = detail.inspection.model_copy(update={"facts": (*detail.inspection.facts, MODELLED)})
    assert "profile.time" not in render_feedback(replace(detail, inspection=inspection), form)


@every_format
def test_a_fact_that_does_not_exist_is_named_and_leads_nowhere(detail: Detail, form: Format) -> None:
    item = note("next", "Look at 3.", Citation(kind="fact", fact="no.such", value="3"))
    text = render_feedback(redraft(detail, feedback=(item,)), form)
    assert "no.such = 3" in words(text)
    assert "F-no.such" not in text


# What is not said.


@every_format
def test_nothing_internal_is_said(detail: Detail, form: Format) -> None:
    assert detail.judgment is not None
    secret = "zebra-model-9"
    fault = Fault(owner=Owner.JUDGE, code="invalid_answer", message=f"{secret} wrote no JSON")
    score = Score(
        criterion="explained",
        level=2,
        source="judge",
        reason="It says why.",
        citations=(LINE,),
        confidence=0.4321,
        votes=(Vote(member=f"judge {secret} 1", level=2, confidence=0.4321),),
    )
    judgment = Judgment(
        judge=f"language 1 {secret}",
        scores=(detail.judgment.scores[0], score),
        feedback=detail.judgment.feedback,
        overall=detail.judgment.overall,
        fault=fault,
        usage={"calls": 98765},
        struck=(Struck(member=secret, place="score x", text="an invented praise", problems=("no",)),),
    )
    inside = replace(detail, judgment=judgment, confidence=Confidence(value=0.4321, reason="a guess"))
    text = render_feedback(inside, form)
    for hidden in (secret, "invalid_answer", "0.4321", "0.43", "98765", "invented praise", "a guess", "vote"):
        assert hidden not in text
    assert "Drafted by a language model" in words(text)


@every_format
@pytest.mark.parametrize(
    ("calls", "failed", "signed"),
    [
        (2, False, "Drafted by a language model; a machine"),
        (2, True, "Written by rules"),
        (0, False, "Written by rules"),
    ],
)
def test_remarks_are_signed_by_who_wrote_them_also_where_every_level_is_open(
    detail: Detail, form: Format, calls: int, failed: bool, signed: str
) -> None:
    assert detail.judgment is not None
    unscored = Score(criterion="explained", level=None, source="judge", reason="The evidence is missing.")
    fault = Fault(owner=Owner.JUDGE, code="refused", message="declined") if failed else None
    drafted = redraft(
        detail,
        judge="language 1",
        scores=(detail.judgment.scores[0], unscored),
        usage={"calls": calls} if calls else {},
        fault=fault,
    )
    assert signed in words(render_feedback(drafted, form))


@every_format
def test_a_judges_failure_is_ours_and_has_no_details(detail: Detail, form: Format) -> None:
    fault = Fault(owner=Owner.JUDGE, code="refused", message="zebra declined")
    assert detail.judgment is not None
    scores = (
        detail.judgment.scores[0],
        Score(criterion="explained", level=None, source="judge", reason="no usable answer: zebra declined"),
    )
    said = words(render_feedback(redraft(detail, judge="language 1", scores=scores, fault=fault), form))
    assert "Explained: our draft failed, which is no fault of yours and costs you nothing." in said
    assert "zebra" not in said


@every_format
def test_hidden_cases_and_the_origin_of_the_file_are_not_said(detail: Detail, form: Format) -> None:
    text = render_feedback(detail, form)
    assert "secret" not in text
    assert "1009" not in text
    assert "in/correct" not in text


# Line by line.


def test_in_html_a_remark_stands_below_the_line_that_it_cites(detail: Detail) -> None:
    html = render_feedback(detail, "html")
    page = Page(html)
    assert page.misplaced == []
    assert html.index('id="g-correct-L5"') < html.index('<p class="remark">') < html.index("Facts that are")
    assert 'class="line cited" id="g-correct-L5"' in html
    assert page.links.count("#g-correct-L5") == 1
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


@pytest.mark.parametrize("form", ["text", "md"])
def test_as_text_the_line_is_quoted_with_its_number_and_the_remark_below(
    detail: Detail, form: Format
) -> None:
    text = render_feedback(detail, form)
    assert "5 |     return 2 * x\n" in text
    assert text.index("5 |     return") < text.rindex("Say why in correct.")


def test_a_remark_on_two_places_has_its_words_at_the_first_and_a_hint_at_the_other(detail: Detail) -> None:
    second = Citation(kind="lines", first_line=1, last_line=1, quote="import nki")
    view = compose_author_view(
        redraft(detail, feedback=(note("change", "Lines 5, 1: twice.", LINE, second),))
    )
    assert {line: [remark.text for remark in remarks] for line, remarks in view.remarks.items()} == {
        1: ["See the remark below line 5."],
        5: ["twice."],
    }


@every_format
@pytest.mark.parametrize(("first", "last"), [(0, 0), (6, 6), (5, 4), (-1, 2), (1, 10**12), (None, None)])
def test_lines_that_do_not_exist_carry_no_remark(
    detail: Detail, form: Format, first: int | None, last: int | None
) -> None:
    wrong = Citation(kind="lines", first_line=first, last_line=last)
    wild = redraft(detail, feedback=(note("change", "Look at 3.", wrong),))
    assert compose_author_view(wild).remarks == {}
    assert "Look at 3." in words(render_feedback(wild, form))


def test_of_a_long_place_the_first_and_last_lines_are_quoted(detail: Detail) -> None:
    code = "".join(f"x = {number}\n" for number in range(1, 101))
    long = replace(detail, submission=detail.submission.model_copy(update={"code": code}))
    item = note("change", "All of 100.", Citation(kind="lines", first_line=1, last_line=100))
    text = render_feedback(redraft(long, feedback=(item,)), "text")
    assert "  7 | x = 7\n  ⋮\n100 | x = 100\n" in text
    assert "  8 | x = 8\n" not in text
