"""Hard rules come first; what they leave open stands alone only where a certificate covers it."""

from __future__ import annotations

import pytest

from pipeline.library.policies import load_policy
from pipeline.library.rubrics import load_rubric
from pipeline.routing.grounds import Assurance
from pipeline.routing.policy import RULES, closed_gates, decide_route, is_settled, stamp_policy
from pipeline.types import (
    GRADE,
    CheckReport,
    CheckStatus,
    Confidence,
    Destination,
    Fact,
    Fault,
    Inspection,
    Judgment,
    OverallGrade,
    Owner,
    Provenance,
    Route,
    Score,
    Verdict,
)
from tests.routing.calibrations import make_calibrator, make_certificate

RUBRIC = load_rubric("performance_quality")
STANDARD = load_policy("standard")
STRICT = load_policy("strict").model_copy(update={"demand_measured": ()})
CALIBRATOR = make_calibrator()
ACCEPT, REVIEW, TWO, HOLD = (
    Destination.ACCEPT,
    Destination.REVIEW,
    Destination.SECOND_REVIEW,
    Destination.HOLD,
)


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


# What certificates decide

CERTIFICATE = make_certificate(CALIBRATOR, authors=("amber-heron-42",))
OPEN = [report(gate, CheckStatus.PASSED) for gate in RUBRIC.overall.gates]
CORRECT = inspection(Verdict.CORRECT, *OPEN)
DRAFT = Judgment(
    judge="language 1",
    scores=(
        Score(criterion="hbm_traffic", level=4, source="check:hbm_traffic", reason="r"),
        Score(criterion="overlap", level=3, source="judge", reason="r"),
        Score(criterion="judgement", level=2, source="judge", reason="r"),
    ),
    overall=OverallGrade(value=0.8, passed=True, reason="r", scored_weight=1.0),
)
WITHOUT_GRADE = DRAFT.model_copy(
    update={
        "overall": OverallGrade(value=None, passed=None, reason="too little is scored", scored_weight=0.4)
    }
)


def covered(**changed: object) -> Assurance:
    """A certificate for the grade, other than in what is `changed` of it."""
    return Assurance(CALIBRATOR, {GRADE: CERTIFICATE.model_copy(update=changed)})


def by_criteria(*criteria: str, **changed: object) -> Assurance:
    certificates = {
        name: CERTIFICATE.model_copy(update={"criterion": name, "reason": f"{name} is certified", **changed})
        for name in criteria
    }
    return Assurance(CALIBRATOR, certificates)


def sure(grade: float | None = 0.95, **criteria: float) -> Confidence:
    known = criteria if grade is None else {GRADE: grade, **criteria}
    return Confidence(value=0.5, reason="r", probabilities=known, calibrator=CALIBRATOR.content_hash())


def route(
    assurance: Assurance,
    confidence: Confidence | None = None,
    *,
    facts: Inspection = CORRECT,
    draft: Judgment | None = DRAFT,
    policy: object = STANDARD,
    task: str = "matmul_tiled",
    version: str = "c" * 64,
    author: str = "amber-heron-42",
) -> Route:
    return decide_route(
        facts,
        RUBRIC,
        draft,
        confidence=confidence or sure(),
        policy=policy,  # type: ignore[arg-type]
        assurance=assurance,
        task=task,
        task_version=version,
        author=author,
    )


@pytest.mark.parametrize(
    ("found", "rule", "destination", "said"),
    [
        (route(covered()), "certified", ACCEPT, "60 % may stand alone"),
        (route(covered(), sure(0.9)), "certified", ACCEPT, "60 % may stand alone"),
        (route(Assurance()), "no_certificate", REVIEW,
         "no certificate covers this judge yet, so a person decides"),
        (route(Assurance(CALIBRATOR)), "no_certificate", REVIEW, "no certificate covers this judge yet"),
        (route(Assurance(refusals={GRADE: "90 more help"})), "no_certificate", REVIEW, "90 more help"),
        (route(Assurance(void="void: the prompt changed since it was issued")), "void_certificate", REVIEW,
         "its certificate is void: the prompt changed since it was issued"),
        (route(Assurance(refusals={GRADE: "it failed"}, void="void")), "no_certificate", REVIEW, "failed"),
        (route(covered(calibrator="0" * 64)), "void_certificate", REVIEW, "the calibrator changed"),
        (route(covered(), Confidence(value=0.9, reason="r")), "void_certificate", REVIEW, "calibrator"),
        (route(covered(constructed=True)), "constructed_labels", REVIEW, "not evidence of quality"),
        (route(covered(constructed=True), task="rope"), "constructed_labels", REVIEW, "constructed"),
        (route(covered(), task="rope"), "uncovered_task", REVIEW, "rope"),
        (route(covered(), version="d" * 64), "uncovered_task", REVIEW, "matmul_tiled as it is now"),
        (route(covered(), author="brisk-otter-07"), "uncovered_author", REVIEW, "author"),
        (route(covered(), author=""), "uncovered_author", REVIEW, "author"),
        (route(covered(), sure(0.8999)), "below_threshold", REVIEW, "probability 0.899, below the 0.900"),
        (route(covered(), sure(0.5)), "below_threshold", REVIEW, "probability 0.500"),
        (route(covered(), sure(0.499)), "below_threshold", TWO, "two people decide"),
        (route(covered(), sure(None)), "below_threshold", REVIEW, "nothing says how probable"),
        (route(covered(), draft=WITHOUT_GRADE), "below_threshold", REVIEW, "too little is scored"),
        (route(covered(), draft=None), "below_threshold", REVIEW, "nothing was drafted"),
        (route(covered(), policy=None), "no_certificate", REVIEW, "no certificate covers this judge yet"),
    ],
)  # fmt: skip
def test_without_a_hard_rule_the_first_certificate_rule_that_applies_decides(
    found: Route, rule: str, destination: Destination, said: str
) -> None:
    assert (found.rule, found.destination) == (rule, destination)
    assert said in found.reason
    assert not is_settled(found)


BOTH = by_criteria("overlap", "judgement")


@pytest.mark.parametrize(
    ("assurance", "confidence", "rule", "destination", "said"),
    [
        (BOTH, sure(None, overlap=0.99, judgement=0.92), "certified", ACCEPT, "judgement is certified"),
        (BOTH, sure(None, overlap=0.91, judgement=0.92), "certified", ACCEPT, "overlap is certified"),
        (BOTH, sure(0.99, overlap=0.99, judgement=0.8), "below_threshold", REVIEW, "the level of judgement"),
        (BOTH, sure(0.99, overlap=0.2, judgement=0.8), "below_threshold", TWO, "the level of overlap"),
        (BOTH, sure(0.99, overlap=0.99), "below_threshold", REVIEW, "level of judgement"),
        (by_criteria("overlap"), sure(overlap=0.99, judgement=0.99), "no_certificate", REVIEW, "judgement"),
        (by_criteria("overlap", "judgement", constructed=True), sure(), "constructed_labels", REVIEW, "not"),
        (covered(), sure(0.99, overlap=0.99, judgement=0.99), "no_certificate", REVIEW, "this judge yet"),
    ],
)  # fmt: skip
def test_by_criteria_every_level_from_a_judge_needs_a_certificate_and_the_least_sure_decides(
    assurance: Assurance, confidence: Confidence, rule: str, destination: Destination, said: str
) -> None:
    found = route(assurance, confidence, policy=STRICT)
    assert (found.rule, found.destination) == (rule, destination)
    assert said in found.reason


def test_by_criteria_a_draft_without_a_level_from_a_judge_is_not_accepted_for_want_of_anything_to_cover() -> (
    None
):
    scores = tuple(score for score in DRAFT.scores if score.source != "judge")
    found = route(BOTH, sure(), draft=DRAFT.model_copy(update={"scores": scores}), policy=STRICT)
    assert (found.rule, found.destination) == ("no_certificate", REVIEW)


FAULT = DRAFT.model_copy(update={"fault": Fault(owner=Owner.JUDGE, code="refused", message="declined")})


@pytest.mark.parametrize(
    ("facts", "draft", "rule", "destination"),
    [
        (inspection(Verdict.INFRASTRUCTURE), None, "infrastructure", HOLD),
        (inspection(Verdict.UNSUPPORTED), DRAFT, "unsupported", REVIEW),
        (inspection(Verdict.SUSPECT, *OPEN), DRAFT, "integrity", REVIEW),
        (inspection(Verdict.CORRECT, *OPEN, sandbox="limits"), DRAFT, "unsandboxed", REVIEW),
        (inspection(Verdict.INCORRECT, report("correct")), DRAFT, "gate_closed", ACCEPT),
        (inspection(Verdict.INCORRECT, report("correct"), approximated=("gelu",)), DRAFT,
         "approximated", REVIEW),
        (CORRECT, FAULT, "judge_fault", REVIEW),
    ],
)  # fmt: skip
def test_no_certificate_overrides_a_hard_rule(
    facts: Inspection, draft: Judgment | None, rule: str, destination: Destination
) -> None:
    found = route(covered(), facts=facts, draft=draft)
    assert (found.rule, found.destination) == (rule, destination)
    assert is_settled(found)


@pytest.mark.parametrize(
    ("provenance", "rule"),
    [
        (Provenance.MODELLED, "modelled_only"),
        (Provenance.COUNTED, "modelled_only"),
        (Provenance.MEASURED, "certified"),
        (Provenance.MEASURED_IMPORTED, "certified"),
    ],
)
def test_a_criterion_that_a_policy_demands_measured_goes_to_a_person_until_a_device_measured_it(
    provenance: Provenance, rule: str
) -> None:
    policy = STANDARD.model_copy(
        update={"demand_measured": ("speed_of_light", "a_criterion_of_another_rubric")}
    )
    fact = Fact(id="profile.speed_of_light_share", value=0.7, provenance=provenance)
    modelled = Fact(id="profile.roofline_seconds", value=1e-6, unit="s", provenance=Provenance.MODELLED)
    found = route(covered(), facts=CORRECT.model_copy(update={"facts": (modelled, fact)}), policy=policy)
    assert found.rule == rule
    if rule == "modelled_only":
        assert "Distance to the bound" in found.reason
        assert is_settled(found)


def test_every_rule_has_a_name_of_its_own_and_says_when_it_applies() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES) == 15
    assert all(rule.meaning.endswith(".") and "\n" not in rule.meaning for rule in RULES)
    assert [rule.is_hard for rule in RULES] == [True] * 8 + [False] * 7


def test_the_policy_of_a_fingerprint_changes_with_its_text_and_with_what_is_in_force() -> None:
    nothing, one, other = Assurance(), covered(), covered(threshold=0.95)
    stamps = [stamp_policy(policy, what) for policy in (STANDARD, STRICT) for what in (nothing, one, other)]
    assert len(set(stamps)) == 6
    assert stamps[0] == f"gates 2 + standard v1 {STANDARD.content_hash()[:16]}"
    assert stamp_policy(STANDARD, Assurance(CALIBRATOR)) == stamps[0], "a calibrator alone lets nothing stand"
    assert route(covered()).policy == "gates 2 + standard v1"
