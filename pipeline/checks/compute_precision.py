"""Are products, sums and what is kept between them in dtypes that the task allows?"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import explain_missing_programs, fail, leave_open, succeed
from pipeline.emulator.dtypes import DTYPES, DType, dtype_named
from pipeline.types import CheckReport, Finding, Severity

__all__ = ["ComputePrecision"]


class ComputePrecision:
    """Passed when nothing is computed, or kept to compute with, in fewer mantissa bits than is asked for.

    Products and sums are held to the task's compute dtype, and intermediate results that anything but a
    matmul computes with to its storage dtype. Read off the traced program, so neither the name a dtype is
    given in the source nor a comment matters.
    """

    id = "compute_precision"
    title = "Compute precision"
    version = 2

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the dtypes of the operands, results and intermediate results of the programs."""
        missing = explain_missing_programs(evidence)
        if missing is not None or evidence.build is None:
            return leave_open(self.id, missing or "the submission was not built")
        programs = evidence.build.programs
        used = {dtype for program in programs for dtype in program.compute_dtypes}
        stored = {dtype for program in programs for dtype in program.stored_dtypes}
        if not used:
            return succeed(self.id, "the program forms no floating-point product or sum")
        computes, keeps = (
            dtype_named(name)
            for name in (evidence.task.numerics.compute_dtype, evidence.task.numerics.storage_dtype)
        )
        if (found := _least_precise_below(used, computes)) is not None:
            message = (
                f"Products or sums are formed in {found.name} ({found.mantissa_bits} mantissa bits); the"
                f" task asks for {computes.name} ({computes.mantissa_bits}) or better. Keep the operands and"
                f" running sums in {computes.name} and cast once, on the way out."
            )
            return self._fail(
                f"computes in {found.name}, below {computes.name}", message, "least_precise_dtype"
            )
        if (found := _least_precise_below(stored, keeps)) is not None:
            lines = {line for program in programs for line in program.stored_dtypes.get(found.name, ())}
            message = (
                f"An intermediate result is rounded to {found.name} ({found.mantissa_bits} mantissa bits)"
                f" and then computed with; the task asks for {keeps.name} ({keeps.mantissa_bits}) or better"
                f" between the steps. Keep it in {keeps.name}; only a matmul's operands and the results"
                f" may be narrower."
            )
            reason = f"keeps intermediate results in {found.name}, below {keeps.name}"
            return self._fail(reason, message, "stored_dtypes", tuple(sorted(lines)))
        ordered = ", ".join(sorted(used, key=lambda name: (DTYPES[name].mantissa_bits, name)))
        return succeed(
            self.id,
            f"products and sums are formed in {ordered}; the task asks for {computes.name} or better",
            rests_on=("build.compute_dtypes",),
        )

    def _fail(self, reason: str, message: str, fact: str, lines: tuple[int, ...] = ()) -> CheckReport:
        finding = Finding(
            check=self.id, severity=Severity.ERROR, message=message, lines=lines, facts=(f"build.{fact}",)
        )
        return fail(self.id, reason, [finding])


def _least_precise_below(names: Iterable[str], allowed: DType) -> DType | None:
    lower = (DTYPES[name] for name in names if DTYPES[name].mantissa_bits < allowed.mantissa_bits)
    return min(lower, key=lambda dtype: (dtype.mantissa_bits, dtype.name), default=None)
