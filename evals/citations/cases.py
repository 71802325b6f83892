"""Honest drafts on the shipped solutions: what a good reviewer would write, with citations that all hold.

Each file in honest/ is self-contained: the code, the facts and reports that the grader established for it
when the case was written, and a draft whose prose was written by hand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pipeline.types import CheckReport, Citation, Fact, FeedbackItem, Score, Verdict

__all__ = ["HONEST", "Case", "Statement", "load_cases"]

HONEST: Final = Path(__file__).parent / "honest"


@dataclass(frozen=True, slots=True)
class Statement:
    """A score's reason or a remark, with its citations."""

    place: str
    part: str
    text: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A submission, what is known about it, and a draft on it."""

    name: str
    task: str
    rubric: str
    verdict: Verdict
    code: str
    facts: tuple[Fact, ...]
    reports: tuple[CheckReport, ...]
    scores: tuple[Score, ...]
    feedback: tuple[FeedbackItem, ...]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Every statement of the draft, named as `Struck.place` names them."""
        return (
            *(Statement(f"score {s.criterion}", "score", s.reason, s.citations) for s in self.scores),
            *(
                Statement(f"feedback item {number}", item.part, item.text, item.citations)
                for number, item in enumerate(self.feedback, start=1)
            ),
        )

    def with_statement(self, place: str, text: str, citations: tuple[Citation, ...]) -> Case:
        """Return the case with one statement of its draft exchanged."""
        scores = tuple(
            score.model_copy(update={"reason": text, "citations": citations})
            if place == f"score {score.criterion}"
            else score
            for score in self.scores
        )
        feedback = tuple(
            item.model_copy(update={"text": text, "citations": citations})
            if place == f"feedback item {number}"
            else item
            for number, item in enumerate(self.feedback, start=1)
        )
        return replace(self, scores=scores, feedback=feedback)


def load_cases() -> tuple[Case, ...]:
    """Return the honest cases by name."""
    return tuple(_load(path) for path in sorted(HONEST.glob("*.json")))


def _load(path: Path) -> Case:
    stored = json.loads(path.read_text())
    return Case(
        name=path.stem,
        task=stored["task"],
        rubric=stored["rubric"],
        verdict=Verdict(stored["verdict"]),
        code=stored["code"],
        facts=tuple(map(Fact.model_validate, stored["facts"])),
        reports=tuple(map(CheckReport.model_validate, stored["reports"])),
        scores=tuple(map(Score.model_validate, stored["draft"]["scores"])),
        feedback=tuple(map(FeedbackItem.model_validate, stored["draft"]["feedback"])),
    )
