"""Does the submission trace for every shape of its task?"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.checks.check import Evidence
from pipeline.checks.outcome import describe_fault, fail, leave_open, succeed
from pipeline.types import CheckReport, Fault, Owner, Verdict

__all__ = ["Compiles"]

_REFUSED = {
    Verdict.COMPILE_ERROR: "the language refuses it",
    Verdict.RUNTIME_ERROR: "its Python code raised while it was traced",
    Verdict.TIMEOUT: "tracing it did not end in time",
    Verdict.TOO_LARGE: "it is larger than a submission may be",
}

#: The same for what was refused before anything read it as Python.
_UNREADABLE = {**_REFUSED, Verdict.COMPILE_ERROR: "no kernel can be taken from it"}


class Compiles:
    """Passed when every shape traced, whatever the target then says about the result."""

    id = "compiles"
    title = "Compiles"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the admission and the build."""
        refusal = evidence.submission.refusal
        if refusal is not None:
            return self._settle(refusal.verdict, refusal.fault, _UNREADABLE)
        if evidence.build is None:
            return leave_open(self.id, "the submission was not built")
        if evidence.build.verdict is None:
            count = len(evidence.build.programs)
            return succeed(self.id, f"it traces for {count} shape{'' if count == 1 else 's'}")
        return self._settle(evidence.build.verdict, evidence.build.fault)

    def _settle(
        self, verdict: Verdict, fault: Fault | None, refused: Mapping[Verdict, str] = _REFUSED
    ) -> CheckReport:
        message = fault.message if fault is not None else f"the build ended as {verdict.value}"
        if fault is not None and fault.owner is not Owner.SUBMISSION:
            return leave_open(self.id, f"{message} ({fault.owner.value}'s fault, not the author's)")
        if verdict in refused:
            findings = () if fault is None else (describe_fault(self.id, fault),)
            return fail(self.id, f"{refused[verdict]}: {message}", findings)
        if verdict in (Verdict.UNSUPPORTED, Verdict.INFRASTRUCTURE):
            return leave_open(self.id, message)
        return succeed(self.id, "it traces")
