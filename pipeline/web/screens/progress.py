"""Progress and agreement, for leads: figures with what they rest on, and the reviews behind each."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from pipeline.review.permissions import Permission, may
from pipeline.types import Cause
from pipeline.web.access import Here, allow
from pipeline.web.context import context_of
from pipeline.web.progress_lists import Listed
from pipeline.web.rendering import render
from pipeline.web.services import progress_lists_of, progress_of

__all__ = ["router"]

router = APIRouter(dependencies=[allow(Permission.SEE_PROGRESS)], include_in_schema=False)

_PAGE: Final = 200

Kind = Literal["committed", "finished", "waiting", "people", "judge", "imported", "changed", "audit"]


@router.get("/progress")
def show_progress(request: Request, account: Here) -> HTMLResponse:
    """Show throughput, what waits, agreement, changes, gold items and audits."""
    offered = [
        person.hours_tonight
        for person in context_of(request).accounts.list()
        if person.active and person.hours_tonight is not None and may(person.role, Permission.REVIEW)
    ]
    report = progress_of(request.app).recall(account)
    return render(
        request,
        "progress.html",
        report=report,
        people_tonight=len(offered),
        hours_tonight=sum(offered),
        room_tonight=_count_room(sum(offered), report.pace.blind.value, report.pace.final.value),
    )


def _count_room(hours: float, blind: float | None, final: float | None) -> int | None:
    """Return how many reviews fit into `hours` at the median seconds that one takes; None if unknown."""
    if blind is None or final is None or blind + final <= 0:
        return None
    return int(hours * 3600 / (blind + final))


@router.get("/progress/reviews")
def list_reviews(
    request: Request,
    account: Here,
    kind: Kind,
    day: date | None = None,
    age: Annotated[str, Query(max_length=40)] = "",
    rubric: Annotated[str, Query(max_length=200)] = "",
    criterion: Annotated[str, Query(max_length=200)] = "",
    first: Annotated[int | None, Query(ge=0, le=4)] = None,
    second: Annotated[int | None, Query(ge=0, le=4)] = None,
    cause: Cause | None = None,
    start: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> HTMLResponse:
    """List the reviews behind a number; where levels are told, of decided reviews only."""
    lists = progress_lists_of(request.app)
    now = datetime.now(UTC)
    found: list[Listed]
    match kind:
        case "committed":
            found = lists.committed_on(day or now.date())
        case "finished":
            found = lists.finished_on(day or now.date())
        case "waiting":
            found = lists.waiting(age, now)
        case "changed":
            found = lists.changed(cause, account.name)
        case "audit":
            found = lists.audited(account.name)
        case "people" | "judge" | "imported":
            levels = None if first is None or second is None else (first, second)
            found = lists.compared(kind, rubric, criterion, levels, account.name)
    return render(
        request,
        "progress_reviews.html",
        title=_TITLES[kind],
        of_decided=kind in ("people", "judge", "imported", "changed", "audit"),
        details=[str(value) for value in (day, age, rubric, criterion, cause) if value],
        rows=found[start : start + _PAGE],
        total=len(found),
        start=start,
        step=_PAGE,
        query=_query_without_start(request),
    )


_TITLES: Final[dict[str, str]] = {
    "committed": "Blind assessments",
    "finished": "Final assessments",
    "waiting": "Waiting for a blind assessment",
    "people": "First and second reviewers",
    "judge": "Judge and people",
    "imported": "Judge and imported labels",
    "changed": "Levels changed after the judge's were seen",
    "audit": "Audits",
}


def _query_without_start(request: Request) -> str:
    return str(request.url.remove_query_params("start").query)
