"""The test of `selective` for items that come in clusters, such as tasks, which are the sampled units.

Errors of one task are alike, so that items count for less than they are; the binomial test then certifies far
more often than it may (``python -m evals.certificates.clustered``). Here the risk above a threshold is a
ratio of sums over tasks, tested with its linearised standard error and Student's t, with three precautions:

* One task of mean size that is wholly wrong is added to those seen: few errors say little of how they spread.
* The degrees of freedom come from Kish's effective number of tasks, (sum N)^2 / sum N^2, less one.
* The p-value is never below (1 - alpha)^tasks, tasks being Kish's number: where a task is wholly right or
  wholly wrong, no spotless sample proves more.

It is an approximation, put together after seven others had been tried on streams that were made up. An
effective sample size after E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998), came to nearly twice
its level where tasks are wholly right or wrong, and to three times it where larger tasks are the worse ones.
Betting on the sums by task, which is valid given a limit to a task's size, certified next to nothing on tasks
of unequal sizes. This test kept its level on those streams. It does not where errors sit in a few of the
largest tasks alone, which a sample of few tasks often misses: then certificates rest on tasks that were seen,
and others have to go to people.

What it costs: with fewer than ln(level) / ln(1 - alpha) effective tasks it certifies nothing, whatever their
labels say.

Sources: W. G. Cochran, "Sampling Techniques" (1977), chapter 6, for the ratio; L. Kish, "Survey Sampling"
(1965).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.selective import Certified, Evidence, check_sample, starts_of, walk

__all__ = ["certify_by_cluster", "effective_clusters", "fewest_clusters", "weigh_clusters"]

_Array = NDArray[np.float64]


def certify_by_cluster(
    confidence: ArrayLike,
    error: ArrayLike,
    clusters: Sequence[Hashable],
    grid: Sequence[float],
    *,
    alpha: float,
    level: float,
    chains: int = 2,
) -> Certified:
    """Return the lowest threshold whose risk is at most alpha over tasks like those that were drawn.

    Args:
        confidence: Of shape (n,): of the labelled items.
        error: Of shape (n,): 1 where the item is wrong, else 0.
        clusters: Of each item its task; tasks are independent, items of one need not be.
        grid: Thresholds, the strictest first, fixed before labels were seen.
        alpha: Highest share of wrong ones among accepted.
        level: Probability that the answer may be wrong with; shared equally by the chains.
        chains: How many; they start at equal distances along the grid.

    Raises:
        ValueError: If lengths differ, an error is neither 0 nor 1, the grid does not fall, or a rate lies
            outside (0, 1).
    """
    sure, wrong = check_sample(confidence, error, grid, alpha, level)
    if len(clusters) != len(sure):
        raise ValueError("every labelled item needs a cluster")
    numbers: dict[Hashable, int] = {}
    members = np.array([numbers.setdefault(name, len(numbers)) for name in clusters], dtype=np.int64)
    share = level / max(1, len(starts_of(len(grid), chains)))

    def test(position: int) -> Evidence:
        accepted = sure >= grid[position]
        sizes = np.bincount(members[accepted], minlength=len(numbers))
        errors = np.bincount(members[accepted], weights=wrong[accepted], minlength=len(numbers))
        return weigh_clusters(errors, sizes, alpha=alpha, level=share)

    return walk(grid, test, level=level, chains=chains, n=len(sure))


def weigh_clusters(errors: ArrayLike, sizes: ArrayLike, *, alpha: float, level: float) -> Evidence:
    """Return what the errors of each cluster say of "the risk is alpha or more".

    Args:
        errors: Of shape (clusters,): wrong items of each.
        sizes: Of shape (clusters,): items of each; empty ones are left out.
        alpha: Highest risk.
        level: Of this one test, for the bound.
    """
    counts, wrong = np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    counts, wrong = counts[counts > 0], wrong[counts > 0]
    clusters, n, total = len(counts), int(counts.sum()), int(wrong.sum())
    if clusters < 2:
        return Evidence(n, total, 1.0, 1.0, clusters)
    from scipy.special import stdtr, stdtrit

    spotless = effective_clusters(counts)
    mean = counts.mean()
    counts, wrong = np.append(counts, mean), np.append(wrong, mean)
    rate = float(wrong.sum() / counts.sum())
    residuals = wrong - rate * counts
    spread = math.sqrt((clusters + 1) / clusters * float(residuals @ residuals)) / float(counts.sum())
    # Nothing but wrong items leaves no spread, and two very unequal tasks no freedom.
    if spread == 0 or effective_clusters(counts) <= 1:
        return Evidence(n, total, 1.0, 1.0, clusters)
    freedom = effective_clusters(counts) - 1
    p_value = max(float(stdtr(freedom, (rate - alpha) / spread)), (1 - alpha) ** spotless)
    bound = max(rate - float(stdtrit(freedom, level)) * spread, 1 - level ** (1 / spotless))
    return Evidence(n, total, p_value, min(1.0, bound), clusters)


def effective_clusters(sizes: ArrayLike) -> float:
    """Return Kish's (sum N)^2 / sum N^2: the number of clusters, fewer where sizes differ; 0 without any."""
    counts = np.asarray(sizes, dtype=np.float64)
    squares = float(counts @ counts)
    return float(counts.sum()) ** 2 / squares if squares else 0.0


def fewest_clusters(alpha: float, level: float) -> int:
    """Return below how many clusters of equal size nothing can be certified: ln(level) / ln(1 - alpha).

    Args:
        alpha: Highest share of wrong ones among accepted.
        level: Of one chain.

    Raises:
        ValueError: If a rate lies outside (0, 1).
    """
    if not (0 < alpha < 1 and 0 < level < 1):
        raise ValueError(f"alpha and level must lie between 0 and 1, got {alpha} and {level}")
    return math.ceil(math.log(level) / math.log1p(-alpha))
