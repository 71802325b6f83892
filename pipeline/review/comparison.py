"""What several people said blind about one submission, side by side and without names."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pipeline.types import Answer, Assessment, hash_text

__all__ = ["Comparison", "Remark", "Vote", "compare_blind"]


@dataclass(frozen=True, slots=True)
class Vote:
    """What one person said blind.

    Attributes:
        letter: Stands for the person, in this comparison only.
        mine: Whether it is the one who looks.
        answers: Per criterion.
        note: For the author.
        passed: Where it overrules the rubric.
    """

    letter: str
    mine: bool
    answers: dict[str, Answer]
    note: str
    passed: bool | None


@dataclass(frozen=True, slots=True)
class Remark:
    """What one person said when all levels were seen.

    Attributes:
        text: The remark.
        at: When it was made.
        mine: Whether by the one who looks.
    """

    text: str
    at: datetime
    mine: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """What all said about one submission, without names.

    Attributes:
        review_id: Its review.
        criteria: Those that people level, where they differ most first.
        votes: By letter.
        remarks: Oldest first.
    """

    review_id: str
    criteria: tuple[str, ...]
    votes: tuple[Vote, ...]
    remarks: tuple[Remark, ...]

    def levels(self, criterion: str) -> tuple[int | None, ...]:
        """Return everybody's level, by letter; None where it could not be judged."""
        return tuple(
            answer.level if (answer := vote.answers.get(criterion)) is not None else None
            for vote in self.votes
        )

    def spread(self, criterion: str) -> int:
        """Return how far the lowest and the highest level lie apart."""
        given = [level for level in self.levels(criterion) if level is not None]
        return max(given) - min(given) if given else 0


def compare_blind(
    review_id: str,
    criteria: tuple[str, ...],
    blind: Mapping[str, Assessment],
    remarks: tuple[Remark, ...],
    *,
    looking: str,
    secret: str,
) -> Comparison:
    """Return what people said, in an order that tells nobody who they are.

    Args:
        review_id: The review.
        criteria: Those that people level.
        blind: What each said, by name.
        remarks: What was said about it since.
        looking: Name of the one who looks.
        secret: What the order is made with: colleagues know each other's names, and could work it out else.
    """
    # Another order with every submission: nobody is known by their letter.
    ordered = sorted(blind, key=lambda name: hash_text(secret, "letter", review_id, name))
    votes = tuple(
        Vote(
            letter=_letter(number),
            mine=name == looking,
            answers=dict(blind[name].answers),
            note=blind[name].note,
            passed=blind[name].passed,
        )
        for number, name in enumerate(ordered)
    )
    unsorted = Comparison(review_id, criteria, votes, remarks)
    return Comparison(review_id, tuple(sorted(criteria, key=unsorted.spread, reverse=True)), votes, remarks)


def _letter(number: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    letters = string.ascii_uppercase
    return letters[number] if number < 26 else letters[number // 26 - 1] + letters[number % 26]
