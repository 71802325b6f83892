"""Does an input flow into every output?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_programs, fail, leave_open, succeed
from pipeline.types import CheckReport, Finding, Severity

__all__ = ["InputDependence"]


class InputDependence:
    """Passed when at least one input flows into every output; otherwise it is made up."""

    id = "input_dependence"
    title = "Outputs depend on inputs"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the data flow of the programs."""
        missing = explain_missing_programs(evidence)
        if missing is not None or evidence.build is None:
            return leave_open(self.id, missing or "the submission was not built")
        constant = sorted(
            {name for program in evidence.build.programs for name in program.independent_outputs}
        )
        if not constant:
            return succeed(self.id, "an input flows into every output")
        message = (
            f"No input flows into output {', '.join(constant)}: the same values would come out whatever goes"
            " in. Compute them from the inputs."
        )
        finding = Finding(check=self.id, severity=Severity.ERROR, message=message)
        return fail(self.id, f"no input flows into {', '.join(constant)}", [finding])
