"""A rubric: criteria with anchored levels, and how they make one grade."""

from __future__ import annotations

from typing import Literal

from pipeline.types.model import Frozen

__all__ = ["Criterion", "Level", "Overall", "Rubric", "Scale"]


class Level(Frozen):
    """One step of a criterion, from 0 (worst) to 4 (best)."""

    level: int
    anchor: str
    """What one sees at this level."""


class Scale(Frozen):
    """How a fact becomes a level, for criteria that a check settles."""

    fact: str
    direction: Literal["at_most", "at_least"]
    steps: dict[int, float]
    """Level to bound; the best level whose bound holds applies, else 0."""


class Criterion(Frozen):
    """One question, one kind of evidence."""

    id: str
    title: str
    question: str
    weight: float
    source: str
    """``judge`` or ``check:<id>``."""
    evidence: tuple[str, ...]
    """What it is judged from: fact ids, or ``code``, ``source``, ``statement``."""
    levels: tuple[Level, ...]
    scale: Scale | None = None
    """For ``check:`` criteria only; without one a passed check is level 4 and a failed one level 0."""

    @property
    def check(self) -> str | None:
        """Id of the check that settles it, or None when a judge does."""
        return self.source.removeprefix("check:") if self.source.startswith("check:") else None


class Overall(Frozen):
    """How levels become one number in 0..1 and a pass or fail."""

    gates: tuple[str, ...]
    """Ids of checks; one that failed makes the grade 0 and a fail, whatever the rest says."""
    pass_mark: float
    """Smallest overall number that passes."""
    minimum_scored_weight: float
    """Share of the weight that must be scored; below it there is no overall number."""


class Rubric(Frozen):
    """One version of a rubric; a published version is never edited."""

    id: str
    version: str
    """``v1``, ``v2``, ..."""
    title: str
    purpose: str
    criteria: tuple[Criterion, ...]
    overall: Overall
