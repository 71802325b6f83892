"""The random slice of grades that stand alone: how often a person, blind, disagrees with them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.review.concordance import Drafts
from pipeline.review.labels import Label
from pipeline.stats.agreement import MINIMUM, Estimate, proportion
from pipeline.stats.intervals import wilson_interval
from pipeline.types import Purpose

__all__ = ["AuditSlice", "measure_audit"]

#: Levels this far apart are more than a matter of taste: an adjudicator would be asked.
_FAR: Final = 2
#: What was drawn with less was not drawn by this desk: its weight would drown all others.
_SMALLEST: Final = 1e-6


@dataclass(frozen=True, slots=True)
class AuditSlice:
    """How often people disagree with grades that stand alone, from a random draw of known probability.

    Attributes:
        differs: Share of accepted grades where any level that the judge gave is another blind.
        far: Share where one lies two or more levels apart.
        unequal: Whether the draws had different probabilities, so that each is weighted by its inverse.
        left_out: Audits without a known probability or without a level to compare.
    """

    differs: Estimate
    far: Estimate
    unequal: bool
    left_out: int


def measure_audit(labels: Iterable[Label], drafts: Drafts) -> AuditSlice:
    """Return how often the first, blind review of an audited grade disagrees with the judge's levels."""
    distances: dict[str, list[int]] = defaultdict(list)
    probabilities: dict[str, float | None] = {}
    for label in labels:
        if label.sampling == "audit" and label.purpose is Purpose.FIRST:
            probabilities[label.review_id] = label.probability
            draft = drafts.get(label.grading_id, {})
            if label.level is not None and label.criterion in draft:
                distances[label.review_id].append(abs(label.level - draft[label.criterion]))
    drawn = [
        (max(distances[name]), probability)
        for name, probability in probabilities.items()
        if probability is not None and probability >= _SMALLEST and distances[name]
    ]
    weights = [1 / probability for _, probability in drawn]
    return AuditSlice(
        differs=_weighted_rate([distance > 0 for distance, _ in drawn], weights),
        far=_weighted_rate([distance >= _FAR for distance, _ in drawn], weights),
        unequal=len(set(weights)) > 1,
        left_out=len(probabilities) - len(drawn),
    )


def _weighted_rate(hits: Sequence[bool], weights: Sequence[float]) -> Estimate:
    """Return the Horvitz-Thompson share, with the sum of weights for the unknown total (Hajek's ratio).

    Its interval is Wilson's at Kish's effective sample size; with equal weights that is the plain one.
    """
    n = len(hits)
    if n < MINIMUM or len(set(weights)) == 1:
        return proportion(sum(hits), n)
    share = math.fsum(w for hit, w in zip(hits, weights, strict=True) if hit) / math.fsum(weights)
    effective = int(math.fsum(weights) ** 2 / math.fsum(w * w for w in weights))
    return Estimate(share, n, wilson_interval(min(effective, round(share * effective)), effective))
