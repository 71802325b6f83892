"""What the store hands out besides the vocabulary itself."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from pydantic import Field

from pipeline.types import (
    CaseResult,
    CheckReport,
    Decision,
    Destination,
    Fact,
    Frozen,
    ProviderBatch,
    Review,
    Score,
    Verdict,
)

__all__ = [
    "BatchEvent",
    "BatchSummary",
    "CostLine",
    "DeskItem",
    "Document",
    "DoubtfulCall",
    "DraftLevel",
    "GradingState",
    "GradingSummary",
    "ProviderBatchEvent",
    "ProviderBatchState",
    "ReviewState",
    "StageRecord",
]

#: ``open``: work is left. ``decided``: a person decided and the grade is still to be written.
GradingState = Literal["open", "waiting", "decided", "held", "graded"]

#: What can become of a provider batch. ``adopted``: found at the provider after a restart.
BatchEvent = Literal["sent", "adopted", "refused", "ended", "expired", "collected"]


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
    author: str = ""
    """The first that the submission was declared to be of; empty where nobody said."""
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


class ProviderBatchEvent(Frozen):
    """One thing that became of a provider batch."""

    event: BatchEvent
    provider_id: str | None
    """The provider's own id, where it had given one."""
    message: str
    at: datetime
    """When it was committed, in UTC."""


class ProviderBatchState(Frozen):
    """A provider batch and what became of it so far."""

    batch: ProviderBatch
    provider_id: str | None
    """The provider's own id, by the latest event that states one; None before it is sent."""
    events: tuple[ProviderBatchEvent, ...]
    """Oldest first; none when the process died between intent and sending."""


class DoubtfulCall(Frozen):
    """A call that may have been paid without use. Money in micro-dollars."""

    call_id: str
    submission_id: str
    provider: str
    model: str
    role: str
    outcome: Literal["lost", "open"]
    """Open: it was under way when its process died."""
    started_at: datetime
    cost: int
    """What it may have cost."""


class CostLine(Frozen):
    """What calls to models took, for one value of what they are grouped by. Money in micro-dollars."""

    value: str
    """E.g. ``2026-11-30`` (a UTC day) or ``anthropic``."""
    calls: int
    """Of a criterion: calls that asked about it, also among others."""
    answered: int
    failed: int
    lost: int
    open: int
    """Without an end: in flight when a process died, or still in flight."""
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost: int
    """An open call counts with what was set aside for it."""
    possibly_twice_cost: int
    """Part of `cost`: of lost calls, and of open ones that a later call asked again."""


class DeskItem(Frozen):
    """A review as the desk needs it: enough to draw, list and link it."""

    review: Review
    submission_id: str
    task_id: str
    origin: str
    """Where the submission came from; reviewers see a pseudonym instead."""
    author: str = Field(default="", exclude=True, repr=False)
    """The first that the submission was declared to be of; excluded, so that no page or file can bear it."""
    destination: Destination | None
    verdict: Verdict | None
    rubric: str
    """Content hash of the rubric it is judged by."""
    decided: bool
    confidence: float | None = Field(default=None, exclude=True, repr=False)
    """Of the draft, for the order of the queue only: excluded, so that no page or file can bear it."""


class DraftLevel(NamedTuple):
    """What a draft says of one criterion."""

    grading_id: str
    criterion: str
    level: int | None
    """None when unscored."""
    source: str
    """``check:<id>`` or ``judge``."""
