"""What the store hands out besides the vocabulary itself."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pipeline.types import (
    CaseResult,
    CheckReport,
    Decision,
    Destination,
    Fact,
    Frozen,
    Review,
    Score,
    Verdict,
)

__all__ = ["BatchSummary", "Document", "GradingState", "GradingSummary", "ReviewState", "StageRecord"]

#: ``open``: work is left. ``decided``: a person decided and the grade is still to be written.
GradingState = Literal["open", "waiting", "decided", "held", "graded"]


class Document(Frozen):
    """The full text of something that shaped a grade: a task, a rubric, a prompt, a fingerprint."""

    kind: str
    id: str
    version: str
    sha256: str
    text: str


class StageRecord(Frozen):
    """What one stage produced, kept under a key made of everything that the stage depends on.

    A top-level ``verdict`` or ``overall`` in `output` is what summaries show until there is a grade.
    """

    stage: str
    key: str
    output: str
    """JSON."""
    seconds: float
    """Wall time the stage took."""
    facts: tuple[Fact, ...] = ()
    reports: tuple[CheckReport, ...] = ()
    scores: tuple[Score, ...] = ()
    cases: tuple[CaseResult, ...] = ()


class ReviewState(Frozen):
    """A place in the queue and, once there is one, the decision."""

    review: Review
    decision: Decision | None = None


class GradingSummary(Frozen):
    """One grading, in one line."""

    grading_id: str
    submission_id: str
    task_id: str
    origin: str
    """Where the submission came from in the batch it was last part of; empty outside any batch."""
    state: GradingState
    verdict: Verdict | None
    overall: float | None
    """0..1; None when there is no overall number (yet)."""
    passed: bool | None
    destination: Destination | None
    reason: str
    """Why it went there."""
    review_id: str | None
    """The open review, where one waits."""


class BatchSummary(Frozen):
    """One batch, in one line."""

    id: str
    opened_at: datetime
    gradings: int
    rejections: int
    closed: bool
