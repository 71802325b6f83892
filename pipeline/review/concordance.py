"""Who agrees with whom: people with people, and the judge with people, criterion by criterion."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pipeline.review.labels import Label
from pipeline.stats.agreement import MINIMUM, MISSING, PairAgreement, compare_pairs
from pipeline.types import Purpose, Rubric

__all__ = [
    "CriterionAgreement",
    "Drafts",
    "ReviewerSpread",
    "Rubrics",
    "compare_judge",
    "compare_people",
    "compare_reviewers",
]

#: The judge's own levels: grading id to criterion to level.
Drafts = Mapping[str, Mapping[str, int]]
#: Content hash to rubric, as far as the store has it.
Rubrics = Mapping[str, Rubric | None]

#: A spread over fewer pairs of reviewers would tell one about another.
_ENOUGH_PAIRS: Final = 3
#: Every rubric's levels lie in 0..4.
_LEVELS: Final = 5


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """How far two sides agree on one criterion of one version of a rubric.

    Attributes:
        rubric: Id and version, such as ``performance_quality v1``; of one that is lost the hash's beginning.
        criterion: Id of the criterion.
        unjudged: Labels that say it cannot be judged from the evidence; in none of the figures.
        agreement: The figures, with intervals that draw whole submissions.
    """

    rubric: str
    criterion: str
    unjudged: int
    agreement: PairAgreement


@dataclass(frozen=True, slots=True)
class ReviewerSpread:
    """How much pairs of reviewers differ in how far they agree; nobody is named.

    Attributes:
        pairs: Pairs of reviewers with any answer in common.
        measured: Those with enough answers in common.
        lowest: Smallest share of equal levels among these; None, as the others, where they are too few.
        median: Of all of these.
        highest: Largest.
        reason: Why there are none.
    """

    pairs: int
    measured: int
    lowest: float | None
    median: float | None
    highest: float | None
    reason: str = ""


def compare_people(labels: Iterable[Label], rubrics: Rubrics) -> list[CriterionAgreement]:
    """Return how far first and second reviewers agree: the most that a judge can be asked for.

    Only their own blind views count: no adjudications, gold items or norming sessions.
    """
    by_criterion = _group(label for label in labels if label.is_independent)
    compared = []
    for (rubric, criterion), group in by_criterion.items():
        pairs = [
            (first.level, second.level, first.submission_id or first.review_id)
            for first, second in pair_up(group)
            if first.level is not None and second.level is not None
        ]
        compared.append(_compare(rubric, criterion, group, pairs, rubrics))
    return compared


def compare_judge(labels: Iterable[Label], drafts: Drafts, rubrics: Rubrics) -> list[CriterionAgreement]:
    """Return how far the judge agrees with people; its side comes first, so a bias above 0 is lenience.

    Of a submission that two reviewed both count; the intervals draw whole submissions.
    """
    compared = []
    for (rubric, criterion), group in _group(labels).items():
        pairs = [
            (drafts[label.grading_id][criterion], label.level, label.submission_id or label.review_id)
            for label in group
            if label.level is not None and criterion in drafts.get(label.grading_id, {})
        ]
        compared.append(_compare(rubric, criterion, group, pairs, rubrics))
    return compared


def compare_reviewers(labels: Iterable[Label]) -> ReviewerSpread:
    """Return how far pairs of reviewers agree over all criteria, in aggregate."""
    common: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for group in _group(label for label in labels if label.is_independent).values():
        for first, second in pair_up(group):
            if first.level is not None and second.level is not None:
                one, other = sorted((first.rater, second.rater))
                common[one, other].append(first.level == second.level)
    shares = [sum(equal) / len(equal) for equal in common.values() if len(equal) >= MINIMUM]
    if len(shares) < _ENOUGH_PAIRS:
        reason = (
            f"too few: {len(shares)} of at least {_ENOUGH_PAIRS} pairs of reviewers have"
            f" {MINIMUM} answers in common"
        )
        return ReviewerSpread(len(common), len(shares), None, None, None, reason)
    return ReviewerSpread(len(common), len(shares), min(shares), statistics.median(shares), max(shares))


def _group(labels: Iterable[Label]) -> dict[tuple[str, str], list[Label]]:
    """Return labels by rubric and criterion, in the order of their names."""
    groups: dict[tuple[str, str], list[Label]] = defaultdict(list)
    for label in labels:
        groups[label.rubric, label.criterion].append(label)
    return dict(sorted(groups.items()))


def pair_up(group: Iterable[Label]) -> Iterable[tuple[Label, Label]]:
    """Return every first label with the second labels of the same review."""
    by_review: dict[str, list[Label]] = defaultdict(list)
    for label in group:
        by_review[label.review_id].append(label)
    for labels in by_review.values():
        firsts = [label for label in labels if label.purpose is Purpose.FIRST]
        seconds = [label for label in labels if label.purpose is Purpose.SECOND]
        for first, second in itertools.product(firsts, seconds):
            if first.rater != second.rater:
                yield first, second


def _compare(
    rubric: str,
    criterion: str,
    group: list[Label],
    pairs: list[tuple[int, int, str]],
    rubrics: Rubrics,
) -> CriterionAgreement:
    known = rubrics.get(rubric)
    name = f"{known.id} {known.version}" if known is not None else rubric[:12]
    # A level that no rubric has is no reason to lose the page: it counts as missing.
    first = [_level(level) for level, _, _ in pairs]
    second = [_level(level) for _, level, _ in pairs]
    return CriterionAgreement(
        rubric=name,
        criterion=criterion,
        unjudged=sum(label.level is None for label in group),
        agreement=compare_pairs(first, second, [cluster for _, _, cluster in pairs], _LEVELS),
    )


def _level(level: int) -> int:
    return level if 0 <= level < _LEVELS else MISSING
