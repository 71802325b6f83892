"""What observations show of a judge: agreement beside people's own, and what its probabilities are worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.routing.calibration_result import PassTable
from pipeline.routing.observations import Unit
from pipeline.routing.reference import Opinion
from pipeline.routing.truth import Judged, Population
from pipeline.stats.agreement import MISSING, PairAgreement, compare_pairs, proportion
from pipeline.stats.alternative_annotator import AnnotatorTest, compare_with_annotators
from pipeline.types import GRADE

__all__ = ["compare_judge", "compare_people", "count_passes", "describe_population", "weigh_annotators"]

#: Every rubric's levels lie in 0..4; of a grade fail is 0 and pass is 1.
_LEVELS: Final = 5
_OUTCOMES: Final = 2


def compare_judge(units: Sequence[Unit], criterion: str) -> PairAgreement:
    """Return how far the judge agrees with first reviewers; its side comes first.

    Args:
        units: Labelled or not; those without a level from both are left out.
        criterion: Its id, or `GRADE` for pass or fail.
    """
    return _compare(
        [(_of_judge(unit, criterion), _of_person(unit.first, criterion), unit.task) for unit in units],
        criterion,
    )


def compare_people(units: Sequence[Unit], criterion: str) -> PairAgreement:
    """Return how far second reviewers agree with first ones; the second's side comes first."""
    return _compare(
        [
            (_of_person(unit.second, criterion), _of_person(unit.first, criterion), unit.task)
            for unit in units
        ],
        criterion,
    )


def weigh_annotators(units: Sequence[Unit], criterion: str) -> AnnotatorTest:
    """Return whether the judge may stand in for one of the people who labelled."""
    names = sorted(
        {opinion.rater for unit in units for opinion in (unit.first, unit.second) if opinion is not None}
    )
    places = {name: place for place, name in enumerate(names)}
    people = np.full((len(units), len(names)), MISSING, dtype=np.int64)
    for row, unit in enumerate(units):
        for opinion in (unit.first, unit.second):
            if opinion is not None:
                people[row, places[opinion.rater]] = _of_person(opinion, criterion)
    judge = np.array([_of_judge(unit, criterion) for unit in units], dtype=np.int64)
    return compare_with_annotators(judge, people)


def count_passes(agreement: PairAgreement) -> PassTable:
    """Return sensitivity and specificity out of the agreement on pass or fail."""
    (both_fail, false_fail), (false_pass, both_pass) = agreement.table
    return PassTable(
        sensitivity=proportion(both_pass, both_pass + false_fail),
        specificity=proportion(both_fail, both_fail + false_pass),
    )


def describe_population(units: Sequence[Unit], accepted: frozenset[str]) -> Population:
    """Return the drafts of one scope as `pipeline.routing.truth` takes them.

    Constructed labels say nothing of true quality and are left out.

    Args:
        units: Of one scope.
        accepted: Gradings whose grades stand alone.
    """
    judged, unjudged = [], 0
    for unit in units:
        if unit.value is None or unit.passed is None:
            continue
        stands = unit.grading_id in accepted
        first = None if unit.constructed else unit.first
        if first is None or first.value is None or first.passed is None:
            unjudged += first is not None
            judged.append(Judged(unit.grading_id, stands, unit.value, unit.passed))
            continue
        label = unit.labels[0]
        judged.append(
            Judged(
                grading_id=unit.grading_id,
                accepted=stands,
                value=unit.value,
                passed=unit.passed,
                true_value=first.value,
                true_passed=first.passed,
                wrong=unit.wrong.get(GRADE),
                labelled_at=label.at,
                # Chance drew another grading of it, or none: for this one no chance is known.
                probability=label.probability if label.grading_id == unit.grading_id else None,
            )
        )
    return Population(tuple(judged), {}, unjudged)


def _compare(pairs: Sequence[tuple[int, int, str]], criterion: str) -> PairAgreement:
    categories = _OUTCOMES if criterion == GRADE else _LEVELS
    return compare_pairs(
        [first for first, _, _ in pairs],
        [second for _, second, _ in pairs],
        [task for _, _, task in pairs],
        categories,
    )


def _of_judge(unit: Unit, criterion: str) -> int:
    if criterion == GRADE:
        return MISSING if unit.passed is None else int(unit.passed)
    return _level(unit.levels.get(criterion))


def _of_person(opinion: Opinion | None, criterion: str) -> int:
    if opinion is None:
        return MISSING
    if criterion == GRADE:
        return MISSING if opinion.passed is None else int(opinion.passed)
    return _level(opinion.levels.get(criterion))


def _level(level: int | None) -> int:
    # A level that no rubric has is no reason to lose the page: it counts as missing.
    return level if level is not None and 0 <= level < _LEVELS else MISSING
