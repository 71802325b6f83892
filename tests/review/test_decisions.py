"""What a reviewer may decide, and what that makes of a draft."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pipeline.library.rubrics import load_rubric
from pipeline.review.decisions import ReviewError, apply_decision, check_decision
from pipeline.types import (
    CheckReport,
    CheckStatus,
    Decision,
    Inspection,
    Judgment,
    OverallGrade,
    Score,
    Verdict,
)

RUBRIC = load_rubric("performance_quality")
NAMES = [criterion.id for criterion in RUBRIC.criteria]


def decision(passed: bool | None = None, comment: str = "", **levels: int) -> Decision:
    return Decision(
        review_id="r-1",
        reviewer="ada",
        levels=levels,
        passed=passed,
        comment=comment,
        decided_at=datetime(2026, 11, 30, tzinfo=UTC),
    )


def draft(level: int | None) -> Judgment:
    scores = tuple(
        Score(criterion=name, level=level, source="check:x", reason="facts", confidence=1.0) for name in NAMES
    )
    overall = OverallGrade(value=None, passed=None, reason="draft", scored_weight=0.0)
    return Judgment(judge="rules 1", scores=scores, overall=overall)


def inspection(status: CheckStatus = CheckStatus.PASSED) -> Inspection:
    reports = tuple(CheckReport(check=gate, status=status, reason="because") for gate in RUBRIC.overall.gates)
    return Inspection(verdict=Verdict.CORRECT, reports=reports, sandbox="namespaces")


def test_levels_of_the_rubric_are_accepted() -> None:
    check_decision(decision(**{NAMES[0]: 0, NAMES[-1]: 4}), RUBRIC)


def test_an_unknown_criterion_is_refused_with_those_there_are() -> None:
    with pytest.raises(ReviewError) as refused:
        check_decision(decision(speed=3), RUBRIC)
    assert "'speed'" in refused.value.fault.message
    assert all(name in refused.value.fault.remedy for name in NAMES)


@pytest.mark.parametrize("level", [-1, 5])
def test_a_level_that_the_rubric_does_not_offer_is_refused(level: int) -> None:
    with pytest.raises(ReviewError) as refused:
        check_decision(decision(**{NAMES[0]: level}), RUBRIC)
    assert "0, 1, 2, 3, 4" in refused.value.fault.remedy


@pytest.mark.parametrize("comment", ["", "  \n"])
def test_overriding_pass_or_fail_needs_a_reason(comment: str) -> None:
    with pytest.raises(ReviewError):
        check_decision(decision(passed=True, comment=comment), RUBRIC)


def test_decided_levels_replace_the_drafts_and_name_the_reviewer_the_others_stay() -> None:
    scores, _ = apply_decision(decision(**{NAMES[0]: 4}), RUBRIC, inspection(), draft(1))
    by_name = {score.criterion: score for score in scores}
    assert (by_name[NAMES[0]].level, by_name[NAMES[0]].source) == (4, "reviewer:ada")
    assert (by_name[NAMES[1]].level, by_name[NAMES[1]].source) == (1, "check:x")


def test_the_overall_number_is_computed_again_from_the_decided_levels() -> None:
    _, overall = apply_decision(decision(**dict.fromkeys(NAMES, 4)), RUBRIC, inspection(), draft(None))
    assert overall.value == 1.0
    assert overall.passed is True
    _, overall = apply_decision(decision(**dict.fromkeys(NAMES, 0)), RUBRIC, inspection(), draft(None))
    assert overall.value == 0.0
    assert overall.passed is False


def test_an_override_of_the_result_stands_with_its_reason() -> None:
    scored = decision(passed=True, comment="the task was at fault", **dict.fromkeys(NAMES, 0))
    _, overall = apply_decision(scored, RUBRIC, inspection(), draft(None))
    assert overall.passed is True
    assert "ada" in overall.reason
    assert "the task was at fault" in overall.reason


def test_a_gate_that_facts_closed_stays_closed_whatever_levels_are_given() -> None:
    scored = decision(**dict.fromkeys(NAMES, 4))
    _, overall = apply_decision(scored, RUBRIC, inspection(CheckStatus.FAILED), draft(None))
    assert overall.value == 0.0
    assert overall.passed is False


def test_a_criterion_that_nobody_could_judge_becomes_unscored_with_the_reason() -> None:
    unjudged = decision(**{NAMES[0]: 4}).model_copy(update={"unjudged": {NAMES[1]: "the file is cut off"}})
    check_decision(unjudged, RUBRIC)
    scores, _ = apply_decision(unjudged, RUBRIC, inspection(), draft(3))
    by_name = {score.criterion: score for score in scores}
    assert by_name[NAMES[1]].level is None
    assert by_name[NAMES[1]].reason == "the file is cut off"
    assert by_name[NAMES[1]].source == "reviewer:ada"
    assert by_name[NAMES[2]].level == 3


@pytest.mark.parametrize(
    ("unjudged", "said"),
    [
        ({"speed": "no such thing"}, "'speed'"),
        ({NAMES[1]: "  "}, "nothing says why"),
        ({NAMES[0]: "and yet it has a level"}, "at once"),
    ],
)
def test_what_is_left_unjudged_is_a_criterion_without_a_level_and_with_a_reason(
    unjudged: dict[str, str], said: str
) -> None:
    with pytest.raises(ReviewError, match=said):
        check_decision(decision(**{NAMES[0]: 4}).model_copy(update={"unjudged": unjudged}), RUBRIC)


def test_levels_that_a_failed_draft_does_not_know_are_scored_all_the_same() -> None:
    nothing = draft(1).model_copy(update={"scores": ()})
    scores, overall = apply_decision(decision(**dict.fromkeys(NAMES, 4)), RUBRIC, inspection(), nothing)
    assert [score.criterion for score in scores] == NAMES
    assert overall.value == 1.0
