"""Timesheets over the API: one's own days, and for whoever pays them everybody's."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Annotated

from fastapi import Query, Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.review.timesheets import Timesheet, read_all_timesheets, read_timesheet
from pipeline.types import Account, Frozen
from pipeline.web.access import allow
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.context import context_of

__all__ = ["router"]

router = make_router("/timesheets", tag="timesheets")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]
Payer = Annotated[Account, allow(Permission.EXPORT)]
Since = Annotated[date | None, Query(description="First day (UTC); null for all.")]


class WorkedDay(Frozen):
    """What somebody worked on one day."""

    account: str
    week: str = Field(description="By ISO 8601, such as `2026-W49`.")
    day: date = Field(description="By UTC.")
    items: int = Field(description="Items that were worked at.")
    active_seconds: float = Field(description="Idle time removed.")


@router.get("/mine", operation_id="getTimesheet", summary="One's own days", responses=refusals())
def describe_own(
    request: Request, account: Reviewer, since: Since = None, cursor: Cursor = None, limit: Limit = 50
) -> Page[WorkedDay]:
    """Oldest first."""
    return _page([read_timesheet(context_of(request).store, account, since)], cursor, limit)


@router.get("", operation_id="listTimesheets", summary="Everybody's days", responses=refusals())
def list_all(
    request: Request, account: Payer, since: Since = None, cursor: Cursor = None, limit: Limit = 50
) -> Page[WorkedDay]:
    """By name, then oldest first."""
    return _page(read_all_timesheets(context_of(request).store, account, since), cursor, limit)


def _page(sheets: Iterable[Timesheet], cursor: str | None, limit: int) -> Page[WorkedDay]:
    days = [
        WorkedDay(
            account=sheet.account,
            week=week.name,
            day=day.day,
            items=len(day.work),
            active_seconds=day.seconds,
        )
        for sheet in sheets
        for week in sheet.weeks
        for day in week.days
    ]
    return paginate(
        days, lambda day: day, key=lambda day: f"{day.account} {day.day}", cursor=cursor, limit=limit
    )
