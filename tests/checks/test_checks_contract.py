"""What every check keeps, whatever it asks."""

import pytest

from pipeline.checks import CHECKS, Check, Evidence, checks_version, collect_facts, inspect_all
from pipeline.types import Admission, CheckStatus, Fault, OutputError, Owner, Severity, Verdict
from tests.checks.evidence import (
    HELD,
    a_build,
    a_case,
    a_failed_build,
    a_program,
    a_run,
    a_study,
    a_submission,
    a_task,
    an_error,
    an_honest_answer,
)

every_check = pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)

REFUSED = a_submission(
    code="",
    refusal=Admission(
        verdict=Verdict.TOO_LARGE, fault=Fault(owner=Owner.SUBMISSION, code="size", message="it is too large")
    ),
)
STATES = {
    "honest": an_honest_answer(),
    "refused": Evidence(task=a_task(), submission=REFUSED),
    "not built": Evidence(task=a_task(), submission=a_submission()),
    **{
        verdict.value: Evidence(task=a_task(), submission=a_submission(), build=a_failed_build(verdict))
        for verdict in Verdict
        if verdict is not Verdict.CORRECT
    },
    "not run": an_honest_answer(run=None, profile=None),
    "run without cases": an_honest_answer(
        run=a_run(a_case("small"), verdict=Verdict.INFRASTRUCTURE).model_copy(update={"cases": ()})
    ),
    "wrong": an_honest_answer(run=a_run(a_case("small", Verdict.INCORRECT, errors=(an_error(1.0),)))),
    "studied": an_honest_answer(run=a_run(study=a_study())),
    "wrong by rounding": an_honest_answer(
        run=a_run(a_case("small", Verdict.INCORRECT, errors=(an_error(1e-3),)), study=a_study(rel_l2=1e-3))
    ),
    "wrong by method": an_honest_answer(
        run=a_run(
            a_case("small", Verdict.INCORRECT, errors=(an_error(0.5),)), study=a_study(exact_rel_l2=0.5)
        )
    ),
    "recorded by the first release": an_honest_answer(
        run=a_run(*(a_case(name, errors=(an_error(tolerance=None),)) for name in ("small", "hard")))
    ),
    "wrong shape": an_honest_answer(run=a_run(a_case("hard", Verdict.INCORRECT, errors=()))),
    "bad program": an_honest_answer(
        build=a_build(
            a_program(
                unwritten={"out": 5},
                mutated_inputs=("x",),
                independent_outputs=("out",),
                compute_dtypes=("bfloat16", "float32"),
                instructions=0,
            )
        )
    ),
}
every_state = pytest.mark.parametrize("evidence", STATES.values(), ids=STATES)


@every_check
def test_a_check_is_listed_under_its_own_id(check: Check) -> None:
    assert CHECKS[check.id] is check
    assert check.title
    assert check.version >= 1


@every_check
@every_state
def test_a_report_names_its_check_and_gives_one_line_of_reason(check: Check, evidence: Evidence) -> None:
    report = check.inspect(evidence)
    assert report.check == check.id
    assert report.reason.strip()
    assert "\n" not in report.reason
    assert {finding.check for finding in report.findings} <= {check.id}


@every_check
@every_state
def test_a_failed_check_says_what_to_do_about_it(check: Check, evidence: Evidence) -> None:
    report = check.inspect(evidence)
    if report.status is CheckStatus.FAILED:
        assert any(finding.severity is not Severity.INFO for finding in report.findings)


@every_check
@every_state
def test_a_check_answers_the_same_evidence_alike(check: Check, evidence: Evidence) -> None:
    assert check.inspect(evidence) == check.inspect(evidence)


@every_state
def test_every_fact_is_known_once_and_findings_cite_only_known_facts(evidence: Evidence) -> None:
    reports = inspect_all(evidence)
    facts = [*collect_facts(evidence), *(fact for report in reports for fact in report.facts)]
    ids = [fact.id for fact in facts]
    assert len(ids) == len(set(ids))
    cited = {name for report in reports for finding in report.findings for name in finding.facts}
    assert cited <= set(ids)


@every_state
def test_a_number_that_a_finding_cites_stands_in_its_message(evidence: Evidence) -> None:
    reports = inspect_all(evidence)
    facts = {f.id: f for f in (*collect_facts(evidence), *(f for r in reports for f in r.facts))}
    for report in reports:
        for finding in report.findings:
            for name in finding.facts:
                assert facts[name].digits in finding.message


@every_check
def test_nothing_is_held_against_an_author_whom_the_infrastructure_failed(check: Check) -> None:
    build = a_failed_build(Verdict.INFRASTRUCTURE, owner=Owner.GRADER)
    report = check.inspect(Evidence(task=a_task(), submission=a_submission(), build=build))
    assert report.status is CheckStatus.UNKNOWN


@every_check
def test_the_honest_answer_fails_no_check(check: Check) -> None:
    assert check.inspect(an_honest_answer()).status is not CheckStatus.FAILED


def a_telling_error() -> OutputError:
    """Return an error whose derivation and pattern tell the sizes of the case."""
    held = HELD.model_copy(update={"derivation": ("sums of 777 terms",)})
    return an_error(1.0, tolerance=held).model_copy(
        update={"pattern": "rows 128:777", "elements": 777, "worst_index": (776,)}
    )


@pytest.mark.parametrize("verdict", [Verdict.INCORRECT, Verdict.UNSUPPORTED, Verdict.RUNTIME_ERROR])
@pytest.mark.parametrize("listed", [Verdict.CORRECT, Verdict.INCORRECT])
def test_checks_say_nothing_of_hidden_shapes(listed: Verdict, verdict: Verdict) -> None:
    evidence = an_honest_answer(
        build=a_build(a_program(), a_program(axes={"M": 777}, unwritten={"out": 777})),
        run=a_run(
            a_case("small", listed),
            a_case("secret", verdict, "output differs at [776]", errors=(a_telling_error(),)),
            study=a_study(case="secret", exact_rel_l2=0.5),
        ),
    )
    reports = inspect_all(evidence)
    said = " ".join(str(report) for report in reports) + " ".join(str(f) for f in collect_facts(evidence))
    for secret in ("secret", "777", "776"):
        assert secret not in said


def test_the_version_of_the_checks_changes_when_one_of_them_does(monkeypatch: pytest.MonkeyPatch) -> None:
    before = checks_version()
    assert checks_version() == before
    monkeypatch.setattr(type(CHECKS["correct"]), "version", CHECKS["correct"].version + 1)
    assert checks_version() != before
