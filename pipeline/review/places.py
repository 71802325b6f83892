"""What the desk hands out: a place in the queue as its holder sees it, and the state of the queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pipeline.store.records import DeskItem
from pipeline.types import Assessment, Purpose, Revision, SavedDraft

__all__ = ["Place", "PlaceState", "QueueState", "ReviewStanding", "Submitted"]


class PlaceState(StrEnum):
    """How far one place has come."""

    WAITING = "waiting"
    HELD = "held"  # somebody assesses it blind
    COMMITTED = "committed"  # the blind assessment stands; its maker now sees the judge's
    FINISHED = "finished"  # the final assessment stands


class ReviewStanding(StrEnum):
    """How far one review, with all its places, has come."""

    OPEN = "open"  # a place is not finished yet
    DIFFERS = "differs"  # the first two differ too much: an adjudicator decides
    CONCLUDED = "concluded"  # a decision can be made of it; it may still be undone
    DECIDED = "decided"  # the decision is kept, for good


@dataclass(frozen=True, slots=True)
class Submitted:
    """What one person said in one place, blind and final."""

    account: str
    blind: Assessment
    blind_at: datetime
    final: Assessment | None
    final_at: datetime | None
    revisions: tuple[Revision, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Place:
    """One place in the queue as the desk knows it now.

    Attributes:
        item: The review, and what it is of.
        slot: Which of its places.
        purpose: What the place is for; never shown to whoever reviews.
        state: How far it has come.
        holder: Account that has it, or had it last where it is committed or finished.
        lease_id: Of the holder; empty where nobody holds it.
        lease_until: When the lease ends unless it is renewed; None where nobody is at it any more.
        draft: What the holder has saved, for the holder only.
        submitted: What stands of the blind and the final assessment.
        undo_until: When a finished place can no longer be taken back.
        standing: How far the whole review has come.
    """

    item: DeskItem
    slot: int
    purpose: Purpose
    state: PlaceState
    holder: str | None
    lease_id: str
    lease_until: datetime | None
    draft: SavedDraft | None
    submitted: Submitted | None
    undo_until: datetime | None
    standing: ReviewStanding


@dataclass(frozen=True, slots=True)
class QueueState:
    """What the queue's page says to one person.

    Attributes:
        waiting: Places that this person could be served now.
        held: Places that others hold.
        held_until: When the first of these is freed at the latest, or None.
        second: Second reviews that are not committed yet, whoever does them.
        adjudication: Reviews that wait for an adjudicator.
        mine: This person's places that are begun: held or committed.
        done_today: Places that this person finished today (UTC).
        recent: This person's last finished places, newest first, at most 20.
        seconds_today: Active seconds today.
        paused: Whether a lead keeps new items back.
    """

    waiting: int
    held: int
    held_until: datetime | None
    second: int
    adjudication: int
    mine: tuple[Place, ...]
    done_today: int
    recent: tuple[Place, ...]
    seconds_today: float
    paused: bool
