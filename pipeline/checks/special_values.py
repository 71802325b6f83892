"""Do inputs beyond the ordinary distribution give the right answer?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pipeline.checks.check import Evidence
from pipeline.checks.facts import measure_own_error
from pipeline.checks.outcome import explain_missing_run, fail, leave_open, succeed
from pipeline.types import (
    Case,
    CaseKind,
    CaseResult,
    CheckReport,
    Fact,
    Finding,
    Pattern,
    Provenance,
    Severity,
    Verdict,
)

__all__ = ["SpecialValues"]

_ORDINARY: Final = ("normal", "uniform")

#: What usually goes wrong with the values of each pattern.
_CAUSES: Final = {
    Pattern.SMALL: "an eps outside the root, or a constant that small values vanish beside",
    Pattern.LARGE: "overflow before a maximum is subtracted, or squares of large values",
    Pattern.EXTREME: "overflow before a maximum is subtracted, or squares of large values",
    Pattern.NEAR_DENORMAL: "products and squares that underflow, or an eps outside the root",
    Pattern.SIGNED: "a maximum or an absolute value that begins at zero",
    Pattern.OFFSET: "a variance as a difference of squares, or a mean that is subtracted too late",
    Pattern.CONSTANT_ROWS: "a variance as a difference of squares, or a division by a spread of zero",
    Pattern.TIES: "a comparison that takes one of several equal values for the only one",
    Pattern.SORTED: "a running maximum or sum whose correction for what came before is missing",
    Pattern.IMPULSE: "a term that is dropped, weighed twice or added in a narrow dtype",
    Pattern.MASKED: "infinity - infinity, or a maximum over masked values alone",
}
#: The same where only the task's own distributions fail.
_USUAL: Final = (
    "overflow before a maximum is subtracted, squares of large values, a variance as a difference of squares,"
    " or an eps outside the root"
)


class SpecialValues:
    """Passed when every case with unusual values is right.

    Values are unusual where the grader's battery does something to what was drawn, and where the task's own
    distribution is neither ``normal`` nor ``uniform``.

    Open when ordinary cases are wrong already: then the fault is not in the hard values.

    Establishes ``special_values.own_error_over_tolerance``, dimensionless: the worst error of those cases
    beyond the output's rounding, over what the tolerance leaves for it.
    """

    id = "special_values"
    title = "Special values"
    version = 2

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the cases of such distributions."""
        missing = explain_missing_run(evidence)
        if missing is not None or evidence.run is None:
            return leave_open(self.id, missing or "the submission was not run")
        special = {case.name: case for case in evidence.task.cases if _is_special(case)}
        results = [result for result in evidence.run.cases if result.case in special]
        if not results:
            return leave_open(self.id, "the task has no case with special values")
        facts = self._measure(results)
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
        known = [special[result.case] for result in wrong if result.kind is not CaseKind.HIDDEN]
        finding = Finding(
            check=self.id,
            severity=Severity.ERROR,
            message=f"Wrong with {_name_values(known)}. Look for {_name_causes(known)}.",
        )
        return fail(
            self.id,
            f"{len(wrong)} of {len(results)} case runs with special values are wrong",
            [finding],
            facts,
        )

    def _measure(self, results: list[CaseResult]) -> list[Fact]:
        measured = [measure_own_error(error) for result in results for error in result.errors]
        errors = [math.inf if math.isnan(error) else error for error in measured if error is not None]
        if not errors or len(errors) < len(measured):
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


def _is_special(case: Case) -> bool:
    return case.pattern is not Pattern.DRAWN or case.distribution not in _ORDINARY


def _name_values(cases: Sequence[Case]) -> str:
    """Return what is unusual about the values, e.g. ``the pattern large and inputs of distribution x``."""
    patterns = dict.fromkeys(case.pattern for case in cases if case.pattern is not Pattern.DRAWN)
    distributions = dict.fromkeys(case.distribution for case in cases if case.pattern is Pattern.DRAWN)
    named = [f"the pattern {', '.join(pattern.value for pattern in patterns)}"] if patterns else []
    if distributions:
        named.append(f"inputs of distribution {', '.join(sorted(distributions))}")
    return " and ".join(named) or "inputs of a hidden distribution"


def _name_causes(cases: Sequence[Case]) -> str:
    causes = dict.fromkeys(_CAUSES.get(case.pattern, _USUAL) for case in cases)
    return "; or for ".join(causes) or _USUAL
