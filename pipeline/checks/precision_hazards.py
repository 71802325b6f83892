"""Does the program hold a pattern that is known to lose precision?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_programs, leave_open, succeed
from pipeline.types import CheckReport

__all__ = ["PrecisionHazards"]


class PrecisionHazards:
    """Passed whenever the programs could be read: a hazard is a hint for author and reviewer, no failure.

    Where a hazard costs digits on the inputs that were tried, the error shows it; where it does not, a harder
    input may. Read off the instructions, so neither names nor comments matter.
    """

    id = "precision_hazards"
    title = "Precision hazards"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from what the build recognised in the programs."""
        build = evidence.build
        missing = explain_missing_programs(evidence)
        if missing is not None or build is None:
            return leave_open(self.id, missing or "the submission was not built")
        findings = [finding for finding in build.findings if finding.check == self.id]
        lines = len({finding.lines for finding in findings})
        if not findings:
            return succeed(self.id, "no known pattern was recognised")
        return succeed(self.id, f"a known pattern stands on {lines} line{'s' if lines > 1 else ''}", findings)
