"""A review: a grading that waits for a person, and what the person decided."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from pipeline.types.model import Frozen

__all__ = ["Decision", "Review"]


class Review(Frozen):
    """A place in the queue."""

    id: str
    grading_id: str
    reason: str
    """Why it needs a person."""
    opened_at: datetime


class Decision(Frozen):
    """What a reviewer decided; never overwritten, always attributable."""

    review_id: str
    reviewer: str = Field(min_length=1, max_length=200)
    levels: dict[str, int]
    """Level per criterion id; a criterion left out keeps the draft's."""
    passed: bool | None = None
    """Overrides the rubric's overall pass or fail, with the comment as the reason."""
    comment: str = Field(default="", max_length=20_000)
    decided_at: datetime
