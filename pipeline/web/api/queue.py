"""The queue over the API: how it stands, and the next item."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.types import Account, Frozen
from pipeline.web.access import allow
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.api.views import Key, PlaceView, Queue, show_place, show_queue
from pipeline.web.context import context_of

__all__ = ["router"]

router = make_router("/queue", tag="queue")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]


class DrawRequest(Frozen):
    """Asks for the next item."""

    key: Key


class Drawn(Frozen):
    """The next item, if there is one."""

    place: PlaceView | None = Field(description="Null when there is nothing for this person now.")


@router.get("", operation_id="getQueue", summary="How the queue stands", responses=refusals())
def describe_queue(request: Request, account: Reviewer) -> Queue:
    """Counts of what waits, and what the caller has begun and finished."""
    desk = context_of(request).desk
    return show_queue(desk.describe_queue(account), desk)


@router.post(
    "/draw", operation_id="drawItem", summary="Take the next item", responses=refusals("forbidden", "paused")
)
def draw(request: Request, account: Reviewer, asked: DrawRequest) -> Drawn:
    """The server picks and leases an item; what the caller has begun comes first."""
    desk = context_of(request).desk
    place = desk.draw(account, key=asked.key)
    return Drawn(place=show_place(place, desk) if place else None)
