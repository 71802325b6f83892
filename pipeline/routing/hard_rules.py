"""Rules that no certificate overrides: what facts settle, and what nobody may accept unseen.

Each function is a rule of its own name and returns None where it does not apply. The first that does decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pipeline.routing.grounds import Grounds, Outcome
from pipeline.types import CheckReport, CheckStatus, Destination, Inspection, Provenance, Rubric, Verdict

__all__ = ["HARD_RULES", "Rule", "closed_gates"]

Rule = Callable[[Grounds], Outcome | None]

#: Isolation levels under which nothing is ever accepted without a person.
_UNCONFINED: Final = frozenset({"limits"})

#: Gates whose answer depends on emulated values, so that an approximated operation leaves them open to doubt.
_VALUE_GATES: Final = frozenset({"correct"})

_MEASURED: Final = frozenset({Provenance.MEASURED, Provenance.MEASURED_IMPORTED})


def infrastructure(grounds: Grounds) -> Outcome | None:
    """Infrastructure failed: the next run tries again."""
    if grounds.inspection.verdict is not Verdict.INFRASTRUCTURE:
        return None
    fault = grounds.inspection.fault or "the infrastructure failed"
    return Outcome(Destination.HOLD, f"not graded: {fault}")


def unsupported(grounds: Grounds) -> Outcome | None:
    """The emulator does not know an operation."""
    if grounds.inspection.verdict is not Verdict.UNSUPPORTED:
        return None
    fault = grounds.inspection.fault or "unknown operation"
    return Outcome(Destination.REVIEW, f"the emulator cannot judge it: {fault}")


def integrity(grounds: Grounds) -> Outcome | None:
    """A check has a witness that the submission cheats."""
    if grounds.inspection.verdict is not Verdict.SUSPECT:
        return None
    return Outcome(Destination.REVIEW, f"integrity: {_witness(grounds.inspection)}")


def unsandboxed(grounds: Grounds) -> Outcome | None:
    """The submission ran under plain limits."""
    if grounds.inspection.sandbox not in _UNCONFINED:
        return None
    return Outcome(Destination.REVIEW, "it ran without a sandbox, so nothing about it is accepted unseen")


def gate_closed(grounds: Grounds) -> Outcome | None:
    """Facts closed a gate, and do not rest on approximated values: the grade is 0 and a fail."""
    settled = [gate for gate in _closed(grounds) if not _is_doubtful(gate, grounds)]
    if not settled:
        return None
    return Outcome(
        Destination.ACCEPT, f"settled by facts, gate {settled[0].check!r} is closed: {settled[0].reason}"
    )


def approximated(grounds: Grounds) -> Outcome | None:
    """Values are wrong on the emulator, which only approximates an operation used."""
    doubtful = [gate for gate in _closed(grounds) if _is_doubtful(gate, grounds)]
    if not doubtful:
        return None
    operations = ", ".join(grounds.inspection.approximated)
    return Outcome(
        Destination.REVIEW,
        f"wrong on the emulator, which only approximates {operations}: {doubtful[0].reason}",
    )


def judge_fault(grounds: Grounds) -> Outcome | None:
    """The judge failed, refused or answered garbage."""
    if grounds.draft is None or grounds.draft.fault is None:
        return None
    return Outcome(Destination.REVIEW, f"the judge could not draft it: {grounds.draft.fault}")


def modelled_only(grounds: Grounds) -> Outcome | None:
    """The policy demands measured numbers for a criterion of the rubric, and no device gave any."""
    demanded = grounds.policy.demand_measured if grounds.policy is not None else ()
    inspection = grounds.inspection
    facts = (*inspection.facts, *(fact for report in inspection.reports for fact in report.facts))
    measured = {fact.id for fact in facts if fact.provenance in _MEASURED}
    unmeasured = [
        criterion.title
        for criterion in grounds.rubric.criteria
        if criterion.id in demanded and measured.isdisjoint(criterion.evidence)
    ]
    if not unmeasured:
        return None
    return Outcome(
        Destination.REVIEW,
        f"no device has measured what the policy demands measured: {', '.join(unmeasured)}",
    )


#: In the order in which they are asked.
HARD_RULES: Final[tuple[Rule, ...]] = (
    infrastructure,
    unsupported,
    integrity,
    unsandboxed,
    gate_closed,
    approximated,
    judge_fault,
    modelled_only,
)


def closed_gates(inspection: Inspection, rubric: Rubric) -> list[CheckReport]:
    """Return the reports that close a gate of `rubric`, in the rubric's order."""
    failed = {report.check: report for report in inspection.reports if report.status is CheckStatus.FAILED}
    return [failed[gate] for gate in rubric.overall.gates if gate in failed]


def _closed(grounds: Grounds) -> list[CheckReport]:
    return closed_gates(grounds.inspection, grounds.rubric)


def _is_doubtful(gate: CheckReport, grounds: Grounds) -> bool:
    return gate.check in _VALUE_GATES and bool(grounds.inspection.approximated)


def _witness(inspection: Inspection) -> str:
    errors = (finding for report in inspection.reports for finding in report.findings)
    return next((f.message for f in errors if f.severity == "error"), str(inspection.fault or "see findings"))
