"""What the language refuses in a text is told in full, whatever became of the trace."""

from __future__ import annotations

from pipeline.checks import CHECKS
from pipeline.types import BuildResult, CheckReport, CheckStatus, Finding, Severity, Verdict
from tests.checks.evidence import a_build, a_failed_build, an_honest_answer


def a_finding(severity: Severity, line: int, check: str = "language_subset") -> Finding:
    return Finding(check=check, severity=severity, message=f"line {line} will not do.", lines=(line,))


REFUSED, ALSO_REFUSED = a_finding(Severity.ERROR, 6), a_finding(Severity.ERROR, 7)
ADVICE = a_finding(Severity.WARNING, 5)
LEGALITY = a_finding(Severity.WARNING, 4, "legal")


def report_of(build: BuildResult | None, check: str = "language_subset") -> CheckReport:
    return CHECKS[check].inspect(an_honest_answer(build=build))


def test_every_refusal_is_listed_though_one_was_enough_to_stop_the_build() -> None:
    build = a_failed_build(Verdict.COMPILE_ERROR).model_copy(
        update={"findings": (ADVICE, REFUSED, ALSO_REFUSED)}
    )
    report = report_of(build)
    assert report.status is CheckStatus.FAILED
    assert report.reason == REFUSED.message
    assert report.findings == (ADVICE, REFUSED, ALSO_REFUSED)


def test_advice_is_told_and_costs_nothing() -> None:
    report = report_of(a_build(findings=(ADVICE,)))
    assert report.status is CheckStatus.PASSED
    assert report.findings == (ADVICE,)


def test_it_is_open_where_another_error_stopped_the_build() -> None:
    assert report_of(a_failed_build(Verdict.COMPILE_ERROR)).status is CheckStatus.UNKNOWN
    assert report_of(None).status is CheckStatus.UNKNOWN


def test_the_targets_rules_and_the_languages_are_told_apart() -> None:
    build = a_build(findings=(ADVICE, LEGALITY))
    assert report_of(build).findings == (ADVICE,)
    assert report_of(build, "legal").findings == (LEGALITY,)
