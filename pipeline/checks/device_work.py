"""Does the kernel do its work on the device?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import describe_fault, explain_missing_programs, fail, leave_open, succeed
from pipeline.types import CheckReport, Finding, Severity, Verdict

__all__ = ["DeviceWork"]


class DeviceWork:
    """Passed when every traced program holds at least one instruction."""

    id = "device_work"
    title = "Works on the device"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the build's verdict and the instruction counts."""
        build = evidence.build
        if build is not None and build.verdict is Verdict.NO_DEVICE_WORK:
            findings = (
                [describe_fault(self.id, build.fault)] if build.fault is not None else [self._finding()]
            )
            return fail(self.id, "the kernel issues no instruction", findings)
        missing = explain_missing_programs(evidence)
        if missing is not None or build is None:
            return leave_open(self.id, missing or "the submission was not built")
        if any(program.instructions == 0 for program in build.programs):
            return fail(self.id, "the kernel issues no instruction for some shape", [self._finding()])
        return succeed(self.id, "every shape issues instructions")

    def _finding(self) -> Finding:
        return Finding(
            check=self.id,
            severity=Severity.ERROR,
            message="Nothing runs on the device: values computed in plain Python or NumPy never reach it."
            " Load, compute and store with nki.isa or nki.language inside the entry function.",
        )
