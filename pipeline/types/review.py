"""A review: a grading that waits for a person, and what the person decided."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from pipeline.types.judgment import FeedbackItem
from pipeline.types.model import Frozen

__all__ = ["Decision", "Review"]


class Review(Frozen):
    """A place in the queue."""

    id: str
    grading_id: str
    reason: str
    """Why it needs a person."""
    opened_at: datetime
    kind: Literal["route", "audit"] = "route"
    """``audit``: its grade stands already, and chance chose it to be looked at."""
    probability: float | None = Field(default=None, ge=0, le=1)
    """With which chance chose it."""
    calibration: float | None = Field(default=None, gt=0, le=1)
    """With which chance drew its grading to calibrate on, whatever its route; None where it was not drawn."""


class Decision(Frozen):
    """What a reviewer decided; never overwritten, always attributable."""

    review_id: str
    reviewer: str = Field(min_length=1, max_length=200)
    levels: dict[str, int]
    """Level per criterion id; a criterion left out keeps the draft's."""
    unjudged: dict[str, str] = Field(default_factory=dict)
    """Why, per criterion id that cannot be judged from the evidence: it becomes unscored."""
    passed: bool | None = None
    """Overrides the rubric's overall pass or fail, with the comment as the reason."""
    comment: str = Field(default="", max_length=20_000)
    feedback: tuple[FeedbackItem, ...] | None = None
    """The feedback as the reviewer edited it; None keeps the draft's."""
    decided_at: datetime
