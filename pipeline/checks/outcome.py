"""How checks word what they found."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.checks.check import Evidence
from pipeline.types import CheckReport, CheckStatus, Fact, Fault, Finding, Owner, Severity

__all__ = [
    "describe_fault",
    "explain_missing_programs",
    "explain_missing_run",
    "fail",
    "leave_open",
    "succeed",
]


def succeed(
    check: str,
    reason: str,
    findings: Iterable[Finding] = (),
    facts: Iterable[Fact] = (),
    rests_on: tuple[str, ...] = (),
) -> CheckReport:
    """Return the report of a check that is met; `rests_on` are the ids of facts that `reason` speaks of."""
    witness = Finding(check=check, severity=Severity.INFO, message=reason, facts=rests_on)
    return CheckReport(
        check=check,
        status=CheckStatus.PASSED,
        reason=reason,
        findings=(*([witness] if rests_on else ()), *findings),
        facts=tuple(facts),
    )


def fail(check: str, reason: str, findings: Iterable[Finding], facts: Iterable[Fact] = ()) -> CheckReport:
    """Return the report of a check that is not met; `findings` say what to do about it."""
    return CheckReport(
        check=check,
        status=CheckStatus.FAILED,
        reason=reason,
        findings=tuple(findings),
        facts=tuple(facts),
    )


def leave_open(
    check: str, reason: str, findings: Iterable[Finding] = (), facts: Iterable[Fact] = ()
) -> CheckReport:
    """Return the report of a check whose evidence does not exist, or does not decide."""
    return CheckReport(
        check=check,
        status=CheckStatus.UNKNOWN,
        reason=reason,
        findings=tuple(findings),
        facts=tuple(facts),
    )


def describe_fault(check: str, fault: Fault, severity: Severity = Severity.ERROR) -> Finding:
    """Return `fault` as a finding of `check`, with its line and its remedy."""
    remedy = f" Remedy: {fault.remedy}" if fault.remedy else ""
    return Finding(
        check=check,
        severity=severity,
        message=f"{fault.message.rstrip('.')}.{remedy}",
        owner=fault.owner,
        lines=() if fault.line is None else (fault.line,),
    )


def explain_missing_programs(evidence: Evidence) -> str | None:
    """Return why not every shape of the task has a program to read, or None when all have."""
    if evidence.submission.refusal is not None:
        return f"the submission was refused at admission: {evidence.submission.refusal.fault.message}"
    if evidence.build is None:
        return "the submission was not built"
    if evidence.build.verdict is None and evidence.build.programs:
        return None
    if evidence.build.fault is not None:
        owner = evidence.build.fault.owner
        if owner is not Owner.SUBMISSION:
            return f"it was not built, which is no fault of its author: {evidence.build.fault.message}"
    return "it did not build for every shape"


def explain_missing_run(evidence: Evidence) -> str | None:
    """Return why no case has a result, or None when some have."""
    if evidence.run is not None and evidence.run.cases:
        return None
    if evidence.run is not None and evidence.run.fault is not None:
        return f"no case has a result: {evidence.run.fault.message}"
    return explain_missing_programs(evidence) or "the submission was not run"
