"""Running a submission again over the API: asked for, then looked at until it has ended."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.review.reruns import Rerun, RerunCase, RerunKind, Reruns, RerunState
from pipeline.types import Account, Frozen, Verdict
from pipeline.types.visible import show_controls
from pipeline.web.access import allow
from pipeline.web.api.addresses import ReviewId, Slot
from pipeline.web.api.evidence import CaseOutcome, Problem, show_case, show_problem
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.api.views import Key
from pipeline.web.context import context_of
from pipeline.web.services import reruns_of

__all__ = ["router"]

router = make_router("/places/{review_id}/{slot}", tag="items")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]


class RerunRequest(Frozen):
    """Has the recorded programs run again."""

    kind: RerunKind = Field(
        description="`replay` for the recorded run from its seed, `fresh` for inputs from a new secret seed."
    )
    key: Key


class RerunCaseView(Frozen):
    """One case with one seed."""

    outcome: CaseOutcome = Field(description="What came of it now; what was recorded if it was not reached.")
    differences: tuple[str, ...] = Field(
        description="Of a replay, what is not as recorded: `outputs`, `verdict`, `message`, `not reached`."
    )


class RerunView(Frozen):
    """One rerun. It changes neither the grading nor the grade, and a restart of the desk forgets it."""

    id: str
    kind: RerunKind
    state: RerunState
    before: int = Field(description="How many come before it while it waits.")
    asked_at: datetime
    ended_at: datetime | None
    problem: Problem | None = Field(description="Why it could not run; null where it did.")
    verdict: Verdict | None
    as_recorded: bool | None = Field(description="Of a replay, whether it is bit for bit what was recorded.")
    seed_id: str | None = Field(description="Tells seeds apart without giving them away.")
    notes: tuple[str, ...] = Field(description="What is not as it was when the run was recorded.")
    cases: list[RerunCaseView]


@router.post(
    "/reruns",
    operation_id="runAgain",
    summary="Run the submission again",
    status_code=202,
    responses=refusals("unknown", "forbidden", "not_held", "already_decided", "too_many"),
)
def run_again(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, asked: RerunRequest
) -> RerunView:
    """For whoever holds or finished the place. One runs at a time; nothing of it is kept or counts."""
    reruns = reruns_of(request.app)
    return _show(reruns.ask(account, review_id, slot, asked.kind, key=asked.key), reruns)


@router.get(
    "/reruns",
    operation_id="listReruns",
    summary="What came of running it again",
    responses=refusals("unknown", "forbidden", "not_held", "already_decided"),
)
def list_reruns(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot) -> list[RerunView]:
    """The caller's own, newest first. Asking every few seconds is fine and does not renew the lease."""
    reruns = reruns_of(request.app)
    found = reruns.list(account, review_id, slot)
    if not found:
        context_of(request).desk.open(account, review_id, slot)
    return [_show(rerun, reruns) for rerun in found]


def _show(rerun: Rerun, reruns: Reruns) -> RerunView:
    outcome = rerun.outcome
    replayed = outcome is not None and rerun.kind is RerunKind.REPLAY
    return RerunView(
        id=rerun.id,
        kind=rerun.kind,
        state=rerun.state,
        before=reruns.count_before(rerun),
        asked_at=rerun.asked_at,
        ended_at=rerun.ended_at,
        problem=show_problem(rerun.fault) if rerun.fault else None,
        verdict=outcome.verdict if outcome else None,
        as_recorded=not outcome.differing if outcome and replayed else None,
        seed_id=outcome.seed_id if outcome else None,
        notes=tuple(show_controls(note) for note in outcome.notes) if outcome else (),
        cases=[_show_case(case) for case in outcome.cases] if outcome else [],
    )


def _show_case(case: RerunCase) -> RerunCaseView:
    return RerunCaseView(outcome=show_case(case.result), differences=case.differences)
