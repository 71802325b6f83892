"""Norming over the API: sessions, one's own place in them, and what all said once it is revealed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path, Request
from pydantic import Field

from pipeline.review.comparison import Comparison, Remark, Vote
from pipeline.review.norming import MOST, Norming, NormingItem, NormingSession
from pipeline.review.permissions import Permission
from pipeline.review.places import PlaceState
from pipeline.types import Account, Frozen
from pipeline.web.access import allow
from pipeline.web.api.addresses import ReviewId
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.api.views import Key, PlaceView, show_place
from pipeline.web.context import context_of
from pipeline.web.services import norming_of

__all__ = ["router"]

router = make_router("/norming", tag="norming")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]
Lead = Annotated[Account, allow(Permission.MANAGE)]
SessionId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="Id of a norming session.")]


class SessionRequest(Frozen):
    """Opens a session."""

    title: str = Field(min_length=1, max_length=200)
    review_ids: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default=[], max_length=MOST, description="Whole ids, or as much of each as tells it from others."
    )
    count: int = Field(
        default=5, ge=1, le=MOST, description="Where no review is named: how many decided ones chance draws."
    )
    key: Key


class Session(Frozen):
    """A session, in one line."""

    id: str
    title: str
    opened_at: datetime
    revealed_at: datetime | None = Field(description="When a lead ended the blind part; null before.")
    submissions: int


class SessionItem(Frozen):
    """One submission of a session, as the caller sees it."""

    review_id: str
    task_id: str
    author: str = Field(description="Pseudonym of whoever wrote it.")
    at_work: int = Field(description="How many are at it.")
    committed: int = Field(description="How many have assessed it.")
    decided: bool = Field(description="If not, whoever joins does not decide its review any more.")
    slot: int | None = Field(description="The caller's own place; null before they join.")
    state: PlaceState | None = Field(description="Of the caller's own place.")


class SessionDetail(Session):
    """A session with its submissions, at most 50."""

    items: list[SessionItem]


class JoinRequest(Frozen):
    """Asks for a place of one's own."""

    key: Key


class Compared(Frozen):
    """What all said about one submission, without names."""

    review_id: str
    criteria: list[str] = Field(description="Those that people level, where they differ most first.")
    votes: list[Vote]
    remarks: list[Remark] = Field(description="Oldest first.")


class RemarkRequest(Frozen):
    """Says something to everybody who sees the comparison."""

    text: str = Field(min_length=1, max_length=4000)
    key: Key


@router.get(
    "", operation_id="listNormingSessions", summary="List norming sessions", responses=refusals("forbidden")
)
def list_sessions(
    request: Request, account: Reviewer, cursor: Cursor = None, limit: Limit = 50
) -> Page[Session]:
    """Oldest first."""
    return paginate(
        norming_of(request.app).list(account),
        lambda session: Session(**_describe(session)),
        key=lambda session: f"{session.opened_at.timestamp():020.6f} {session.id}",
        cursor=cursor,
        limit=limit,
    )


@router.post(
    "",
    operation_id="openNormingSession",
    summary="Open a norming session",
    status_code=201,
    responses=refusals("unknown", "invalid"),
)
def open_session(request: Request, account: Lead, asked: SessionRequest) -> SessionDetail:
    """Over the reviews that are named, or over some that chance draws; everybody who reviews may join."""
    norming = norming_of(request.app)
    if asked.review_ids:
        session = norming.start(account, asked.title, asked.review_ids, key=asked.key)
    else:
        session = norming.start_drawn(account, asked.title, asked.count, key=asked.key)
    return _show(request, norming, account, session)


@router.get(
    "/{session_id}",
    operation_id="getNormingSession",
    summary="How far a norming session is",
    responses=refusals("unknown"),
)
def describe_session(request: Request, account: Reviewer, session_id: SessionId) -> SessionDetail:
    """Its submissions with counts, and the caller's own places."""
    norming = norming_of(request.app)
    return _show(request, norming, account, norming.find(account, session_id))


@router.post(
    "/{session_id}/reveal",
    operation_id="revealNormingSession",
    summary="End the blind part",
    responses=refusals("unknown"),
)
def reveal(request: Request, account: Lead, session_id: SessionId) -> SessionDetail:
    """Nobody joins any more, and whoever assessed a submission sees all levels; once more is harmless."""
    norming = norming_of(request.app)
    return _show(request, norming, account, norming.reveal(account, session_id))


@router.post(
    "/{session_id}/reviews/{review_id}/join",
    operation_id="joinNormingSession",
    summary="Take a place of one's own",
    responses=refusals("unknown", "forbidden", "too_late"),
)
def join(
    request: Request, account: Reviewer, session_id: SessionId, review_id: ReviewId, asked: JoinRequest
) -> PlaceView:
    """The place is then assessed like any other, and shapes no grade."""
    place = norming_of(request.app).join(account, session_id, review_id, key=asked.key)
    return show_place(place, context_of(request).desk)


@router.get(
    "/{session_id}/reviews/{review_id}",
    operation_id="compareNormingLevels",
    summary="What all said about one submission",
    responses=refusals("unknown", "forbidden"),
)
def compare(request: Request, account: Reviewer, session_id: SessionId, review_id: ReviewId) -> Compared:
    """After the reveal, for those who assessed it, and for leads once its review is decided."""
    return _show_comparison(norming_of(request.app).compare(account, session_id, review_id))


@router.post(
    "/{session_id}/reviews/{review_id}/remarks",
    operation_id="addNormingRemark",
    summary="Say something about one submission",
    status_code=201,
    responses=refusals("unknown", "forbidden", "invalid"),
)
def add_remark(
    request: Request, account: Reviewer, session_id: SessionId, review_id: ReviewId, asked: RemarkRequest
) -> Compared:
    """For everybody who sees the comparison, without the caller's name; the author never sees it."""
    norming = norming_of(request.app)
    norming.remark(account, session_id, review_id, asked.text, key=asked.key)
    return _show_comparison(norming.compare(account, session_id, review_id))


def _describe(session: NormingSession) -> dict[str, object]:
    return {
        "id": session.id,
        "title": session.title,
        "opened_at": session.opened_at,
        "revealed_at": session.revealed_at,
        "submissions": len(session.review_ids),
    }


def _show(request: Request, norming: Norming, account: Account, session: NormingSession) -> SessionDetail:
    pseudonym = context_of(request).desk.pseudonym

    def show(item: NormingItem) -> SessionItem:
        return SessionItem(
            review_id=item.review_id,
            task_id=item.task_id,
            author=pseudonym(item.review_id),
            at_work=item.at_work,
            committed=item.committed,
            decided=item.decided,
            slot=item.mine.slot if item.mine else None,
            state=item.mine.state if item.mine else None,
        )

    items = [show(item) for item in norming.list_items(account, session.id)]
    return SessionDetail(**_describe(session), items=items)


def _show_comparison(comparison: Comparison) -> Compared:
    return Compared(
        review_id=comparison.review_id,
        criteria=list(comparison.criteria),
        votes=list(comparison.votes),
        remarks=list(comparison.remarks),
    )
