"""How much of what the tolerance leaves for it does the kernel's own error use up?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.facts import collect_facts, fact_named
from pipeline.checks.outcome import explain_missing_run, fail, leave_open, succeed
from pipeline.checks.threshold import number_of
from pipeline.types import CheckReport, Finding, Severity

__all__ = ["ErrorMargin"]

_FACT = "run.own_error_over_tolerance"
#: Device approximations and another legal order of summation need room; half the tolerance leaves it.
_COMFORTABLE = 0.5


class ErrorMargin:
    """Passed when the worst error of any case, the output's rounding apart, uses at most half its room."""

    id = "error_margin"
    title = "Error margin"
    version = 2

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the errors of all cases."""
        fact = fact_named(collect_facts(evidence), _FACT)
        value = number_of(fact)
        if fact is None or value is None:
            unknown = "no case has an error and a tolerance to measure it against"
            return leave_open(self.id, explain_missing_run(evidence) or unknown)
        reason = f"the worst error, the output's rounding apart, uses {fact.digits} of its tolerance"
        if value <= _COMFORTABLE:
            return succeed(self.id, reason, rests_on=(_FACT,))
        remedy = (
            "Accumulate in float32 and round once, where the result is stored."
            if value <= 1
            else "The answer is wrong there: mend correctness first."
        )
        finding = Finding(
            check=self.id,
            severity=Severity.WARNING,
            message=f"{reason[0].upper()}{reason[1:]}. {remedy}",
            facts=(_FACT,),
        )
        return fail(self.id, reason, [finding])
