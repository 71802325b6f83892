"""How far a draft is trusted, and why."""

import pytest

from pipeline.judge.confidence import state_confidence
from pipeline.types import (
    Fault,
    Finding,
    Inspection,
    Judgment,
    OverallGrade,
    Owner,
    Score,
    Severity,
    Struck,
    Verdict,
)


def an_inspection(*approximated: str) -> Inspection:
    return Inspection(verdict=Verdict.CORRECT, sandbox="bubblewrap", approximated=approximated)


def a_judgment(overall: OverallGrade, fault: Fault | None = None) -> Judgment:
    return Judgment(judge="rules 1", scores=(), overall=overall, fault=fault)


def an_overall(share: float, value: float | None = 0.8, gates: tuple[str, ...] = ()) -> OverallGrade:
    return OverallGrade(value=value, passed=None, reason="why", scored_weight=share, closed_gates=gates)


def test_what_facts_closed_is_certain() -> None:
    confidence = state_confidence(an_inspection("exp"), a_judgment(an_overall(0.0, 0.0, ("compiles",))))
    assert confidence.value == 1.0
    assert "compiles" in confidence.reason


@pytest.mark.parametrize(("share", "value"), [(0.65, 0.65), (0.9, 0.9), (1.0, 0.9)])
def test_otherwise_it_is_the_scored_weight_and_never_certain(share: float, value: float) -> None:
    assert state_confidence(an_inspection(), a_judgment(an_overall(share))).value == value


def test_approximated_operations_lower_it_and_are_named() -> None:
    confidence = state_confidence(an_inspection("activation exp"), a_judgment(an_overall(1.0)))
    assert confidence.value == pytest.approx(0.72)
    assert "activation exp" in confidence.reason


def test_without_a_grade_there_is_none() -> None:
    confidence = state_confidence(an_inspection(), a_judgment(an_overall(0.4, None)))
    assert confidence.value is None
    assert "why" in confidence.reason


def test_a_judge_that_failed_has_none() -> None:
    fault = Fault(owner=Owner.JUDGE, code="garbage", message="the answer was no JSON")
    confidence = state_confidence(an_inspection(), a_judgment(an_overall(1.0), fault))
    assert confidence.value is None
    assert "the answer was no JSON" in confidence.reason


# What a model drafted.


def a_draft(*sure: float, struck: int = 0, contradictions: int = 0) -> Judgment:
    scores = tuple(
        Score(criterion=f"c{number}", level=2, source="judge", reason="because", confidence=confidence)
        for number, confidence in enumerate(sure)
    )
    fallen = Struck(member="judge m 1", place="score c0", text="It flies.", problems=("no such line",))
    finding = Finding(check="judge", severity=Severity.WARNING, message="it is wrong", owner=Owner.JUDGE)
    return Judgment(
        judge="language 1",
        scores=scores,
        overall=an_overall(0.8),
        struck=(fallen,) * struck,
        findings=(finding,) * contradictions,
    )


@pytest.mark.parametrize(
    ("draft", "value"),
    [
        # 0.8 of the weight, times the mean of 0.9 and 0.7.
        (a_draft(0.9, 0.7), 0.64),
        # 0.8 x 1 x 0.9 x 0.9.
        (a_draft(1.0, struck=2), 0.648),
        # 0.8 x 1 x 0.7.
        (a_draft(1.0, contradictions=1), 0.56),
        # 0.8 x 0.5 x 0.9 x 0.7 x 0.7.
        (a_draft(0.5, struck=1, contradictions=2), 0.1764),
    ],
)
def test_a_draft_loses_by_doubt_by_struck_statements_and_by_contradictions(
    draft: Judgment, value: float
) -> None:
    assert state_confidence(an_inspection(), draft).value == pytest.approx(value)


def test_every_reason_for_a_lower_confidence_is_said() -> None:
    reason = state_confidence(an_inspection("exp"), a_draft(0.5, struck=1, contradictions=2)).reason
    for part in ("0.80 of the weight", "exp", "0.50 sure", "1 of its statements", "contradicts 2 facts"):
        assert part in reason


def test_notes_about_feedback_are_no_contradictions() -> None:
    note = Finding(check="judge", severity=Severity.INFO, message="it is curt", owner=Owner.JUDGE)
    draft = a_draft(1.0).model_copy(update={"findings": (note,)})
    assert state_confidence(an_inspection(), draft).value == pytest.approx(0.8)


def test_a_level_that_a_check_gave_says_nothing_about_the_judge() -> None:
    checked = Score(
        criterion="traffic", level=4, source="check:hbm_traffic", reason="because", confidence=None
    )
    draft = a_draft(0.5)
    both = draft.model_copy(update={"scores": (*draft.scores, checked)})
    assert state_confidence(an_inspection(), both) == state_confidence(an_inspection(), draft)
