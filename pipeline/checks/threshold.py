"""A check that compares one fact of the profile with one bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipeline.checks.check import Evidence
from pipeline.checks.facts import collect_facts, fact_named
from pipeline.checks.outcome import fail, leave_open, succeed
from pipeline.types import CheckReport, Fact, Finding, Severity

__all__ = ["Threshold", "explain_missing_profile", "number_of"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """Passed when the fact holds the bound; unknown when nothing established the fact.

    Attributes:
        id: Check id.
        title: What a reader calls it.
        version: Raised whenever the check can answer differently.
        fact: Id of the fact.
        direction: Side of `bound` that is good.
        bound: In the fact's unit.
        advice: What to do when the bound is missed; one or two sentences.
        absent: Why the fact may be missing though the profile exists.
    """

    id: str
    title: str
    version: int
    fact: str
    direction: Literal["at_most", "at_least"]
    bound: float
    advice: str
    absent: str

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the profile."""
        fact = fact_named(collect_facts(evidence), self.fact)
        value = number_of(fact)
        if fact is None or value is None:
            return leave_open(self.id, explain_missing_profile(evidence) or self.absent)
        met = value <= self.bound if self.direction == "at_most" else value >= self.bound
        label = fact.label or fact.id
        side = "at most" if self.direction == "at_most" else "at least"
        reason = f"{label} is {fact.text}; {side} {self.bound:g} is good"
        if met:
            return succeed(self.id, reason, rests_on=(self.fact,))
        finding = Finding(
            check=self.id,
            severity=Severity.WARNING,
            message=f"{reason}. {self.advice}",
            facts=(self.fact,),
        )
        return fail(self.id, reason, [finding])


def number_of(fact: Fact | None) -> float | None:
    """Return the value of a numeric fact, or None when the fact is absent, a flag, a name or NaN."""
    if fact is None or isinstance(fact.value, bool | str) or fact.value != fact.value:
        return None
    return float(fact.value)


def explain_missing_profile(evidence: Evidence) -> str | None:
    """Return why the profile holds no fact at all, or None when it holds some."""
    if evidence.profile is None:
        return "the submission was not profiled"
    if evidence.profile.facts:
        return None
    if evidence.profile.fault is not None:
        return f"the profile failed: {evidence.profile.fault.message}"
    return "the profile is empty"
