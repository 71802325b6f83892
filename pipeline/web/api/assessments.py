"""What a person says of an item, over the API: drafts, the blind assessment, the final one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.types import Account, Assessment, Frozen, Pick, Revision, SavedDraft
from pipeline.web.access import allow
from pipeline.web.api.addresses import ReviewId, Slot
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.api.views import Draft, Key, PlaceView, show_draft, show_place
from pipeline.web.context import context_of

__all__ = ["router"]

router = make_router("/places/{review_id}/{slot}", tag="assessments")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]

#: A week: nobody is at work on one item for longer.
Seconds = Annotated[
    float | None,
    Field(
        ge=0,
        le=7 * 24 * 3600,
        allow_inf_nan=False,
        description="Time at work on this stage so far, idle time removed; of it no more is believed than has"
        " passed since the last request for the place. Null: the pauses between requests are counted, those"
        " that are too long for work left out.",
    ),
]


class DraftRequest(Frozen):
    """What has been written so far."""

    lease_id: str = Field(max_length=100)
    revision: int = Field(ge=0, lt=2**31, description="Higher than that of the draft it follows.")
    stage: Literal["blind", "final"] = Field(description="`final` once the blind assessment is committed.")
    assessment: Assessment
    active_seconds: Seconds = None


class CommitRequest(Frozen):
    """The blind assessment."""

    lease_id: str = Field(max_length=100)
    rubric: str = Field(max_length=100, description="Content hash of the rubric it was made under.")
    assessment: Assessment
    seconds: Seconds = None
    key: Key
    picks: dict[str, Pick] | None = Field(
        default=None, description="Of an adjudication: where each level comes from, per criterion."
    )
    rubric_change: str = Field(
        default="", max_length=4000, description="Of an adjudication: what the rubric should say instead."
    )


class FinishRequest(Frozen):
    """The final assessment."""

    assessment: Assessment
    revisions: tuple[Revision, ...] = Field(
        default=(), max_length=200, description="One per level that differs from the blind one."
    )
    seconds: Seconds = None
    key: Key


class UndoRequest(Frozen):
    """Takes the final assessment back."""

    key: Key


@router.put(
    "/draft",
    operation_id="saveDraft",
    summary="Keep what has been written so far",
    responses=refusals(
        "unknown",
        "forbidden",
        "invalid",
        "stale_revision",
        "lease_lost",
        "already_committed",
        "not_committed",
    ),
)
def save_draft(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, asked: DraftRequest
) -> Draft:
    """Kept even if the lease ran out meanwhile; also renews it."""
    draft = SavedDraft(
        review_id=review_id,
        slot=slot,
        account=account.name,
        revision=asked.revision,
        assessment=asked.assessment,
        stage=asked.stage,
        active_seconds=asked.active_seconds or 0.0,
        saved_at=datetime.now(UTC),
    )
    counted = asked.active_seconds is not None
    return show_draft(context_of(request).desk.save_draft(account, asked.lease_id, draft, counted=counted))


@router.post(
    "/commit",
    operation_id="commitBlind",
    summary="Make the blind assessment",
    responses=refusals(
        "unknown", "forbidden", "incomplete", "stale_rubric", "lease_lost", "not_held", "already_committed"
    ),
)
def commit(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, asked: CommitRequest
) -> PlaceView:
    """For good; the judge's draft can be read from now on."""
    desk = context_of(request).desk
    place = desk.commit(
        account,
        review_id,
        slot,
        asked.lease_id,
        asked.assessment,
        rubric=asked.rubric,
        seconds=asked.seconds,
        key=asked.key,
        picks=asked.picks,
        rubric_change=asked.rubric_change,
    )
    return show_place(place, desk)


@router.post(
    "/finish",
    operation_id="finishReview",
    summary="Make the final assessment",
    responses=refusals("unknown", "forbidden", "not_committed", "incomplete", "already_decided"),
)
def finish(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, asked: FinishRequest
) -> PlaceView:
    """Becomes a decision once no place of the review is open and the time to undo is over."""
    desk = context_of(request).desk
    place = desk.finish(
        account,
        review_id,
        slot,
        asked.assessment,
        revisions=asked.revisions,
        seconds=asked.seconds,
        key=asked.key,
    )
    return show_place(place, desk)


@router.post(
    "/undo",
    operation_id="undoFinish",
    summary="Take the final assessment back",
    responses=refusals("unknown", "forbidden", "not_committed", "too_late", "already_decided"),
)
def undo(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, asked: UndoRequest
) -> PlaceView:
    """Possible for a few seconds, which the settings name; the blind assessment stays."""
    desk = context_of(request).desk
    return show_place(desk.undo(account, review_id, slot, key=asked.key), desk)
