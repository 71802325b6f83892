"""How far a draft is trusted, and why."""

import pytest

from pipeline.judge.confidence import state_confidence
from pipeline.types import Fault, Inspection, Judgment, OverallGrade, Owner, Verdict


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
