"""Batches: where every input stands, live, with a list behind every number."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from pipeline.report.numerals import show_grade
from pipeline.report.sections import Sections
from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission, may
from pipeline.store import GradingSummary
from pipeline.types import Account
from pipeline.web.access import Here, allow
from pipeline.web.context import context_of
from pipeline.web.rendering import render
from pipeline.web.services import batch_figures_of

__all__ = ["router"]

router = APIRouter(dependencies=[allow(Permission.SEE_BATCHES)], include_in_schema=False)

_LISTED_BATCHES: Final = 50
_PAGE: Final = 100
_NO_VERDICT: Final = "none yet"


@router.get("/batches")
def list_batches(request: Request, account: Here) -> HTMLResponse:
    """Show the newest batches with where their inputs stand."""
    batches = context_of(request).store.list_batches(_LISTED_BATCHES)
    counted = batch_figures_of(request.app).count_some([batch.id for batch in batches])
    return render(request, "batches.html", batches=batches, counted=counted, limit=_LISTED_BATCHES)


@router.get("/batches/{batch_id}")
def show_batch(request: Request, account: Here, batch_id: str) -> HTMLResponse:
    """Show the figures of one batch that change while it runs."""
    sections = _count(request, batch_id)
    return render(
        request,
        "batch.html",
        sections=sections,
        drafts=_sees_drafts(account),
        leads=may(account.role, Permission.MANAGE),
    )


@router.get("/batches/{batch_id}/checks")
def show_checks(request: Request, account: Here, batch_id: str) -> HTMLResponse:
    """Show how far submissions came, what checks said, and which levels were given."""
    _count(request, batch_id)
    depth = batch_figures_of(request.app).count_deep(batch_id)
    return render(request, "batch_checks.html", depth=depth, drafts=_sees_drafts(account))


@router.get("/batches/{batch_id}/gradings")
def list_gradings(
    request: Request,
    account: Here,
    batch_id: str,
    state: Annotated[str, Query(max_length=20)] = "",
    task: Annotated[str, Query(max_length=200)] = "",
    verdict: Annotated[str, Query(max_length=40)] = "",
    reason: Annotated[str, Query(max_length=500)] = "",
    start: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> HTMLResponse:
    """List the gradings behind a number."""
    sections = _count(request, batch_id)
    drafts = _sees_drafts(account)
    found = [
        row
        for row in sections.rows
        if (not state or row.state == state)
        and (not task or row.task_id == task)
        and (not verdict or (row.verdict or _NO_VERDICT) == verdict)
        and (not drafts or not reason or (row.state == "waiting" and _kind_of(row) == reason))
    ]
    filters = {"state": state, "task": task, "verdict": verdict, "reason": reason if drafts else ""}
    return render(
        request,
        "batch_gradings.html",
        batch=sections.batch,
        rows=found[start : start + _PAGE],
        total=len(found),
        start=start,
        step=_PAGE,
        filters={name: value for name, value in filters.items() if value},
        grade=show_grade,
        outcome_shown=[_shows_outcome(account, row) for row in found[start : start + _PAGE]],
    )


def _count(request: Request, batch_id: str) -> Sections:
    try:
        return batch_figures_of(request.app).count(batch_id)
    except KeyError:
        raise DeskError(
            "unknown", "there is no batch with that id", "choose one from the list of batches"
        ) from None


def _sees_drafts(account: Account) -> bool:
    """Whether somebody may know what drafts come to in sum; of a small batch, sums would lead a reviewer."""
    return may(account.role, Permission.MANAGE) or not may(account.role, Permission.REVIEW)


def _shows_outcome(account: Account, row: GradingSummary) -> bool:
    """Whether one grading's outcome is shown: never while somebody who reviews could still be asked."""
    if not may(account.role, Permission.REVIEW):
        return True
    if row.state == "held":
        return True
    return may(account.role, Permission.MANAGE) and row.state == "graded" and row.review_id is None


def _kind_of(row: GradingSummary) -> str:
    return row.reason.partition(": ")[0]
