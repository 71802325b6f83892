"""A judgment: levels, reasons and feedback, each with citations."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.types.fault import Fault
from pipeline.types.finding import Finding
from pipeline.types.model import Frozen
from pipeline.types.text import OneLine

__all__ = ["Citation", "Confidence", "FeedbackItem", "Judgment", "OverallGrade", "Score", "Struck", "Vote"]


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


class Vote(Frozen):
    """What one member of a panel said of one criterion."""

    member: str
    """Role, model and sample, e.g. ``second claude-opus-5-5 1``."""
    level: int | None
    """None when it left the criterion unscored, or when its evidence was struck."""
    confidence: float | None = None
    """Its own, 0..1."""


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
    votes: tuple[Vote, ...] = ()
    """What each member of a panel said; empty where there was no panel."""

    @property
    def dispersion(self) -> int:
        """Distance between the highest and the lowest vote; 0 where fewer than two members voted."""
        levels = [vote.level for vote in self.votes if vote.level is not None]
        return max(levels) - min(levels) if levels else 0


class Struck(Frozen):
    """A statement that was taken out of a draft because its citations did not hold."""

    member: str
    """Whose draft it stood in."""
    place: str
    """``score <criterion>`` or ``feedback item <n>``."""
    text: str
    """The statement as the judge wrote it."""
    problems: tuple[OneLine, ...]
    """What did not hold, one line each."""


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
    """What its answers took: ``calls`` and tokens by kind; empty for judges that ask no model."""
    struck: tuple[Struck, ...] = ()
    """Statements whose citations did not hold; none of them is in scores or feedback."""
    citations_checked: int = 0
    """How many citations were looked up, over all members."""
    findings: tuple[Finding, ...] = ()
    """What speaks against this judgment, such as a claim that a fact contradicts; owner ``judge``."""


class Confidence(Frozen):
    """How far a judgment can be trusted."""

    value: float | None
    """0..1; None when nothing supports a number. It ranks drafts and promises nothing."""
    reason: str
    probabilities: dict[str, float] = Field(default_factory=dict)
    """What labels teach: by criterion id, and under `GRADE`, how probable it is that the draft is right.
    Empty where no calibrator was in force."""
    calibrator: str = ""
    """Content hash of the calibrator that they are of."""
