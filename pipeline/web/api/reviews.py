"""Whole reviews over the API: what others said, for adjudicators; un-blinding and gold items, for leads."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.types import Account, Assessment, DeskEvent, Frozen
from pipeline.web.access import allow
from pipeline.web.api.addresses import ReviewId
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.api.views import Key
from pipeline.web.context import context_of

__all__ = ["router"]

router = make_router("/reviews", tag="reviews")

Adjudicator = Annotated[Account, allow(Permission.ADJUDICATE)]
Lead = Annotated[Account, allow(Permission.MANAGE)]
Unblinder = Annotated[Account, allow(Permission.UNBLIND)]


class Other(Frozen):
    """One of the assessments that differ."""

    name: str = Field(description="`A` or `B`; chance chose which is which.")
    assessment: Assessment


class Others(Frozen):
    """The assessments that an adjudicator decides between."""

    others: list[Other]


class UnblindRequest(Frozen):
    """Asks who wrote a submission."""

    reason: str = Field(min_length=1, max_length=2000, description="Goes on record.")
    key: Key


class Origin(Frozen):
    """Where a submission came from."""

    origin: str


class GoldRequest(Frozen):
    """Levels that are known."""

    levels: dict[str, int] = Field(description="Per criterion; empty for it to be a gold item no longer.")
    key: Key


class Flag(Frozen):
    """Something that a lead should look at."""

    review_id: str
    slot: int
    by: str = Field(description="Account.")
    at: datetime
    kind: str = Field(description="`flagged`, or `committed` for one with objections to checks.")
    reason: str


@router.get(
    "/flags", operation_id="listFlags", summary="List what a lead should look at", responses=refusals()
)
def list_flags(request: Request, account: Lead, cursor: Cursor = None, limit: Limit = 50) -> Page[Flag]:
    """Flags of reviews without a decision, and objections to checks; oldest first.

    Nothing of what the caller is to assess blind.
    """
    events = context_of(request).desk.list_flags(account)
    return paginate(
        events,
        _show_flag,
        key=lambda event: f"{event.at.timestamp():020.6f} {event.id}",
        cursor=cursor,
        limit=limit,
    )


@router.get(
    "/{review_id}/others",
    operation_id="listOthers",
    summary="What others said",
    responses=refusals("unknown", "forbidden"),
)
def list_others(request: Request, account: Adjudicator, review_id: ReviewId) -> Others:
    """For the adjudicator who holds the adjudication: the final assessments, without names."""
    found = context_of(request).desk.others(account, review_id)
    return Others(others=[Other(name=name, assessment=assessment) for name, assessment in found])


@router.post(
    "/{review_id}/unblind",
    operation_id="unblindAuthor",
    summary="Who wrote it",
    responses=refusals("unknown", "forbidden"),
)
def unblind(request: Request, account: Unblinder, review_id: ReviewId, asked: UnblindRequest) -> Origin:
    """Answers once the reason is on record."""
    desk = context_of(request).desk
    return Origin(origin=desk.unblind(account, review_id, asked.reason, key=asked.key))


@router.put(
    "/{review_id}/gold",
    operation_id="plantGold",
    summary="Make it a gold item",
    status_code=204,
    responses=refusals("unknown", "forbidden", "invalid", "incomplete"),
)
def plant(request: Request, account: Lead, review_id: ReviewId, asked: GoldRequest) -> None:
    """For decided reviews; people are served it as any other item."""
    context_of(request).desk.plant(account, review_id, asked.levels, key=asked.key)


def _show_flag(event: DeskEvent) -> Flag:
    action = event.action
    if action.kind == "flagged":
        reason = action.reason
    elif action.kind == "committed":
        reason = "; ".join(f"{object_.check}: {object_.reason}" for object_ in action.assessment.objections)
    else:
        reason = ""
    return Flag(
        review_id=event.review_id,
        slot=event.slot,
        by=event.actor,
        at=event.at,
        kind=action.kind,
        reason=reason,
    )
