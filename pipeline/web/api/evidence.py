"""Deterministic evidence as the API gives it: nothing of it comes from a judge or a person.

Numbers that are not finite have no place in JSON: they are null, or a word where there is one. Text that a
submission or a tool wrote has its control characters made visible, so that a front end cannot be made to show
code that is not the code that ran.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from pydantic import Field

from pipeline.report.collect import Detail
from pipeline.types import (
    CaseKind,
    CaseResult,
    CheckReport,
    CheckStatus,
    Fact,
    Fault,
    Finding,
    Frozen,
    OutputError,
    Provenance,
    Severity,
    Study,
    Verdict,
)
from pipeline.types.visible import show_controls

__all__ = ["CaseOutcome", "Evidence", "Problem", "show_case", "show_evidence", "show_problem"]


class Problem(Frozen):
    """What stopped the submission."""

    code: str
    message: str
    remedy: str
    line: int | None = Field(description="Line of the submission, 1-based.")


class Observed(Frozen):
    """One finding of a check."""

    check: str
    severity: Severity
    message: str
    lines: tuple[int, ...] = Field(description="Lines of the submission, 1-based.")
    facts: tuple[str, ...] = Field(description="Ids of the facts it rests on.")


class Check(Frozen):
    """What one check says."""

    check: str
    status: CheckStatus
    reason: str
    findings: list[Observed]


class Known(Frozen):
    """One fact."""

    id: str
    label: str
    value: bool | int | float | str = Field(
        description="A number that is not finite is a word, such as `inf`."
    )
    unit: str
    provenance: Provenance
    case: str | None


class Distance(Frozen):
    """How far one output is from the reference."""

    output: str
    rel_l2: float | None
    worst_row_rel_l2: float | None
    worst_elementwise: float | None
    worst_index: tuple[int, ...]
    got: str
    expected: str
    ulps: float | None
    beyond: int = Field(description="Elements beyond their limit.")
    elements: int
    pattern: str = Field(description="Where the elements beyond their limit cluster.")


class CaseOutcome(Frozen):
    """One case with one seed."""

    case: str
    kind: CaseKind
    axes: dict[str, int]
    seed: int
    verdict: Verdict
    message: str
    errors: list[Distance]


class LineShare(Frozen):
    """What the rounding of one line contributes."""

    line: int
    operation: str
    share: float | None = Field(description="Of the sum of the squares over all lines.")


class Numerics(Frozen):
    """The kernel's error beside those of other executions; relative L2."""

    case: str
    output: str
    rel_l2: float | None
    float32_rel_l2: float | None
    bfloat16_rel_l2: float | None
    gpu_rel_l2: float | None
    lines: list[LineShare]


class Evidence(Frozen):
    """All that deterministic checks established."""

    verdict: Verdict | None
    problem: Problem | None
    build_log: str = Field(description="What the submission printed while it was built, bounded.")
    build_findings: list[Observed]
    cases: list[CaseOutcome]
    checks: list[Check]
    facts: list[Known]
    numerics: Numerics | None
    approximated: list[str] = Field(description="Operations that the emulator does not reproduce exactly.")


def show_evidence(detail: Detail) -> Evidence:
    """Return the deterministic part of what is known about a grading."""
    inspection, build, run = detail.inspection, detail.build, detail.run
    refusal = detail.submission.refusal
    problem = next(iter(fault for fault in (refusal, build, inspection) if fault and fault.fault), None)
    return Evidence(
        verdict=inspection.verdict if inspection else (refusal.verdict if refusal else None),
        problem=show_problem(problem.fault) if problem and problem.fault else None,
        build_log=show_controls(build.log) if build else "",
        build_findings=_show_findings(build.findings) if build else [],
        cases=[show_case(case) for case in run.cases] if run else [],
        checks=[_show_check(report) for report in detail.reports],
        facts=[_show_fact(fact) for fact in detail.facts],
        numerics=_show_study(run.study) if run and run.study else None,
        approximated=list(inspection.approximated) if inspection else [],
    )


def show_problem(fault: Fault) -> Problem:
    """Return a fault without control characters."""
    return Problem(
        code=fault.code,
        message=show_controls(fault.message),
        remedy=show_controls(fault.remedy),
        line=fault.line,
    )


def _show_findings(findings: Iterable[Finding]) -> list[Observed]:
    return [
        Observed(
            check=finding.check,
            severity=finding.severity,
            message=show_controls(finding.message),
            lines=finding.lines,
            facts=finding.facts,
        )
        for finding in findings
    ]


def _show_check(report: CheckReport) -> Check:
    return Check(
        check=report.check,
        status=report.status,
        reason=show_controls(report.reason),
        findings=_show_findings(report.findings),
    )


def _show_fact(fact: Fact) -> Known:
    value = fact.value
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)
    return Known(
        id=fact.id,
        label=fact.label,
        value=show_controls(value) if isinstance(value, str) else value,
        unit=fact.unit,
        provenance=fact.provenance,
        case=fact.case,
    )


def show_case(case: CaseResult) -> CaseOutcome:
    """Return one draw of one case."""
    return CaseOutcome(
        case=case.case,
        kind=case.kind,
        axes=case.axes,
        seed=case.seed,
        verdict=case.verdict,
        message=show_controls(case.message),
        errors=[_show_distance(error) for error in case.errors],
    )


def _show_distance(error: OutputError) -> Distance:
    return Distance(
        output=error.output,
        rel_l2=_finite(error.rel_l2),
        worst_row_rel_l2=_finite(error.worst_row_rel_l2),
        worst_elementwise=_finite(error.worst_elementwise),
        worst_index=error.worst_index,
        got=error.got,
        expected=error.expected,
        ulps=_finite(error.ulps),
        beyond=error.beyond,
        elements=error.elements,
        pattern=error.pattern,
    )


def _show_study(study: Study) -> Numerics:
    return Numerics(
        case=study.case,
        output=study.output,
        rel_l2=_finite(study.rel_l2),
        float32_rel_l2=_finite(study.float32_rel_l2),
        bfloat16_rel_l2=_finite(study.bfloat16_rel_l2),
        gpu_rel_l2=_finite(study.gpu_rel_l2),
        lines=[
            LineShare(line=line.line, operation=line.operation, share=_finite(line.share))
            for line in study.lines
        ],
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
