"""Small, valid things that the review desk keeps."""

from __future__ import annotations

from datetime import timedelta

from pipeline.types import (
    Action,
    Activity,
    Answer,
    Assessment,
    Cause,
    Claimed,
    Committed,
    DeskEvent,
    Finished,
    LineComment,
    Review,
    Revision,
    SavedDraft,
)
from tests.store.examples import NOON

ASSESSMENT = Assessment(
    answers={"clarity": Answer(level=3), "speed": Answer(level=None, reason="no profile")},
    comments=(LineComment(first_line=1, last_line=2, text="<b>why\u202e?</b>"),),
    note="reads well",
)


def event(name: str, action: Action, *, of: str, slot: int = 0, actor: str = "ada") -> DeskEvent:
    return DeskEvent(id=f"e-{name}", review_id=f"r-{of}", slot=slot, actor=actor, at=NOON, action=action)


def claimed(of: str) -> DeskEvent:
    return event(f"claimed-{of}", Claimed(lease_id="lease"), of=of)


def committed(of: str, note: str = "reads well") -> DeskEvent:
    assessment = ASSESSMENT.model_copy(update={"note": note})
    return event(f"committed-{of}", Committed(assessment=assessment, rubric="r1", seconds=61.5), of=of)


def finished(of: str) -> DeskEvent:
    revision = Revision(criterion="clarity", before=3, after=2, cause=Cause.MISSED_EVIDENCE)
    action = Finished(assessment=ASSESSMENT, revisions=(revision,), seconds=12.0)
    return event(f"finished-{of}", action, of=of)


def draft(of: str, revision: int, *, account: str = "ada", slot: int = 0) -> SavedDraft:
    return SavedDraft(
        review_id=f"r-{of}",
        slot=slot,
        account=account,
        revision=revision,
        assessment=ASSESSMENT,
        stage="blind",
        active_seconds=30.0,
        saved_at=NOON,
    )


def activity(account: str, minute: int) -> Activity:
    """One minute of work, of which half was active, that began so many minutes after noon."""
    began = NOON + timedelta(minutes=minute)
    return Activity(
        account=account,
        review_id="r-a",
        slot=0,
        started_at=began,
        ended_at=began + timedelta(minutes=1),
        active_seconds=30.0,
    )


def audit(of: str) -> Review:
    """A review of something that is graded already."""
    return Review(
        id=f"audit-{of}",
        grading_id=f"g-{of}",
        reason="drawn at random",
        opened_at=NOON,
        kind="audit",
        probability=0.05,
    )
