"""Was the program recorded by the tracer, and not written by the submission?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import describe_fault, explain_missing_programs, fail, leave_open, succeed
from pipeline.types import CheckReport, Verdict

__all__ = ["Authentic"]


class Authentic:
    """Passed when the trusted side could take every program for the tracer's work.

    The tracer never produces what validation refuses for its form, so a program like that was forged.
    """

    id = "authentic"
    title = "Recorded, not forged"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the validation of the programs."""
        build = evidence.build
        if build is not None and build.verdict is Verdict.SUSPECT:
            if build.fault is None:
                return fail(self.id, "the traced program is not one that the tracer records", [])
            return fail(self.id, build.fault.message, [describe_fault(self.id, build.fault)])
        missing = explain_missing_programs(evidence)
        if missing is not None:
            return leave_open(self.id, missing)
        return succeed(self.id, "every program has the form in which the tracer records")
