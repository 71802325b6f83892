"""Do inputs beyond the ordinary distribution give the right answer?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.facts import measure_own_error
from pipeline.checks.outcome import explain_missing_run, fail, leave_open, succeed
from pipeline.types import (
    CaseKind,
    CaseResult,
    CheckReport,
    Fact,
    Finding,
    Numerics,
    Provenance,
    Severity,
    Verdict,
)

__all__ = ["SpecialValues"]

_ORDINARY = ("normal", "uniform")


class SpecialValues:
    """Passed when every case whose distribution is neither ``normal`` nor ``uniform`` is right.

    Open when ordinary cases are wrong already: then the fault is not in the hard values.

    Establishes ``special_values.own_error_over_tolerance``, dimensionless: the worst error of those cases
    beyond the output's rounding, over what the tolerance leaves for it.
    """

    id = "special_values"
    title = "Special values"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the cases of such distributions."""
        missing = explain_missing_run(evidence)
        if missing is not None or evidence.run is None:
            return leave_open(self.id, missing or "the submission was not run")
        special = {case.name: case for case in evidence.task.cases if case.distribution not in _ORDINARY}
        results = [result for result in evidence.run.cases if result.case in special]
        if not results:
            return leave_open(self.id, "the task has no case with special values")
        facts = self._measure(results, evidence.task.numerics)
        wrong = [result for result in results if result.verdict is not Verdict.CORRECT]
        if not wrong:
            reason = f"all {len(results)} case runs with special values are right"
            return succeed(self.id, reason, facts=facts)
        if any(result.verdict in (Verdict.UNSUPPORTED, Verdict.INFRASTRUCTURE) for result in wrong):
            return leave_open(self.id, "some case runs with special values have no answer", facts=facts)
        if any(
            case.verdict is not Verdict.CORRECT for case in evidence.run.cases if case.case not in special
        ):
            return leave_open(
                self.id, "ordinary inputs fail already, so hard ones say nothing new", facts=facts
            )
        names = sorted(
            {special[result.case].distribution for result in wrong if result.kind is not CaseKind.HIDDEN}
        )
        where = f"distribution {', '.join(names)}" if names else "a hidden distribution"
        finding = Finding(
            check=self.id,
            severity=Severity.ERROR,
            message=f"Wrong with inputs of {where}. Look for overflow before a maximum is subtracted, for"
            " squares of large values, for a variance as a difference of squares, and for an eps outside the"
            " root.",
        )
        return fail(
            self.id,
            f"{len(wrong)} of {len(results)} case runs with special values are wrong",
            [finding],
            facts,
        )

    def _measure(self, results: list[CaseResult], numerics: Numerics) -> list[Fact]:
        errors = [measure_own_error(error, numerics) for result in results for error in result.errors]
        if not errors:
            return []
        return [
            Fact(
                id="special_values.own_error_over_tolerance",
                value=float(max(errors)),
                unit="ratio",
                provenance=Provenance.EMULATED,
                label="Worst error beyond rounding, over what the tolerance leaves, special values",
            )
        ]
