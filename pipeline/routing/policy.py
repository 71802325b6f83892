"""The routing policy: what may stand without a person.

Until a certificate covers a grade, only what facts settled by closing a gate is accepted; that reason would
stand in front of the author. Everything else goes to review, and what no one can grade yet is held.
"""

from __future__ import annotations

from typing import Final

from pipeline.types import (
    CheckReport,
    CheckStatus,
    Destination,
    Inspection,
    Judgment,
    Route,
    Rubric,
    Verdict,
)

__all__ = ["VERSION", "closed_gates", "decide_route"]

#: Raised whenever the policy can decide differently; part of every fingerprint.
VERSION: Final = "gates 1"

#: Isolation levels under which nothing is ever accepted without a person.
_UNCONFINED: Final = frozenset({"limits"})

#: Gates whose answer depends on emulated values, so that an approximated operation leaves them open to doubt.
_VALUE_GATES: Final = frozenset({"correct"})


def decide_route(inspection: Inspection, rubric: Rubric, draft: Judgment | None = None) -> Route:
    """Return where the grade goes, and why.

    Args:
        inspection: What facts say.
        rubric: Names the gates.
        draft: What the judge says; None where it was not asked. It opens no gate and closes none.
    """
    verdict = inspection.verdict
    if verdict is Verdict.INFRASTRUCTURE:
        return _route(Destination.HOLD, f"not graded: {inspection.fault or 'the infrastructure failed'}")
    if verdict is Verdict.UNSUPPORTED:
        return _route(
            Destination.REVIEW, f"the emulator cannot judge it: {inspection.fault or 'unknown operation'}"
        )
    if verdict is Verdict.SUSPECT:
        return _route(Destination.REVIEW, f"integrity: {_witness(inspection)}")
    if inspection.sandbox in _UNCONFINED:
        return _route(Destination.REVIEW, "it ran without a sandbox, so nothing about it is accepted unseen")
    gates = closed_gates(inspection, rubric)
    doubtful = [gate for gate in gates if gate.check in _VALUE_GATES and inspection.approximated]
    if gates and len(doubtful) < len(gates):
        settled = next(gate for gate in gates if gate not in doubtful)
        reason = f"settled by facts, gate {settled.check!r} is closed: {settled.reason}"
        return _route(Destination.ACCEPT, reason)
    if doubtful:
        operations = ", ".join(inspection.approximated)
        return _route(
            Destination.REVIEW,
            f"wrong on the emulator, which only approximates {operations}: {doubtful[0].reason}",
        )
    if draft is not None and draft.fault is not None:
        return _route(Destination.REVIEW, f"the judge could not draft it: {draft.fault}")
    return _route(Destination.REVIEW, "no certificate covers this judge yet, so a person decides")


def closed_gates(inspection: Inspection, rubric: Rubric) -> list[CheckReport]:
    """Return the reports that close a gate of `rubric`, in the rubric's order."""
    failed = {report.check: report for report in inspection.reports if report.status is CheckStatus.FAILED}
    return [failed[gate] for gate in rubric.overall.gates if gate in failed]


def _witness(inspection: Inspection) -> str:
    errors = (finding for report in inspection.reports for finding in report.findings)
    return next((f.message for f in errors if f.severity == "error"), str(inspection.fault or "see findings"))


def _route(destination: Destination, reason: str) -> Route:
    return Route(destination=destination, reason=reason, policy=VERSION)
