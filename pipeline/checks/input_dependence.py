"""Does an input flow into every output?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_programs, fail, leave_open, succeed
from pipeline.types import CheckReport, Finding, Severity

__all__ = ["InputDependence"]


class InputDependence:
    """Passed when at least one input flows into every output; otherwise it is made up.

    Where an axis has one element, an honest mistake can leave nothing to compute: an exclusive prefix sum of
    one column is a constant. Such shapes count only if the output is made up at every shape.
    """

    id = "input_dependence"
    title = "Outputs depend on inputs"
    version = 2

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the data flow of the programs."""
        missing = explain_missing_programs(evidence)
        if missing is not None or evidence.build is None:
            return leave_open(self.id, missing or "the submission was not built")
        programs = evidence.build.programs
        telling = [program for program in programs if 1 not in program.axes.values()]
        constant = sorted({name for program in telling or programs for name in program.independent_outputs})
        if not constant:
            return succeed(self.id, "an input flows into every output")
        message = (
            f"No input flows into output {', '.join(constant)}: the same values would come out whatever goes"
            " in. Compute them from the inputs."
        )
        finding = Finding(check=self.id, severity=Severity.ERROR, message=message)
        return fail(self.id, f"no input flows into {', '.join(constant)}", [finding])
