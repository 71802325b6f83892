"""Would the chip and its compiler take the program?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import describe_fault, explain_missing_programs, fail, leave_open, succeed
from pipeline.types import CheckReport, Severity, Verdict

__all__ = ["Legal"]


class Legal:
    """Passed when the trusted side found no breach of a target's limit in any traced program."""

    id = "legal"
    title = "Legal on the target"
    version = 2

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the legality findings of the build."""
        build = evidence.build
        findings = [f for f in build.findings if f.check == self.id] if build is not None else []
        if build is not None and build.verdict is Verdict.ILLEGAL_ON_TARGET:
            if build.fault is not None and not any(f.severity is Severity.ERROR for f in findings):
                findings.insert(0, describe_fault(self.id, build.fault))
            reason = build.fault.message if build.fault is not None else "the target refuses the program"
            return fail(self.id, reason, findings)
        if build is None or build.verdict is not None:
            reason = explain_missing_programs(evidence) or "the build did not reach the target's rules"
            return leave_open(self.id, reason)
        return succeed(self.id, "no rule of the target is broken", findings)
