"""The history of a review over the API: what its page shows to the caller, and no more."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.types import Account, Frozen
from pipeline.types.visible import show_controls
from pipeline.web.access import allow
from pipeline.web.api.addresses import ReviewId
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.item_history import read_history
from pipeline.web.timeline import Row

__all__ = ["router"]

router = make_router("/reviews/{review_id}/history", tag="history")

Reader = Annotated[Account, allow(Permission.SEE_HISTORY)]


class GivenLevel(Frozen):
    """One criterion's level, as somebody gave it."""

    criterion: str = Field(description="Title of the criterion.")
    level: str = Field(description="The level, or words that say why there is none.")
    reason: str


class Happened(Frozen):
    """One thing that happened to a review."""

    id: str = Field(description="Stays the same for good; the page's address ends with it, after `#`.")
    at: datetime | None = Field(description="Null for what happened before the caller may know when.")
    who: str = Field(description="An account, or the part of the program that did it.")
    title: str = Field(description="What happened, in words.")
    version: str = Field(description="By which version of what; may be empty.")
    lines: list[str] = Field(description="More about it, one sentence or pair each.")
    levels: list[GivenLevel]


@router.get("", operation_id="getHistory", summary="What happened to a review", responses=refusals("unknown"))
def list_history(
    request: Request, account: Reader, review_id: ReviewId, cursor: Cursor = None, limit: Limit = 50
) -> Page[Happened]:
    """Oldest first. Whoever still has to assess the item is told nothing that would lead them."""
    rows = read_history(request, account, review_id).rows
    return paginate(
        enumerate(rows), lambda numbered: _show(numbered[1]), key=_order, cursor=cursor, limit=limit
    )


def _order(numbered: tuple[int, Row]) -> str:
    """Return a key that stays the same while rows are added."""
    number, row = numbered
    return f"0 {number:06d}" if row.at is None else f"1 {row.at.timestamp():020.6f} {row.anchor}"


def _show(row: Row) -> Happened:
    return Happened(
        id=row.anchor,
        at=row.at,
        who=row.who,
        title=row.title,
        version=show_controls(row.version),
        lines=[show_controls(line) for line in row.lines],
        levels=[
            GivenLevel(criterion=line.title, level=line.level, reason=show_controls(line.reason))
            for line in row.levels
        ],
    )
