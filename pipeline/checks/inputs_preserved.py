"""Are the inputs left as they were?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_programs, fail, leave_open, succeed
from pipeline.types import CheckReport, Finding, Severity

__all__ = ["InputsPreserved"]


class InputsPreserved:
    """Passed when the program writes to no input, or the task's policy lets it."""

    id = "inputs_preserved"
    title = "Inputs preserved"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the writes of the programs."""
        missing = explain_missing_programs(evidence)
        if missing is not None or evidence.build is None:
            return leave_open(self.id, missing or "the submission was not built")
        written = sorted({name for program in evidence.build.programs for name in program.mutated_inputs})
        if not written:
            return succeed(self.id, "no input is written")
        if evidence.task.policy.mutates_inputs:
            return succeed(self.id, f"input {', '.join(written)} is written, as the task allows")
        message = (
            f"The kernel writes to input {', '.join(written)}, which the task forbids: a caller still owns"
            " it. Allocate the result with nl.ndarray(..., buffer=nl.shared_hbm) and return it."
        )
        finding = Finding(check=self.id, severity=Severity.ERROR, message=message)
        return fail(self.id, f"writes to input {', '.join(written)}", [finding])
