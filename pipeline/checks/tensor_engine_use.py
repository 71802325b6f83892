"""Are matrix multiplications full-sized, and in a dtype that runs at full rate?"""

from __future__ import annotations

from pipeline.checks.check import Evidence
from pipeline.checks.facts import collect_facts, fact_named
from pipeline.checks.outcome import fail, leave_open, succeed
from pipeline.checks.threshold import explain_missing_profile, number_of
from pipeline.types import CheckReport, Fact, Finding, Provenance, Severity

__all__ = ["TensorEngineUse"]

#: Free sizes that fill the array and hide the weight load; facts/nki.md 2.5 and 3.2.
_STATIONARY = 128
_MOVING = 512
_FP32_PASSES = 4
_GOOD = 0.75


class TensorEngineUse:
    """Passed when matmuls could reach three quarters of the engine's full rate.

    Establishes ``tensor_engine_use.rate``, dimensionless: mean stationary free size over 128 times mean
    moving free size over 512, each at most 1, over the mean number of passes. A float32 matmul takes four
    passes; it counts as one where the task asks for float32.
    """

    id = "tensor_engine_use"
    title = "Tensor engine use"
    version = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the matmul counts of the scored shapes."""
        facts = collect_facts(evidence)
        stationary = number_of(fact_named(facts, "profile.matmul_mean_stationary"))
        moving = number_of(fact_named(facts, "profile.matmul_mean_moving"))
        if not stationary or not moving:
            absent = explain_missing_profile(evidence) or "the program multiplies no matrices"
            return leave_open(self.id, absent)
        fp32 = fact_named(facts, "profile.fp32_matmul_share")
        slow = 0.0 if evidence.task.numerics.compute_dtype == "float32" else number_of(fp32) or 0.0
        fill = min(stationary / _STATIONARY, 1.0) * min(moving / _MOVING, 1.0)
        rate = Fact(
            id="tensor_engine_use.rate",
            value=fill / (1 + (_FP32_PASSES - 1) * slow),
            unit="ratio",
            provenance=Provenance.COUNTED,
            label="Share of the tensor engine's full rate that its instructions allow",
        )
        reason = (
            f"the share of the tensor engine's full rate that matmuls allow is {rate.digits};"
            f" at least {_GOOD:g} is good"
        )
        if float(rate.value) >= _GOOD:
            return succeed(self.id, reason, facts=[rate], rests_on=(rate.id,))
        findings = []
        if fill < _GOOD:
            findings.append(
                self._finding(
                    f"{reason[0].upper()}{reason[1:]}. Make the"
                    " tiles larger, up to a stationary tile of 128 columns and a moving tile of 512: a short"
                    " moving tile waits for the weights.",
                    rate.id,
                )
            )
        if slow and fp32 is not None:
            findings.append(
                self._finding(
                    f"The share of float32 in the matmul work is {fp32.digits}; float32 takes four passes,"
                    f" and the task is content with {evidence.task.numerics.compute_dtype}. Cast the operands"
                    " before multiplying.",
                    fp32.id,
                )
            )
        return fail(self.id, reason, findings, [rate])

    def _finding(self, message: str, fact: str) -> Finding:
        return Finding(check=self.id, severity=Severity.WARNING, message=message, facts=(fact,))
