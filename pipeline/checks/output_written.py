"""Is every element of every output written?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_programs, fail, leave_open, succeed
from pipeline.types import CaseKind, CheckReport, Finding, Severity

__all__ = ["OutputWritten"]


class OutputWritten:
    """Passed when no traced program leaves an output element unwritten."""

    id = "output_written"
    title = "Output fully written"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the write coverage of the programs."""
        missing = explain_missing_programs(evidence)
        if missing is not None or evidence.build is None:
            return leave_open(self.id, missing or "the submission was not built")
        gaps = [program for program in evidence.build.programs if program.unwritten]
        if not gaps:
            return succeed(self.id, "every output element is written")
        known = [case.axes for case in evidence.task.cases if case.kind is not CaseKind.HIDDEN]
        # A gap on a known shape teaches more, and the sizes of hidden shapes are not said.
        shown = next((program for program in gaps if program.axes in known), None)
        if shown is None:
            reason = "part of the output is never written on a hidden shape"
        else:
            shape = ", ".join(f"{axis} = {size}" for axis, size in shown.axes.items())
            counts = ", ".join(f"{count} elements of {name}" for name, count in shown.unwritten.items())
            reason = f"with {shape}, {counts} are never written"
        message = (
            f"{reason[0].upper()}{reason[1:]}: they hold whatever memory held before. Store every tile, the"
            " last partial one included."
        )
        return fail(self.id, reason, [Finding(check=self.id, severity=Severity.ERROR, message=message)])
