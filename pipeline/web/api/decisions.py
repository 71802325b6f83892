"""Decisions that a lead holds back, and their release, over the API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.review.places import Place
from pipeline.types import Account, Frozen
from pipeline.web.access import allow
from pipeline.web.api.addresses import ReviewId
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.context import context_of

__all__ = ["router"]

router = make_router("/decisions", tag="decisions")

Lead = Annotated[Account, allow(Permission.MANAGE)]


class HeldBack(Frozen):
    """A review that is finished and waits for its release."""

    review_id: str
    task_id: str
    opened_at: datetime = Field(description="When a person was first wanted.")


class Released(Frozen):
    """What was decided now; the grades follow within seconds."""

    review_ids: list[str]


@router.get(
    "/held-back", operation_id="listHeldBack", summary="List what waits for a release", responses=refusals()
)
def list_held_back(
    request: Request, account: Lead, cursor: Cursor = None, limit: Limit = 50
) -> Page[HeldBack]:
    """Oldest first; empty unless the setting `hold_release` is on."""
    desk = context_of(request).desk
    return paginate(
        (desk.place(review_id, 0) for review_id in desk.list_held_back()),
        _show,
        key=lambda place: f"{place.item.review.opened_at.timestamp():020.6f} {place.item.review.id}",
        cursor=cursor,
        limit=limit,
    )


@router.post(
    "/held-back/release",
    operation_id="releaseAll",
    summary="Release everything that waits",
    responses=refusals("forbidden"),
)
def release_all(request: Request, account: Lead) -> Released:
    """Makes every decision that was held back; sent again it releases what came since."""
    made = context_of(request).desk.release_all(account)
    return Released(review_ids=[decision.review_id for decision in made])


@router.post(
    "/{review_id}/release",
    operation_id="releaseDecision",
    summary="Release one decision",
    responses=refusals("forbidden", "incomplete", "already_decided"),
)
def release(request: Request, account: Lead, review_id: ReviewId) -> Released:
    """For a finished review that only the setting `hold_release` keeps from its decision."""
    return Released(review_ids=[context_of(request).desk.release(account, review_id).review_id])


def _show(place: Place) -> HeldBack:
    review = place.item.review
    return HeldBack(review_id=review.id, task_id=place.item.task_id, opened_at=review.opened_at)
