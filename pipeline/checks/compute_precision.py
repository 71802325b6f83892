"""Are products and sums formed in a dtype that the task allows?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_programs, fail, leave_open, succeed
from pipeline.emulator.dtypes import DTYPES, dtype_named
from pipeline.types import CheckReport, Finding, Severity

__all__ = ["ComputePrecision"]


class ComputePrecision:
    """Passed when no product or sum is formed with fewer mantissa bits than the task's compute dtype has.

    Read off the traced program, so neither the name a dtype is given in the source nor a comment matters.
    """

    id = "compute_precision"
    title = "Compute precision"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the operand and accumulator dtypes of the programs."""
        missing = explain_missing_programs(evidence)
        if missing is not None or evidence.build is None:
            return leave_open(self.id, missing or "the submission was not built")
        used = {dtype for program in evidence.build.programs for dtype in program.compute_dtypes}
        if not used:
            return succeed(self.id, "the program forms no floating-point product or sum")
        allowed = dtype_named(evidence.task.numerics.compute_dtype)
        lower = sorted(
            (DTYPES[name] for name in used if DTYPES[name].mantissa_bits < allowed.mantissa_bits),
            key=lambda dtype: (dtype.mantissa_bits, dtype.name),
        )
        if not lower:
            ordered = ", ".join(sorted(used, key=lambda name: (DTYPES[name].mantissa_bits, name)))
            return succeed(
                self.id,
                f"products and sums are formed in {ordered}; the task asks for {allowed.name} or better",
                rests_on=("build.compute_dtypes",),
            )
        found = lower[0]
        message = (
            f"Products or sums are formed in {found.name} ({found.mantissa_bits} mantissa bits); the task"
            f" asks for {allowed.name} ({allowed.mantissa_bits}) or better. Keep the operands and running"
            f" sums in {allowed.name} and cast once, on the way out."
        )
        finding = Finding(
            check=self.id, severity=Severity.ERROR, message=message, facts=("build.least_precise_dtype",)
        )
        return fail(self.id, f"computes in {found.name}, below {allowed.name}", [finding])
