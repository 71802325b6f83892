"""The timesheet: one's own hours by day and week, and everybody's for whoever pays them."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from pipeline.review.gold import Gold
from pipeline.review.permissions import Permission
from pipeline.review.timesheets import (
    ENOUGH,
    ENOUGH_PEOPLE,
    Pace,
    export_timesheet,
    read_all_timesheets,
    read_timesheet,
)
from pipeline.web.access import Here, allow
from pipeline.web.context import context_of
from pipeline.web.rendering import render
from pipeline.web.services import follower_of

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Since = Annotated[date | None, Query(description="First day.")]


@router.get("/timesheet", dependencies=[allow(Permission.REVIEW)])
def show_timesheet(request: Request, account: Here) -> HTMLResponse:
    """Show one's own days and weeks, how long tasks take, and how one agrees with known levels."""
    store, follower = context_of(request).store, follower_of(request.app)
    return render(
        request,
        "timesheet.html",
        sheet=read_timesheet(store, account),
        pace=Pace(store, follower).compare(account),
        accuracy=Gold(store, follower).own_accuracy(account),
        enough=ENOUGH,
        enough_people=ENOUGH_PEOPLE,
        idle_seconds=context_of(request).desk.settings().idle_seconds,
    )


@router.get("/timesheet/mine.csv", dependencies=[allow(Permission.REVIEW)])
def export_own(request: Request, account: Here, since: Since = None) -> Response:
    """Send one's own hours as CSV."""
    sheet = read_timesheet(context_of(request).store, account, since)
    return _send(export_timesheet([sheet]), f"hours-{account.name}.csv")


@router.get("/timesheet/everybody.csv", dependencies=[allow(Permission.EXPORT)])
def export_all(request: Request, account: Here, since: Since = None) -> Response:
    """Send everybody's hours as CSV."""
    sheets = read_all_timesheets(context_of(request).store, account, since)
    return _send(export_timesheet(sheets), "hours.csv")


def _send(table: str, name: str) -> Response:
    return Response(
        table,
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
