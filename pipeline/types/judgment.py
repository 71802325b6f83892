"""A judgment: levels, reasons and feedback, each with citations."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.types.fault import Fault
from pipeline.types.model import Frozen

__all__ = ["Citation", "Confidence", "FeedbackItem", "Judgment", "OverallGrade", "Score"]


class Citation(Frozen):
    """What a statement rests on: lines of the code, or a fact."""

    kind: Literal["lines", "fact"]
    first_line: int | None = None
    last_line: int | None = None
    quote: str = ""
    """The cited text, exactly as it stands in those lines."""
    fact: str | None = None
    value: str = ""
    """The fact's value as cited."""


class FeedbackItem(Frozen):
    """One remark to the author."""

    part: Literal["works", "change", "next"]
    """What works, what must change and why, or the next step."""
    text: str
    citations: tuple[Citation, ...] = ()


class Score(Frozen):
    """A criterion's level. Unscored is a state, never 0."""

    criterion: str
    level: int | None
    """None when unscored."""
    source: str
    """``check:<id>`` or ``judge``."""
    reason: str
    """Why this level, or why none."""
    citations: tuple[Citation, ...] = ()
    confidence: float | None = None
    """The scorer's own, 0..1; None when unscored."""


class OverallGrade(Frozen):
    """The one number, or why there is none."""

    value: float | None
    """0..1."""
    passed: bool | None
    reason: str
    scored_weight: float
    """Share of the rubric's weight that was scored, 0..1."""
    closed_gates: tuple[str, ...] = ()
    """Checks that failed and that the rubric names as gates; any makes the grade 0 and a fail."""


class Judgment(Frozen):
    """What a judge said about one submission."""

    judge: str
    """E.g. ``rules 1``."""
    scores: tuple[Score, ...]
    feedback: tuple[FeedbackItem, ...] = ()
    overall: OverallGrade
    fault: Fault | None = None
    usage: dict[str, int] = Field(default_factory=dict)
    """Tokens by kind; empty for judges that cost nothing."""


class Confidence(Frozen):
    """How far a judgment can be trusted."""

    value: float | None
    """0..1; None when nothing supports a number."""
    reason: str
