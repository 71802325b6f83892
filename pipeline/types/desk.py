"""The review desk: what happened to a place in the queue, what is still a draft, and how the desk is run.

A place is a review and a slot: slot 0 is the first review, others are opened when they are needed. Events are
never changed or taken back; what holds now follows from all of them, in order.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from pipeline.types.assessment import Assessment, Pick, Revision
from pipeline.types.model import Frozen

__all__ = [
    "Action",
    "Activity",
    "Claimed",
    "Commented",
    "Committed",
    "DeskEvent",
    "DeskSettings",
    "Finished",
    "Flagged",
    "Planted",
    "Purpose",
    "Released",
    "Reopened",
    "SavedComment",
    "SavedDraft",
    "SlotOpened",
    "Unblinded",
]


class Purpose(StrEnum):
    """What a slot of a review is for."""

    FIRST = "first"
    SECOND = "second"
    ADJUDICATION = "adjudication"
    #: Known levels, planted to see how well a person agrees with them.
    GOLD = "gold"
    NORMING = "norming"


class SlotOpened(Frozen):
    """Another review of the same submission is wanted."""

    kind: Literal["slot_opened"] = "slot_opened"
    purpose: Purpose
    probability: float | None = Field(default=None, ge=0, le=1)
    """With which it was drawn; None where a rule asked for it."""
    reason: str = Field(default="", max_length=2000)


class Claimed(Frozen):
    """Somebody has it; nobody else is served it until it is released."""

    kind: Literal["claimed"] = "claimed"
    lease_id: str


class Released(Frozen):
    """It is free again; a draft stays with whoever wrote it."""

    kind: Literal["released"] = "released"
    lease_id: str
    why: Literal["expired", "skipped", "handed_back", "taken_back"]
    reason: str = Field(default="", max_length=2000)


class Flagged(Frozen):
    """Something is wrong with it that the levels do not say: a lead should look."""

    kind: Literal["flagged"] = "flagged"
    reason: str = Field(min_length=1, max_length=2000)


class Committed(Frozen):
    """A blind assessment, made before the judge's was shown: for good, and what statistics use."""

    kind: Literal["committed"] = "committed"
    assessment: Assessment
    rubric: str
    """Content hash of the rubric it was made under."""
    seconds: float = Field(ge=0)
    """Active seconds, idle time removed."""
    picks: dict[str, Pick] = Field(default_factory=dict)
    """Of an adjudication, per criterion."""
    rubric_change: str = Field(default="", max_length=4000)
    """Of an adjudication: what the rubric should say instead."""


class Finished(Frozen):
    """The final assessment, made with the judge's in view: what the grade is made of."""

    kind: Literal["finished"] = "finished"
    assessment: Assessment
    revisions: tuple[Revision, ...] = ()
    seconds: float = Field(ge=0)
    """Active seconds since the blind commit."""


class Reopened(Frozen):
    """The final assessment is taken back, before it became a decision."""

    kind: Literal["reopened"] = "reopened"


class Unblinded(Frozen):
    """A lead was told who wrote the submission."""

    kind: Literal["unblinded"] = "unblinded"
    reason: str = Field(min_length=1, max_length=2000)


class Planted(Frozen):
    """A lead made it a gold item with these levels, or took that back."""

    kind: Literal["planted"] = "planted"
    levels: dict[str, int]
    """Empty: it is none any more."""


class Commented(Frozen):
    """A remark for colleagues, such as in a norming session; the author never sees it."""

    kind: Literal["commented"] = "commented"
    text: str = Field(min_length=1, max_length=4000)


Action = Annotated[
    SlotOpened
    | Claimed
    | Released
    | Flagged
    | Committed
    | Finished
    | Reopened
    | Unblinded
    | Planted
    | Commented,
    Field(discriminator="kind"),
]


class DeskEvent(Frozen):
    """One thing that happened at the desk; an id that is known already is the same event again."""

    id: str = Field(min_length=1, max_length=100)
    review_id: str
    slot: int = Field(ge=0)
    actor: str
    """Name of an account, or ``desk``."""
    at: datetime
    action: Action

    @property
    def is_journalled(self) -> bool:
        """Whether it goes to the journal first: a person's work, and draws that statistics rest on."""
        return self.action.kind in (
            "slot_opened",
            "committed",
            "finished",
            "reopened",
            "unblinded",
            "planted",
            "commented",
        )


class SavedDraft(Frozen):
    """What somebody has written so far; the newest revision counts."""

    review_id: str
    slot: int
    account: str
    revision: int = Field(ge=0)
    assessment: Assessment
    stage: Literal["blind", "final"]
    active_seconds: float = Field(default=0, ge=0)
    saved_at: datetime


class Activity(Frozen):
    """A stretch of work at one item, without idle time."""

    account: str
    review_id: str
    slot: int
    started_at: datetime
    ended_at: datetime
    active_seconds: float = Field(ge=0)


class SavedComment(Frozen):
    """A remark that is made again and again; the newest record under an id counts."""

    id: str
    owner: str
    """Name of an account, or empty for everybody's."""
    text: str = Field(max_length=4000)
    """Empty: it was deleted."""
    task_id: str = ""
    uses: int = 0


class DeskSettings(Frozen):
    """How the desk is run; leads change it, and every change is kept."""

    lease_minutes: float = Field(default=30, gt=0, le=24 * 60)
    idle_seconds: float = Field(default=60, gt=0, le=3600)
    """A longer pause is no work."""
    undo_seconds: float = Field(default=10, ge=0, le=3600)
    audit_rate: float = Field(default=0.05, ge=0, le=1)
    """Share of grades that stand alone and are reviewed nevertheless, drawn at random."""
    second_review_rate: float = Field(default=0.15, ge=0, le=1)
    gold_rate: float = Field(default=0.03, ge=0, le=1)
    value_hours: float = Field(default=24, ge=0, le=168)
    """How many hours of waiting the most valuable review is ahead of the least; 0 is pure age."""
    paused: bool = False
    """Whether new items are kept back."""
    hold_release: bool = False
    """Whether decisions wait until a lead releases them."""
