"""Until a certificate exists, only what facts settled by closing a gate is accepted."""

from __future__ import annotations

import pytest

from pipeline.library.rubrics import load_rubric
from pipeline.routing.policy import closed_gates, decide_route
from pipeline.types import (
    CheckReport,
    CheckStatus,
    Destination,
    Fault,
    Inspection,
    Judgment,
    OverallGrade,
    Owner,
    Verdict,
)

RUBRIC = load_rubric("performance_quality")


def report(check: str, status: CheckStatus = CheckStatus.FAILED) -> CheckReport:
    return CheckReport(check=check, status=status, reason=f"{check} says so")


def inspection(
    verdict: Verdict, *reports: CheckReport, sandbox: str = "namespaces", approximated: tuple[str, ...] = ()
) -> Inspection:
    fault = Fault(owner=Owner.GRADER, code="code", message="what happened")
    return Inspection(
        verdict=verdict, fault=fault, reports=reports, sandbox=sandbox, approximated=approximated
    )


@pytest.mark.parametrize(
    ("verdict", "gate"),
    [
        (Verdict.COMPILE_ERROR, "compiles"),
        (Verdict.ILLEGAL_ON_TARGET, "legal"),
        (Verdict.INCORRECT, "correct"),
        (Verdict.CORRECT, "compute_precision"),
    ],
)
def test_a_gate_that_facts_closed_is_accepted_and_named(verdict: Verdict, gate: str) -> None:
    route = decide_route(inspection(verdict, report(gate)), RUBRIC)
    assert route.destination is Destination.ACCEPT
    assert gate in route.reason
    assert f"{gate} says so" in route.reason


def test_a_correct_kernel_with_every_gate_open_goes_to_a_person() -> None:
    passed = [report(gate, CheckStatus.PASSED) for gate in RUBRIC.overall.gates]
    route = decide_route(inspection(Verdict.CORRECT, *passed), RUBRIC)
    assert route.destination is Destination.REVIEW
    assert "certificate" in route.reason


def test_a_failed_check_that_is_no_gate_settles_nothing() -> None:
    assert "hbm_traffic" not in RUBRIC.overall.gates
    route = decide_route(inspection(Verdict.CORRECT, report("hbm_traffic")), RUBRIC)
    assert route.destination is Destination.REVIEW


def test_wrong_values_that_rest_on_an_approximated_operation_go_to_a_person_who_is_told_which() -> None:
    wrong = inspection(Verdict.INCORRECT, report("correct"), approximated=("activation",))
    route = decide_route(wrong, RUBRIC)
    assert route.destination is Destination.REVIEW
    assert "activation" in route.reason


def test_a_gate_that_no_value_closed_is_accepted_whatever_is_approximated() -> None:
    wrong = inspection(
        Verdict.INCORRECT, report("correct"), report("output_written"), approximated=("activation",)
    )
    route = decide_route(wrong, RUBRIC)
    assert route.destination is Destination.ACCEPT
    assert "output_written" in route.reason


@pytest.mark.parametrize("verdict", [v for v in Verdict if v not in (Verdict.INFRASTRUCTURE,)])
def test_nothing_that_ran_without_a_sandbox_is_accepted(verdict: Verdict) -> None:
    failed = [report(gate) for gate in RUBRIC.overall.gates]
    route = decide_route(inspection(verdict, *failed, sandbox="limits"), RUBRIC)
    assert route.destination is Destination.REVIEW


@pytest.mark.parametrize("verdict", [Verdict.SUSPECT, Verdict.UNSUPPORTED])
def test_what_the_grader_cannot_settle_goes_to_a_person_even_with_a_closed_gate(verdict: Verdict) -> None:
    assert decide_route(inspection(verdict, report("correct")), RUBRIC).destination is Destination.REVIEW


def test_what_infrastructure_kept_from_being_graded_is_held_with_the_cause() -> None:
    route = decide_route(inspection(Verdict.INFRASTRUCTURE), RUBRIC)
    assert route.destination is Destination.HOLD
    assert "what happened" in route.reason


def test_closed_gates_come_in_the_order_of_the_rubric() -> None:
    found = closed_gates(inspection(Verdict.INCORRECT, report("correct"), report("legal")), RUBRIC)
    assert [gate.check for gate in found] == ["legal", "correct"]


def test_a_draft_that_failed_goes_to_a_person_who_is_told_why() -> None:
    fault = Fault(owner=Owner.JUDGE, code="refused", message="the model declined to judge")
    overall = OverallGrade(value=None, passed=None, reason="unscored", scored_weight=0.0)
    draft = Judgment(judge="language 1", scores=(), overall=overall, fault=fault)
    passed = [report(gate, CheckStatus.PASSED) for gate in RUBRIC.overall.gates]
    route = decide_route(inspection(Verdict.CORRECT, *passed), RUBRIC, draft)
    assert route.destination is Destination.REVIEW
    assert route.reason == "the judge could not draft it: the model declined to judge"


def test_no_draft_opens_a_gate_that_facts_closed() -> None:
    overall = OverallGrade(value=1.0, passed=True, reason="perfect", scored_weight=1.0)
    draft = Judgment(judge="language 1", scores=(), overall=overall)
    closed = inspection(Verdict.COMPILE_ERROR, report("compiles"))
    assert decide_route(closed, RUBRIC, draft) == decide_route(closed, RUBRIC)
