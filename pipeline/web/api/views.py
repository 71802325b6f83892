"""What the API says about places and the queue: what their pages say, and no more.

A reviewer's view has no purpose, route, reason, origin or other people in it: before the blind assessment any
of them would anchor, and afterwards they are nobody's business but a lead's.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from pipeline.review.desk import Desk
from pipeline.review.places import Place, PlaceState, QueueState, ReviewStanding
from pipeline.types import Assessment, Frozen, Purpose, Revision, SavedDraft

__all__ = ["Draft", "Key", "LeadPlace", "PlaceView", "Queue", "show_lead_place", "show_place", "show_queue"]

Key = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._-]{8,100}$"),
    Field(description="Chosen at random by the client; the same key again is the same request, done once."),
]


class Draft(Frozen):
    """What was saved last."""

    revision: int = Field(description="Number of the newest revision; the next one saved is higher.")
    stage: str = Field(description="`blind` before the commit, `final` after it.")
    assessment: Assessment
    active_seconds: float = Field(description="Time at work so far, idle time removed.")
    saved_at: datetime


class PlaceView(Frozen):
    """One place in the queue, as whoever holds it sees it."""

    review_id: str
    slot: int
    task_id: str
    author: str = Field(description="Pseudonym of whoever wrote the submission.")
    state: PlaceState = Field(description="`held` until the blind assessment is committed, then `committed`.")
    adjudication: bool = Field(description="Whether it is to decide between assessments that differ.")
    rubric: str = Field(description="Content hash of the rubric; a commit names it.")
    lease_id: str = Field(description="Names the lease in requests; empty where nobody holds the place.")
    lease_until: datetime | None = Field(description="When the lease ends unless it is renewed.")
    draft: Draft | None = Field(description="What was saved last, if anything was.")
    blind: Assessment | None = Field(description="The blind assessment; once it is there, for good.")
    final: Assessment | None
    revisions: tuple[Revision, ...] = Field(description="What the final assessment changed, and why.")
    undo_until: datetime | None = Field(description="Until when a finished place can be taken back.")
    decided: bool = Field(description="Whether the review has its decision.")


class Queue(Frozen):
    """The queue as one person sees it."""

    waiting: int = Field(description="Items that this person could be served now.")
    held: int = Field(description="Items that others hold.")
    held_until: datetime | None = Field(description="When the first of these is freed at the latest.")
    second: int = Field(description="Second reviews that are not committed yet, whoever does them.")
    adjudication: int = Field(description="Reviews that wait for an adjudicator.")
    mine: list[PlaceView] = Field(description="What this person has begun.")
    recent: list[PlaceView] = Field(description="What this person finished last, newest first.")
    done_today: int = Field(description="Finished today (UTC).")
    seconds_today: float = Field(description="Active seconds today (UTC).")
    paused: bool = Field(description="Whether a lead keeps new items back.")


class LeadPlace(Frozen):
    """One place in the queue, as leads see it."""

    review_id: str
    slot: int
    task_id: str
    author: str = Field(description="Pseudonym of whoever wrote the submission.")
    purpose: Purpose
    state: PlaceState
    standing: ReviewStanding = Field(description="How far the whole review has come.")
    holder: str | None = Field(description="Account that has it, or had it last.")
    lease_until: datetime | None
    opened_at: datetime


def show_draft(draft: SavedDraft) -> Draft:
    """Return what the API says about a draft."""
    return Draft(
        revision=draft.revision,
        stage=draft.stage,
        assessment=draft.assessment,
        active_seconds=draft.active_seconds,
        saved_at=draft.saved_at,
    )


def show_place(place: Place, desk: Desk) -> PlaceView:
    """Return what the API says about a place to whoever has it."""
    said = place.submitted
    return PlaceView(
        review_id=place.item.review.id,
        slot=place.slot,
        task_id=place.item.task_id,
        author=desk.pseudonym(place.item.review.id),
        state=place.state,
        adjudication=place.purpose is Purpose.ADJUDICATION,
        rubric=place.item.rubric,
        lease_id=place.lease_id,
        lease_until=place.lease_until,
        draft=show_draft(place.draft) if place.draft else None,
        blind=said.blind if said else None,
        final=said.final if said else None,
        revisions=said.revisions if said else (),
        undo_until=place.undo_until,
        decided=place.standing is ReviewStanding.DECIDED,
    )


def show_lead_place(place: Place, desk: Desk) -> LeadPlace:
    """Return what the API says about a place to leads."""
    return LeadPlace(
        review_id=place.item.review.id,
        slot=place.slot,
        task_id=place.item.task_id,
        author=desk.pseudonym(place.item.review.id),
        purpose=place.purpose,
        state=place.state,
        standing=place.standing,
        holder=place.holder,
        lease_until=place.lease_until,
        opened_at=place.item.review.opened_at,
    )


def show_queue(state: QueueState, desk: Desk) -> Queue:
    """Return what the API says about the queue."""
    return Queue(
        waiting=state.waiting,
        held=state.held,
        held_until=state.held_until,
        second=state.second,
        adjudication=state.adjudication,
        mine=[show_place(place, desk) for place in state.mine],
        recent=[show_place(place, desk) for place in state.recent],
        done_today=state.done_today,
        seconds_today=state.seconds_today,
        paused=state.paused,
    )
