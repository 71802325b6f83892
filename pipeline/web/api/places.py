"""One place in the queue over the API: open it, keep it, give it back; leads list and take back places."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.review.places import Place
from pipeline.types import Account, Frozen
from pipeline.web.access import allow
from pipeline.web.api.addresses import ReviewId, Slot
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.api.views import Key, LeadPlace, PlaceView, show_lead_place, show_place
from pipeline.web.context import context_of

__all__ = ["router"]

router = make_router("/places", tag="places")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]
Lead = Annotated[Account, allow(Permission.MANAGE)]


class RenewRequest(Frozen):
    """Says that somebody is at work."""

    lease_id: str = Field(max_length=100)


class HandBackRequest(Frozen):
    """Frees a place; what was written is kept."""

    lease_id: str = Field(max_length=100)
    skip: bool = Field(description="Whether it is not to be served to the caller again.")
    reason: str = Field(default="", max_length=2000)


class FlagRequest(Frozen):
    """Asks a lead to look."""

    reason: str = Field(min_length=1, max_length=2000)
    key: Key


class TakeBackRequest(Frozen):
    """Frees a place that somebody else holds."""

    reason: str = Field(min_length=1, max_length=2000)
    key: Key


@router.get("", operation_id="listPlaces", summary="List what is not decided", responses=refusals())
def list_places(request: Request, account: Lead, cursor: Cursor = None, limit: Limit = 50) -> Page[LeadPlace]:
    """For leads: every place of every review without a decision, oldest first.

    Nothing of what the caller is to assess blind.
    """
    desk = context_of(request).desk

    def key(place: Place) -> str:
        review = place.item.review
        return f"{review.opened_at.timestamp():020.6f} {review.id} {place.slot:04d}"

    return paginate(
        desk.list_places(account),
        lambda place: show_lead_place(place, desk),
        key=key,
        cursor=cursor,
        limit=limit,
    )


@router.post(
    "/{review_id}/{slot}/open",
    operation_id="openPlace",
    summary="Go on with an item",
    responses=refusals("unknown", "forbidden", "not_held"),
)
def open_place(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot) -> PlaceView:
    """Renews the lease of a place that is the caller's, or leases it again if nobody else has it."""
    desk = context_of(request).desk
    return show_place(desk.open(account, review_id, slot), desk)


@router.post(
    "/{review_id}/{slot}/renew",
    operation_id="renewLease",
    summary="Extend the lease",
    responses=refusals("unknown", "forbidden", "lease_lost"),
)
def renew(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, asked: RenewRequest
) -> PlaceView:
    """To be sent only while a person is at work."""
    desk = context_of(request).desk
    return show_place(desk.renew(account, review_id, slot, asked.lease_id), desk)


@router.post(
    "/{review_id}/{slot}/hand-back",
    operation_id="handBack",
    summary="Give an item back or skip it",
    status_code=204,
    responses=refusals("unknown", "forbidden", "lease_lost", "already_committed"),
)
def hand_back(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, asked: HandBackRequest
) -> None:
    """Possible until the blind assessment is committed."""
    context_of(request).desk.hand_back(
        account, review_id, slot, asked.lease_id, reason=asked.reason, skip=asked.skip
    )


@router.post(
    "/{review_id}/{slot}/flag",
    operation_id="flagItem",
    summary="Ask a lead to look",
    status_code=204,
    responses=refusals("unknown", "forbidden"),
)
def flag(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, asked: FlagRequest) -> None:
    """For whatever is wrong with an item that levels do not say."""
    context_of(request).desk.flag(account, review_id, slot, asked.reason, key=asked.key)


@router.post(
    "/{review_id}/{slot}/take-back",
    operation_id="takeBack",
    summary="Free an item that somebody holds",
    status_code=204,
    responses=refusals("unknown", "forbidden", "not_held", "already_committed"),
)
def take_back(
    request: Request, account: Lead, review_id: ReviewId, slot: Slot, asked: TakeBackRequest
) -> None:
    """For leads; the draft stays with whoever wrote it."""
    context_of(request).desk.take_back(account, review_id, slot, asked.reason, key=asked.key)
