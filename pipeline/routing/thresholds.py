"""Thresholds: which drafts may stand at all, and where a line may be drawn, before labels that certify count.

Which tasks and authors are covered is said by labels of the fit split. Were it the labels that certify, the
rare ones among those covered would be there more often than in the stream, and what is tested would not be
what stands alone: where rare authors are the better ones, that promises too much.

Where every level of a draft needs a certificate of its own, a grade stands if all of them are sure enough.
Levels of one criterion that are sure beside others that are not stand nowhere, so that how often they are
wrong says nothing. So thresholds of all criteria move together, along the share of the stream that is below a
draft in that criterion in which it is least sure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.routing.fitting import Fitted, probabilities_of
from pipeline.routing.observations import Unit
from pipeline.stats.selective import grid_of
from pipeline.types import GRADE, Calibrator, RoutingPolicy

__all__ = ["Basis", "Covered", "can_stand", "find_covered", "set_apart", "set_together"]

_Array = NDArray[np.float64]

#: Shares of a stream carry rounding errors, which must not lift a place to the next.
_ROUNDING: Final = 1e-9


class Covered(NamedTuple):
    """Whose drafts may stand alone at all."""

    tasks: frozenset[tuple[str, str]] = frozenset()
    """Ids, each with the content hash of a version."""
    authors: frozenset[str] = frozenset()

    def select(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units that are covered."""
        return [unit for unit in units if self._has(unit)]

    def _has(self, unit: Unit) -> bool:
        return (unit.task, unit.task_version) in self.tasks and unit.author in self.authors


@dataclass(frozen=True, slots=True)
class Basis:
    """What is known of a criterion without any label that certifies.

    A score is what thresholds are compared with: the probability, or where criteria move together the share
    of the stream below the draft where it is least sure.

    Attributes:
        criterion: Id of a criterion, or `GRADE`.
        stream: Scores of drafts that are covered and do not certify.
        share: Share of these among all drafts that do not certify.
        grid: Scores that are tried, the strictest first.
        thresholds: The probability of this criterion that each of these stands for.
        ordered: Where criteria move together, by criterion all probabilities of the stream, ascending.
    """

    criterion: str
    stream: _Array
    share: float
    grid: tuple[float, ...]
    thresholds: tuple[float, ...]
    ordered: Mapping[str, _Array] | None = None

    def score(self, calibrator: Calibrator, units: Sequence[Unit]) -> _Array:
        """Return the scores of drafts that have the criterion, of shape (units,)."""
        if self.ordered is None:
            return probabilities_of(calibrator, units, self.criterion)
        return _rank_least(calibrator, units, self.ordered)

    def coverage(self, score: float) -> float:
        """Return the share of all drafts that stands alone from a score of the grid on."""
        return self.share * float((self.stream >= score).mean())


def find_covered(fitted: Fitted, policy: RoutingPolicy) -> Covered:
    """Return the versions of tasks with labels enough, and the authors with any, of the fit split."""
    tasks = Counter((unit.task, unit.task_version) for unit in fitted.units)
    return Covered(
        frozenset(task for task, n in tasks.items() if n >= policy.fewest_per_task),
        frozenset(unit.author for unit in fitted.units),
    )


def set_apart(fitted: Fitted, others: Sequence[Unit], covered: Covered, criterion: str) -> Basis:
    """Return the basis of a criterion whose certificate is for itself.

    Args:
        fitted: Gives probabilities.
        others: Drafts that do not certify.
        covered: Which of them may stand.
        criterion: Id of a criterion, or `GRADE`.
    """
    drafted = [unit for unit in others if criterion in unit.features]
    if fitted.calibrator is None or not drafted:
        return Basis(criterion, np.empty(0), 0.0, (), ())
    found = probabilities_of(fitted.calibrator, covered.select(drafted), criterion)
    stream = found[np.isfinite(found)]
    grid = grid_of(stream)
    return Basis(criterion, stream, len(stream) / len(drafted), grid, grid)


def set_together(
    fitted: Fitted, others: Sequence[Unit], covered: Covered, criteria: Sequence[str]
) -> tuple[Basis, ...]:
    """Return the bases of criteria that a grade needs all of; drafts with a level of another never stand.

    Args:
        fitted: Gives probabilities.
        others: Drafts that do not certify.
        covered: Which of them may stand.
        criteria: Each has a curve.
    """
    assert fitted.calibrator is not None
    whole = can_stand(covered.select(others), criteria)
    ordered: dict[str, _Array] = {}
    for criterion in criteria:
        found = probabilities_of(fitted.calibrator, whole, criterion)
        ordered[criterion] = np.sort(found[np.isfinite(found)])
    scores = _rank_least(fitted.calibrator, whole, ordered)
    grid = grid_of(scores)
    bases = []
    for criterion in criteria:
        having = np.array([criterion in unit.features for unit in whole], dtype=np.bool_)
        drafted = sum(criterion in unit.features for unit in others)
        values = ordered[criterion]
        places = [max(int(np.ceil(score * len(values) - _ROUNDING)) - 1, 0) for score in grid]
        thresholds = tuple(float(values[place]) for place in places) if len(values) else ()
        own = grid if len(values) else ()
        share = len(values) / drafted if drafted else 0.0
        bases.append(Basis(criterion, scores[having], share, own, thresholds, ordered))
    return tuple(bases)


def can_stand(units: Sequence[Unit], criteria: Sequence[str]) -> list[Unit]:
    """Return the units that have a grade, and levels of no other criteria."""
    names = {*criteria, GRADE}
    return [unit for unit in units if GRADE in unit.features and unit.features.keys() <= names]


def _rank_least(calibrator: Calibrator, units: Sequence[Unit], ordered: Mapping[str, _Array]) -> _Array:
    """Return, of shape (units,), the share of the stream at or below each in its least sure criterion."""
    least = np.full(len(units), np.inf)
    for criterion, values in ordered.items():
        found = probabilities_of(calibrator, units, criterion)
        known = np.isfinite(found)
        if len(values):
            ranks = np.searchsorted(values, found[known], side="right") / len(values)
            least[known] = np.minimum(least[known], ranks)
    # What no criterion speaks of is never sure.
    return np.where(np.isfinite(least), least, -1.0)
