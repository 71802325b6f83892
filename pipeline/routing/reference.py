"""The reference: what the first reviewer of a submission says, and when a draft is wrong beside it.

The first reviewer is a random expert: what a second one says shows how far experts differ, and what an
adjudicator says was said knowing others' views. A person's grade is the rubric's own arithmetic over the
person's levels, with the levels that checks settled as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from pipeline.judge.scoring import grade_overall
from pipeline.review.labels import Label
from pipeline.types import Inspection, Judgment, Loss, OverallGrade, Purpose, Rubric

__all__ = ["Opinion", "form_opinion", "grade_by", "is_far", "is_wrong", "rank_reviewers"]

_FIRST, _SECOND, _CONSTRUCTED = range(3)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one person said blind of one submission.

    Attributes:
        rater: Who.
        levels: By criterion; None where it cannot be judged from the evidence. What was not asked is absent.
        value: The grade that follows, 0..1; None, as the next, where evidence or answers are too few.
        passed: Its pass or fail.
    """

    rater: str
    levels: Mapping[str, int | None]
    value: float | None
    passed: bool | None


def rank_reviewers(labels: Iterable[Label]) -> list[list[Label]]:
    """Return the labels of one submission by reviewer, the first reviewer's first.

    First is who gave the earliest label at the desk's first places or outside of the desk; then by name. The
    desk's second places come after all of these, and adjudications, gold items and norming sessions nowhere.
    Constructed labels count only where nobody came first. Of two labels by one person for one criterion the
    earlier counts.
    """
    by_rater: dict[str, dict[str, Label]] = {}
    for label in sorted(labels, key=lambda label: (label.at, label.grading_id)):
        if label.source != "desk" or label.is_independent:
            by_rater.setdefault(label.rater, {}).setdefault(label.criterion, label)
    ranked = sorted((list(found.values()) for found in by_rater.values()), key=_place_of)
    places = [_place_of(found)[0] for found in ranked]
    if _FIRST in places:
        return [found for found, place in zip(ranked, places, strict=True) if place != _CONSTRUCTED]
    return [found for found, place in zip(ranked, places, strict=True) if place == _CONSTRUCTED]


def grade_by(
    levels: Mapping[str, int | None], draft: Judgment, inspection: Inspection, rubric: Rubric
) -> OverallGrade:
    """Return the grade that a person's levels make in place of the judge's."""
    scores = [
        score if score.source != "judge" else score.model_copy(update={"level": levels.get(score.criterion)})
        for score in draft.scores
    ]
    return grade_overall(rubric, scores, inspection.reports)


def form_opinion(
    labels: Iterable[Label], draft: Judgment, inspection: Inspection, rubric: Rubric
) -> Opinion | None:
    """Return what one person's labels come to; None without any.

    There is a grade only if the person was asked about every criterion that the judge gave a level.
    """
    given = list(labels)
    if not given:
        return None
    levels = {label.criterion: label.level for label in given}
    drafted = {
        score.criterion for score in draft.scores if score.source == "judge" and score.level is not None
    }
    if not drafted <= levels.keys():
        return Opinion(given[0].rater, levels, None, None)
    grade = grade_by(levels, draft, inspection, rubric)
    return Opinion(given[0].rater, levels, grade.value, grade.passed)


def is_far(level: int, other: int, loss: Loss) -> bool:
    """Return whether two levels lie so far apart that one is wrong beside the other."""
    return abs(level - other) >= loss.apart


def is_wrong(levels: Mapping[str, int | None], draft: Judgment, true_passed: bool, loss: Loss) -> bool:
    """Return whether a draft's grade is wrong: it flips pass or fail, or one of its levels lies far off."""
    if loss.flips and draft.overall.passed != true_passed:
        return True
    for score in draft.scores:
        level = levels.get(score.criterion)
        if score.source != "judge" or score.level is None or level is None:
            continue
        if is_far(score.level, level, loss):
            return True
    return False


def _place_of(labels: list[Label]) -> tuple[int, datetime, str]:
    """Return where a reviewer comes in the order."""
    if labels[0].source == "constructed":
        return (_CONSTRUCTED, labels[0].at, labels[0].rater)
    firsts = [label for label in labels if label.purpose is not Purpose.SECOND]
    place = _FIRST if firsts else _SECOND
    return (place, min(label.at for label in firsts or labels), labels[0].rater)
