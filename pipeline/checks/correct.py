"""Does every case give the reference's answer?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.diagnosis import suggest_cause
from pipeline.checks.facts import collect_facts, fact_named
from pipeline.checks.outcome import describe_fault, explain_missing_run, fail, leave_open, succeed
from pipeline.types import CaseKind, CaseResult, CheckReport, Finding, Severity, Verdict

__all__ = ["Correct"]

#: Enough to see a pattern; the first few failures teach, the fiftieth does not.
_SHOWN = 4
_FAILED = (Verdict.INCORRECT, Verdict.RUNTIME_ERROR, Verdict.TIMEOUT, Verdict.TOO_LARGE)


class Correct:
    """Passed when every case, hidden ones and the battery included, is within its tolerance.

    A wrong answer of a program that uses operations whose values on the device are undocumented decides
    nothing and leaves the check open. Operations that the device merely approximates are emulated exactly, so
    an approximation can only make a right answer doubtful, never a wrong answer right.
    """

    id = "correct"
    title = "Correct"
    version = 2

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the interface of the programs and the verdicts of the cases."""
        build = evidence.build
        if build is not None and build.verdict is Verdict.INCORRECT and build.fault is not None:
            return fail(self.id, build.fault.message, [describe_fault(self.id, build.fault)])
        missing = explain_missing_run(evidence)
        if missing is not None or evidence.run is None:
            return leave_open(self.id, missing or "the submission was not run")
        cases = evidence.run.cases
        failures = [case for case in cases if case.verdict in _FAILED]
        if failures:
            findings = self._describe(failures, evidence)
            reason = f"{len(failures)} of {len(cases)} case runs fail"
            fidelity = fact_named(collect_facts(evidence), "build.fidelity")
            numerical = all(case.verdict is Verdict.INCORRECT for case in failures)
            if numerical and fidelity is not None and fidelity.value == "unmodelled":
                reason += ", but the program uses operations whose values on the device are undocumented"
                return leave_open(self.id, reason, findings)
            return fail(self.id, reason, findings)
        unsettled = [case for case in cases if case.verdict is not Verdict.CORRECT]
        if unsettled:
            told = next((f": {case.message}" for case in unsettled if case.kind is not CaseKind.HIDDEN), "")
            return leave_open(self.id, f"{len(unsettled)} of {len(cases)} case runs have no answer{told}")
        if evidence.run.verdict is not Verdict.CORRECT:
            return leave_open(self.id, f"the run ended as {evidence.run.verdict.value}")
        return succeed(self.id, f"all {len(cases)} case runs are within tolerance", rests_on=("run.cases",))

    def _describe(self, failures: list[CaseResult], evidence: Evidence) -> list[Finding]:
        run = evidence.run.cases if evidence.run is not None else ()
        passed = sum(case.verdict is Verdict.CORRECT for case in run)
        findings: list[Finding] = []
        if passed:
            counts = ("run.cases_passed", "run.cases")
            findings.append(self._finding(f"{passed} of {len(run)} case runs pass.", Severity.INFO, counts))
        known = [case for case in failures if case.kind is not CaseKind.HIDDEN]
        # What fails on the task's own values is more telling than what a pattern does to it.
        known.sort(key=lambda case: case.kind is CaseKind.BATTERY)
        # Draws of one case fail alike: the first of each is enough.
        shown = list({case.case: case for case in reversed(known)}.values())[::-1]
        # Cases that fail in the same words are told by the first of them.
        told = list({case.message: case for case in reversed(shown)}.values())[::-1]
        for case in told[:_SHOWN]:
            shape = ", ".join(f"{axis} = {size}" for axis, size in case.axes.items())
            alike = sum(other.message == case.message for other in shown) - 1
            others = f" and {alike} more" if alike else ""
            # A colon ends the name of the case for whoever tells several in one sentence.
            name = case.case.replace(":", "")
            findings.append(self._finding(f"Case {name} ({shape}){others}: {case.message}"))
        if len(told) > _SHOWN:
            rest = {case.message for case in told[_SHOWN:]}
            count = sum(case.message in rest for case in shown)
            findings.append(self._finding(f"{count} more case{'s fail' if count > 1 else ' fails'}."))
        cause = suggest_cause(run)
        if cause is not None:
            findings.append(self._finding(cause))
        if len(failures) > len(known):
            # Hidden shapes stay hidden: neither their sizes nor an index into them is said.
            only = (
                "Hidden shapes fail too."
                if known
                else "Every shape that the task lists is right; hidden ones fail."
            )
            findings.append(self._finding(only))
        return findings

    def _finding(
        self, message: str, severity: Severity = Severity.ERROR, facts: tuple[str, ...] = ()
    ) -> Finding:
        return Finding(check=self.id, severity=severity, message=message, facts=facts)
