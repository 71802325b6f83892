"""An assessment: all that one person says about one submission, criterion by criterion."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from pipeline.types.judgment import FeedbackItem
from pipeline.types.model import Frozen

__all__ = ["Answer", "Assessment", "Cause", "LineComment", "Objection", "Pick", "Revision"]


class Answer(Frozen):
    """What a person says about one criterion."""

    level: int | None
    """None: it cannot be judged from the evidence, a legal answer that no mean counts."""
    reason: str = Field(default="", max_length=2000)
    """Why; needed where there is no level."""


class LineComment(Frozen):
    """A remark on lines of the code, 1-based and inclusive."""

    first_line: int = Field(ge=1)
    last_line: int = Field(ge=1)
    text: str = Field(min_length=1, max_length=4000)


class Objection(Frozen):
    """A check that a person holds to be wrong; the level it settled stays, and a lead is told."""

    check: str
    reason: str = Field(min_length=1, max_length=2000)


class Assessment(Frozen):
    """All that one person says; while it is a draft anything may still be missing."""

    answers: dict[str, Answer] = Field(default_factory=dict)
    """Per criterion id."""
    comments: tuple[LineComment, ...] = ()
    objections: tuple[Objection, ...] = ()
    passed: bool | None = None
    """Overrules the rubric's pass or fail, with the note as the reason."""
    note: str = Field(default="", max_length=20_000)
    """What the author should know."""
    feedback: tuple[FeedbackItem, ...] | None = None
    """The feedback to the author, edited; None for the draft's. Never there before the reveal."""


class Cause(StrEnum):
    """Why somebody changed a level, or why two people differed."""

    MISSED_EVIDENCE = "missed_evidence"
    SLIP = "slip"
    RUBRIC_UNCLEAR = "rubric_unclear"
    RUBRIC_GAP = "rubric_gap"
    WRONG_EVIDENCE = "wrong_evidence"
    EDGE_CASE = "edge_case"
    OTHER = "other"


class Revision(Frozen):
    """A level that was changed after the judge's was seen."""

    criterion: str
    before: int | None
    after: int | None
    cause: Cause
    remark: str = Field(default="", max_length=2000)


class Pick(Frozen):
    """Where an adjudicator's level of one criterion comes from."""

    source: Literal["A", "B", "other"]
    cause: Cause
