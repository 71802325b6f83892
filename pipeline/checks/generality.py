"""Does the kernel work on shapes its author never saw?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_run, fail, leave_open, succeed
from pipeline.types import CaseKind, CheckReport, Finding, Severity, Verdict

__all__ = ["Generality"]


class Generality:
    """Passed when every hidden case is right; open when those that the task lists are wrong already."""

    id = "generality"
    title = "Works on unseen shapes"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the hidden cases."""
        missing = explain_missing_run(evidence)
        if missing is not None or evidence.run is None:
            return leave_open(self.id, missing or "the submission was not run")
        hidden = [case for case in evidence.run.cases if case.kind is CaseKind.HIDDEN]
        if not hidden:
            return leave_open(self.id, "no hidden case was run")
        wrong = [case for case in hidden if case.verdict is not Verdict.CORRECT]
        if not wrong:
            return succeed(self.id, f"all {len(hidden)} hidden case runs are right")
        if any(case.verdict in (Verdict.UNSUPPORTED, Verdict.INFRASTRUCTURE) for case in wrong):
            return leave_open(self.id, "some hidden case runs have no answer")
        if any(case.verdict is not Verdict.CORRECT for case in evidence.run.cases if case not in hidden):
            return leave_open(self.id, "listed shapes fail already, so hidden ones say nothing new")
        finding = Finding(
            check=self.id,
            severity=Severity.ERROR,
            message="Shapes that the statement allows but does not list fail. Derive every loop count and"
            " tile size from the shapes of the inputs, and handle the last, partial tile.",
        )
        return fail(self.id, f"{len(wrong)} of {len(hidden)} hidden case runs fail", [finding])
