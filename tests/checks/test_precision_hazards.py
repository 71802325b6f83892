"""Hazards of precision are told with their lines, and cost nothing."""

from __future__ import annotations

from pipeline.checks import CHECKS
from pipeline.types import CheckStatus, Finding, Severity, Verdict
from tests.checks.evidence import a_build, a_failed_build, an_honest_answer

HAZARD = Finding(
    check="precision_hazards",
    severity=Severity.WARNING,
    message="a bfloat16 sum [narrow-running-sum]",
    lines=(7,),
)
OTHER = HAZARD.model_copy(update={"check": "legal"})


def test_a_hazard_is_a_hint() -> None:
    report = CHECKS["precision_hazards"].inspect(an_honest_answer(build=a_build(findings=(OTHER, HAZARD))))
    assert report.status is CheckStatus.PASSED
    assert report.findings == (HAZARD,)
    assert report.reason == "a known pattern stands on 1 line"


def test_it_is_open_where_nothing_was_traced() -> None:
    failed = a_failed_build(Verdict.COMPILE_ERROR)
    assert CHECKS["precision_hazards"].inspect(an_honest_answer(build=failed)).status is CheckStatus.UNKNOWN
