"""Progress and agreement, for leads: figures with what they rest on, and the reviews behind each."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse

from pipeline.review.permissions import Permission
from pipeline.web.access import Here, allow
from pipeline.web.context import context_of
from pipeline.web.listing import Kind, ListedReviews
from pipeline.web.rendering import render
from pipeline.web.services import progress_of
from pipeline.web.tonight import measure_tonight

__all__ = ["router"]

router = APIRouter(dependencies=[allow(Permission.SEE_PROGRESS)], include_in_schema=False)

_PAGE: Final = 200


@router.get("/progress")
def show_progress(request: Request, account: Here) -> HTMLResponse:
    """Show throughput, what waits, agreement, changes, gold items and audits."""
    report = progress_of(request.app).recall(account)
    tonight = measure_tonight(request, report.pace)
    return render(
        request,
        "progress.html",
        report=report,
        people_tonight=tonight.people,
        hours_tonight=tonight.hours,
        room_tonight=tonight.room,
        # Where nobody says how long they are there, nothing is known about tonight.
        is_short=tonight.people > 0 and tonight.room is not None and tonight.room < report.waiting.places,
        goes_by_value=context_of(request).desk.settings().value_hours > 0,
    )


@router.get("/progress/reviews")
def list_reviews(
    request: Request,
    kind: Kind,
    found: ListedReviews,
    start: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> HTMLResponse:
    """List the reviews behind a number; where levels are told, of decided reviews only."""
    asked = request.query_params
    return render(
        request,
        "progress_reviews.html",
        title=_TITLES[kind],
        of_decided=kind in ("people", "judge", "imported", "changed", "audit"),
        details=[asked[name] for name in ("day", "age", "rubric", "criterion", "cause") if asked.get(name)],
        rows=found[start : start + _PAGE],
        total=len(found),
        start=start,
        step=_PAGE,
        query=_query_without_start(request),
    )


_TITLES: Final[dict[Kind, str]] = {
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
