"""Bootstrap intervals of whatever follows from sums over independent groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.intervals import Interval

__all__ = ["bootstrap_interval", "percentile_interval", "resample_sums"]

_Array = NDArray[np.float64]

#: Bounds the memory: so many distinct tables are drawn at a time, over all resamples.
_PORTION: Final = 1_000_000
#: An interval is given where the measure exists for this share of the draws.
_DEFINED: Final = 0.9


def bootstrap_interval(
    tables: ArrayLike,
    measure: Callable[[_Array], _Array],
    *,
    seed: int = 0,
    resamples: int = 2000,
    confidence: float = 0.95,
) -> Interval | None:
    """Return the percentile bootstrap interval of a measure, resampling whole clusters.

    Args:
        tables: One table per cluster; what belongs together, such as all ratings of a submission, is drawn
            together.
        measure: From sums of tables, any number along the first axis, to one number each; NaN where there is
            none.
        seed: Of the draws: the same seed gives the same interval.
        resamples: How many draws.
        confidence: Two-sided coverage.

    Returns:
        None where there are fewer than two clusters, or the measure does not exist for over one draw in ten.
    """
    if len(np.asarray(tables)) < 2:
        return None
    return percentile_interval(measure(resample_sums(tables, seed=seed, resamples=resamples)), confidence)


def resample_sums(tables: ArrayLike, *, seed: int = 0, resamples: int = 2000) -> _Array:
    """Return, per draw of as many clusters with replacement, the sum of their tables.

    The order of the clusters makes no difference.

    Raises:
        ValueError: If there is no cluster.
    """
    stacked = np.asarray(tables, dtype=np.float64)
    clusters = len(stacked)
    if not clusters:
        raise ValueError("there is nothing to draw from")
    # Equal tables are exchangeable: how often each distinct one is drawn is all that matters.
    distinct, times = np.unique(stacked.reshape(clusters, -1), axis=0, return_counts=True)
    generator = np.random.default_rng(seed)
    sums = np.empty((resamples, distinct.shape[1]))
    # In portions, so that memory stays flat with many clusters.
    portion = max(1, _PORTION // len(distinct))
    for start in range(0, resamples, portion):
        rows = min(portion, resamples - start)
        drawn = generator.multinomial(clusters, times / clusters, size=rows)
        sums[start : start + rows] = drawn.astype(np.float64) @ distinct
    return sums.reshape(resamples, *stacked.shape[1:])


def percentile_interval(values: _Array, confidence: float = 0.95) -> Interval | None:
    """Return what the middle `confidence` of `values` spans; None where over one in ten is NaN."""
    defined = values[~np.isnan(values)]
    if len(defined) < _DEFINED * len(values):
        return None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))
