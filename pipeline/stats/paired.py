"""Two judges on the same items: is the new one no worse than the old one?

"No significant difference" is no answer, since too few items always give it. A new judge is non-inferior
once the upper end of the interval of its error rate minus the old one's lies below a margin.

Sources: Q. McNemar (1947), in its exact form; B. Efron, R. Tibshirani, "An Introduction to the Bootstrap"
(1993), chapter 12, for the bootstrap-t.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.agreement import MINIMUM, Estimate
from pipeline.stats.bootstrap import resample_sums
from pipeline.stats.intervals import Interval

__all__ = ["PairedComparison", "compare_errors", "estimate_difference", "estimate_share", "mcnemar_p_value"]

#: With fewer clusters that differ, draws of them say little about those that were not seen.
_FEW_DIFFER: Final = 3
#: A standard error that would be zero but for rounding, and how many of them such a draw lies away.
_ZERO: Final = 1e-9
_FAR: Final = 1e3


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """The errors of two judges on the same items.

    Attributes:
        n: Items.
        clusters: Independent groups among them.
        only_old: Items on which the old judge alone is wrong.
        only_new: Items on which the new judge alone is.
        p_value: McNemar's exact, two-sided; it takes items for independent.
        difference: Error rate of the new minus that of the old; above 0 the new one is worse.
        margin: How much worse is still no worse.
        verdict: ``non_inferior``, or ``not_shown``, which a larger sample may change.
        reason: Why, in one line.
    """

    n: int
    clusters: int
    only_old: int
    only_new: int
    p_value: float
    difference: Estimate
    margin: float
    verdict: Literal["non_inferior", "not_shown"]
    reason: str


def mcnemar_p_value(only_first: int, only_second: int) -> float:
    """Return McNemar's exact two-sided p-value: a fair coin's chance to be as uneven as this.

    Args:
        only_first: Items that the first judge alone got wrong.
        only_second: Items that the second alone did.

    Raises:
        ValueError: If a count is below 0.
    """
    if min(only_first, only_second) < 0:
        raise ValueError("counts are 0 or more")
    from scipy.special import bdtr

    total = only_first + only_second
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), total, 0.5))) if total else 1.0


def estimate_difference(
    old: ArrayLike,
    new: ArrayLike,
    clusters: Sequence[Hashable],
    *,
    seed: int = 0,
    confidence: float = 0.95,
    minimum: int = MINIMUM,
) -> Estimate:
    """Return the mean of new minus old with the bootstrap interval that draws whole clusters.

    It is the bootstrap-t, each draw's distance over its own standard error: rare errors are skewed, and
    percentiles then claim too much.
    Where all clusters have the same mean, no draw of them has any spread, and Student's t over the items
    stands in. Where fewer than three clusters differ at all, or all items wholly and one way, neither end
    lies nearer to the mean than what as many clusters without any difference would leave open:
    1 - ((1 - confidence) / 2)^(1 / clusters).

    Args:
        old: Losses in 0..1, such as errors, of the old judge; shape (n,).
        new: Of the new one, on the same items.
        clusters: What each item belongs to.
        seed: Of the draws.
        confidence: Two-sided coverage.
        minimum: With fewer items there is no number.

    Raises:
        ValueError: If the three are not as many, or a loss lies outside 0..1.
    """
    before, after = np.asarray(old, dtype=np.float64), np.asarray(new, dtype=np.float64)
    if not before.shape == after.shape == (len(clusters),):
        raise ValueError("every item needs a loss of each judge and a cluster")
    if not all(((losses >= 0) & (losses <= 1)).all() for losses in (before, after)):
        raise ValueError("a loss lies in 0..1")
    n = len(clusters)
    if n < minimum:
        return Estimate(None, n, reason=f"too few: {n} of at least {minimum}")
    mean = float((after - before).mean())
    numbers: dict[Hashable, int] = {}
    members = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    if len(numbers) < 2:
        return Estimate(mean, n)
    sums = np.zeros((len(numbers), 2))
    np.add.at(sums, members, np.column_stack([after - before, np.ones(n)]))
    if np.ptp(sums[:, 0] / sums[:, 1]) < _ZERO:
        reach = _reach_of_items(after - before, len(numbers), confidence)
        low, high = mean - reach, mean + reach
    else:
        low, high = _studentise(sums, mean, seed, confidence)
    few = int((sums[:, 0] != 0).sum()) < _FEW_DIFFER or abs(mean) == 1
    least = 1 - ((1 - confidence) / 2) ** (1 / len(numbers)) if few else 0.0
    ends = Interval(max(min(low, mean - least), -1.0), min(max(high, mean + least), 1.0))
    return Estimate(mean, n, ends)


def estimate_share(losses: ArrayLike, clusters: Sequence[Hashable]) -> Estimate:
    """Return the mean of losses with the interval of `estimate_difference`, at 95 %, that stays within 0..1.

    Args:
        losses: In 0..1; shape (n,).
        clusters: What each item belongs to.

    Raises:
        ValueError: If the two are not as many, or a loss lies outside 0..1.
    """
    found = estimate_difference(np.zeros(len(clusters)), losses, clusters)
    if found.interval is None:
        return found
    return replace(found, interval=Interval(max(found.interval.low, 0.0), found.interval.high))


def compare_errors(
    old: Sequence[bool],
    new: Sequence[bool],
    clusters: Sequence[Hashable],
    *,
    margin: float,
    seed: int = 0,
    confidence: float = 0.95,
    minimum: int = MINIMUM,
) -> PairedComparison:
    """Return whether the new judge errs at most `margin` more often than the old one, on the same items.

    Args:
        old: Whether the old judge is wrong, per item.
        new: Whether the new one is.
        clusters: What each item belongs to, such as its task.
        margin: Above 0, below 1.
        seed: Of the draws.
        confidence: Two-sided coverage of the interval whose upper end decides.
        minimum: With fewer items nothing is shown.

    Raises:
        ValueError: If the three are not as many, or the margin lies outside its range.
    """
    if not 0 < margin < 1:
        raise ValueError(f"the margin must lie between 0 and 1, got {margin}")
    difference = estimate_difference(
        np.array(old, dtype=bool),
        np.array(new, dtype=bool),
        clusters,
        seed=seed,
        confidence=confidence,
        minimum=minimum,
    )
    only_old = sum(bool(before) and not after for before, after in zip(old, new, strict=True))
    only_new = sum(bool(after) and not before for before, after in zip(old, new, strict=True))
    verdict: Literal["non_inferior", "not_shown"] = "not_shown"
    if difference.interval is None:
        reason = difference.reason or "one cluster alone says nothing about others"
    elif difference.interval.high < margin:
        verdict = "non_inferior"
        reason = f"it errs at most {difference.interval.high:.3f} more often, below the margin {margin:g}"
    else:
        reason = f"it may err {difference.interval.high:.3f} more often, not below the margin {margin:g}"
    return PairedComparison(
        n=len(clusters),
        clusters=len(set(clusters)),
        only_old=only_old,
        only_new=only_new,
        p_value=mcnemar_p_value(only_old, only_new),
        difference=difference,
        margin=margin,
        verdict=verdict,
        reason=reason,
    )


def _reach_of_items(differences: NDArray[np.float64], clusters: int, confidence: float) -> float:
    """Return half the length of Student's interval of a mean over items, shape (n,), by so many clusters."""
    from scipy.special import stdtrit

    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return float(stdtrit(clusters - 1, (1 + confidence) / 2)) * error


def _studentise(sums: NDArray[np.float64], mean: float, seed: int, confidence: float) -> tuple[float, float]:
    """Return the ends of the bootstrap-t interval of a ratio of sums over clusters.

    Args:
        sums: Of differences and of items, a row per cluster.
        mean: Of all differences.
        seed: Of the draws.
        confidence: Two-sided coverage.
    """
    squares = sums[:, :, None] * sums[:, None, :]
    draws = resample_sums(np.concatenate([sums, squares.reshape(-1, 4)], axis=1), seed=seed)
    means, errors = _ratio(draws)
    error = float(_ratio(np.concatenate([sums, squares.reshape(-1, 4)], axis=1).sum(axis=0)[None])[1][0])
    # A draw without any spread says no more than that the end may lie anywhere.
    apart = np.where(errors > _ZERO, (means - mean) / np.maximum(errors, _ZERO), np.sign(means - mean) * _FAR)
    below, above = np.quantile(apart, [(1 - confidence) / 2, (1 + confidence) / 2])
    return mean - float(above) * error, mean - float(below) * error


def _ratio(draws: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of each draw and its standard error, to first order."""
    total, items, total_squared, both, _, items_squared = draws.T
    means = total / items
    spread = total_squared - 2 * means * both + means**2 * items_squared
    return means, np.sqrt(np.maximum(spread, 0.0)) / items
