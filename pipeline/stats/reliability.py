"""How good probabilities of being right are: whether they hold, and whether they tell right from wrong.

A probability goes with each of n things, and whether that thing proved right. Things of one cluster, such as
the drafts for one task, are not independent: intervals resample whole clusters. Nothing is ever NaN: a
measure that does not exist, or rests on too little, says why.

Sources: G. W. Brier, Monthly Weather Review 78 (1950); A. H. Murphy, Journal of Applied Meteorology 12
(1973), for the parts of the Brier score, and D. B. Stephenson, C. A. S. Coelho and I. T. Jolliffe, Weather
and Forecasting 23 (2008), for what bins add to them; M. P. Naeini, G. F. Cooper and M. Hauskrecht, AAAI
(2015), for the expected calibration error; N. A. Obuchowski, Biometrics 53 (1997), for the variance of the
area under the ROC curve in clusters; Y. Geifman and R. El-Yaniv, NeurIPS (2017), for risk and coverage.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.agreement import MINIMUM, Estimate
from pipeline.stats.bootstrap import percentile_interval, resample_sums
from pipeline.stats.intervals import Interval, wilson_interval

__all__ = ["Bin", "Reliability", "RiskCoverage", "measure_reliability"]

_Array = NDArray[np.float64]
_Numbers = NDArray[np.int64]

#: A probability of exactly 0 or 1 that proves wrong would cost without limit.
_EDGE: Final = 1e-6
#: More clusters than this are merged at random before they are resampled.
_MOST_CLUSTERS: Final = 1000


@dataclass(frozen=True, slots=True)
class Bin:
    """Things that were about equally sure: one point of a reliability diagram.

    Attributes:
        confidence: Their mean probability.
        right: Share of them that proved right.
        n: How many there are.
        interval: Wilson's, of `right`, as if they were independent.
    """

    confidence: float
    right: float
    n: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """What accepting everything from a probability on would cost: one point per distinct probability.

    Attributes:
        thresholds: Falling.
        coverage: Share of things at or above the threshold; rising to 1.
        risk: Share of these that is wrong.
    """

    thresholds: tuple[float, ...]
    coverage: tuple[float, ...]
    risk: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reliability:
    """All that is said of one set of probabilities; of fewer than `MINIMUM` things, only how many there are.

    Attributes:
        n: Things.
        clusters: Independent groups among them.
        right: Share that proved right.
        calibration_error: Mean distance between probability and share right, over bins of equal mass. It is
            above 0 even for perfect probabilities, the more so the fewer things there are; its interval
            allows for that and is rather too wide than too narrow.
        brier: Mean squared distance between probability and outcome; reliability - resolution + uncertainty.
        reliability: What probabilities that do not hold add to it.
        resolution: What telling right from wrong takes off it. Within bins, variation that follows outcomes
            counts here too, which makes the three parts add up for any probabilities.
        uncertainty: What saying the overall share every time would cost.
        log_loss: Mean of -ln of the probability of what happened, probabilities kept 1e-6 from 0 and 1.
        auroc: Chance that a right thing has a higher probability than a wrong one, ties counting half.
        aurc: Mean risk over all coverages, tied things in random order; lower is better.
        diagram: Bins, from the least sure on.
        curve: Risk beside coverage.
    """

    n: int
    clusters: int
    right: Estimate
    calibration_error: Estimate
    brier: Estimate
    reliability: Estimate
    resolution: Estimate
    uncertainty: Estimate
    log_loss: Estimate
    auroc: Estimate
    aurc: Estimate
    diagram: tuple[Bin, ...]
    curve: RiskCoverage


def measure_reliability(
    confidence: ArrayLike,
    right: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    bins: int = 10,
    seed: int = 0,
    minimum: int = MINIMUM,
) -> Reliability:
    """Return how good probabilities are, with intervals at 95 % where there are two clusters or more.

    Args:
        confidence: Probabilities that each thing is right, shape (n,).
        right: Whether it is, 0 or 1, shape (n,).
        clusters: What each thing belongs to; None where all are independent.
        bins: Most bins. They hold equally many things as nearly as ties allow, which never straddle two; of
            at most so many distinct probabilities each has its own.
        seed: Of the bootstrap.
        minimum: Fewest things to say anything about.

    Raises:
        ValueError: If the three are not as many, a probability lies outside 0..1 or an outcome is not 0 or 1.
    """
    sure, hit = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    _check(sure, hit, clusters, bins)
    n = len(sure)
    groups = _number(clusters, n)
    count = int(groups.max()) + 1 if n else 0
    if n < max(minimum, 1):
        few = Estimate(None, n, reason=f"too few: {n} of at least {minimum}")
        return Reliability(n, count, *(few,) * 9, diagram=(), curve=RiskCoverage((), (), ()))
    places = _bin(sure, bins)
    merged = _merge(groups, count, seed)
    chance = np.clip(np.where(hit == 1, sure, 1 - sure), _EDGE, 1.0)
    squared, logarithms = (sure - hit) ** 2, -np.log(chance)
    means = _estimate_means(np.stack([hit, squared, logarithms], axis=1), merged, seed)
    reliability, resolution, uncertainty = _split_brier(sure, hit, places)
    return Reliability(
        n=n,
        clusters=count,
        right=_widen(means[0], count),
        calibration_error=_estimate_error(sure, hit, places, merged, seed),
        brier=means[1],
        reliability=Estimate(reliability, n),
        resolution=Estimate(resolution, n),
        uncertainty=Estimate(uncertainty, n),
        log_loss=means[2],
        auroc=_estimate_auroc(sure, hit, groups),
        aurc=Estimate(float(_risk_by_rank(sure, hit).mean()), n),
        diagram=_draw_diagram(sure, hit, places),
        curve=_trace_risk(sure, hit),
    )


def _check(sure: _Array, hit: _Array, clusters: Sequence[Hashable] | None, bins: int) -> None:
    if sure.ndim != 1 or sure.shape != hit.shape or (clusters is not None and len(clusters) != len(sure)):
        raise ValueError("every thing needs one probability, one outcome and, where given, one cluster")
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError("a probability lies outside 0..1")
    if not ((hit == 0) | (hit == 1)).all():
        raise ValueError("an outcome is neither 0 nor 1")
    if bins < 1:
        raise ValueError(f"there must be at least one bin, got {bins}")


def _number(clusters: Sequence[Hashable] | None, n: int) -> _Numbers:
    """Return a number per thing, the same for those of one cluster."""
    if clusters is None:
        return np.arange(n, dtype=np.int64)
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], dtype=np.int64)


def _merge(groups: _Numbers, count: int, seed: int) -> _Numbers:
    """Return groups of clusters, where these are too many to resample quickly.

    Independent clusters thrown together at random are independent too, and their sums vary as much.
    """
    if count <= _MOST_CLUSTERS:
        return groups
    shuffled = np.random.default_rng(seed).permutation(count) % _MOST_CLUSTERS
    merged: _Numbers = shuffled[groups].astype(np.int64)
    return merged


def _bin(sure: _Array, bins: int) -> _Numbers:
    """Return the bin of each thing, numbered from the least sure on."""
    values, places, sizes = np.unique(sure, return_inverse=True, return_counts=True)
    if len(values) > bins:
        # Where the middle of all that is tied falls, all of it goes.
        middles = np.cumsum(sizes) - (sizes + 1) / 2
        rough = np.floor(middles * bins / len(sure)).astype(np.int64)
        places = np.unique(rough, return_inverse=True)[1][places]
    return places.astype(np.int64)


def _sum_by(places: _Numbers, columns: _Array, count: int) -> _Array:
    """Return, per place, the sums of each column: shape (count, columns)."""
    return np.stack(
        [np.bincount(places, weights=column, minlength=count) for column in columns.T], axis=1
    ).astype(np.float64)


def _estimate_means(columns: _Array, groups: _Numbers, seed: int) -> list[Estimate]:
    n, count = len(columns), int(groups.max()) + 1
    tables = _sum_by(groups, np.column_stack([np.ones(n), columns]), count)
    draws = resample_sums(tables, seed=seed) if count > 1 else None
    return [
        Estimate(
            float(columns[:, at].mean()),
            n,
            percentile_interval(draws[:, at + 1] / draws[:, 0]) if draws is not None else None,
        )
        for at in range(columns.shape[1])
    ]


def _widen(share: Estimate, clusters: int) -> Estimate:
    """Return a share with Wilson's interval over clusters where all outcomes, hence all draws, are alike."""
    if share.value not in (0.0, 1.0) or clusters < 2:
        return share
    return Estimate(share.value, share.n, wilson_interval(int(share.value) * clusters, clusters))


def _estimate_error(sure: _Array, hit: _Array, places: _Numbers, groups: _Numbers, seed: int) -> Estimate:
    n, bins, count = len(sure), int(places.max()) + 1, int(groups.max()) + 1
    sums = _sum_by(groups * bins + places, np.stack([np.ones(n), sure - hit], axis=1), count * bins)
    totals = sums.reshape(count, bins, 2)
    gaps = totals[..., 1].sum(axis=0) / n
    value = float(np.abs(gaps).sum())
    if count < 2:
        return Estimate(value, n)
    drawn = resample_sums(totals, seed=seed)
    drawn_gaps = drawn[..., 1] / drawn[..., 0].sum(axis=-1, keepdims=True)
    # Draws lie above the value as the value lies above the truth. So the lower end goes by how far the gaps
    # of single bins, which may be negative, stray in all: the error cannot have strayed further than that.
    strayed = np.abs(drawn_gaps - gaps).sum(axis=-1)
    low = max(0.0, value - float(np.quantile(strayed, 0.975)))
    high = max(value, float(np.quantile(np.abs(drawn_gaps).sum(axis=-1), 0.975)))
    return Estimate(value, n, Interval(low, high))


def _split_brier(sure: _Array, hit: _Array, places: _Numbers) -> tuple[float, float, float]:
    n = len(sure)
    sums = _sum_by(places, np.stack([np.ones(n), sure, hit], axis=1), int(places.max()) + 1)
    sizes, said, came = sums[:, 0], sums[:, 1] / sums[:, 0], sums[:, 2] / sums[:, 0]
    base = float(hit.mean())
    reliability = float((sizes * (said - came) ** 2).sum() / n)
    uncertainty = base * (1 - base)
    # Stephenson's generalised resolution: Murphy's, less variance and plus covariance within bins.
    within = sure - said[places]
    resolution = float((sizes * (came - base) ** 2).sum() / n)
    resolution += float((2 * within * (hit - came[places]) - within**2).mean())
    return reliability, resolution, uncertainty


def _estimate_auroc(sure: _Array, hit: _Array, groups: _Numbers) -> Estimate:
    n, won, lost = len(sure), hit == 1, hit == 0
    m, k = int(won.sum()), int(lost.sum())
    if not m or not k:
        return Estimate(None, n, reason=f"everything is {'right' if m else 'wrong'}: nothing to tell apart")
    above = _share_below(sure[won], sure[lost])
    below = 1 - _share_below(sure[lost], sure[won])
    area = float(above.mean())
    return Estimate(area, n, _bound_area(area, (above, groups[won]), (below, groups[lost])))


def _share_below(values: _Array, others: _Array) -> _Array:
    """Return, per value, the share of `others` below it, ties counting half."""
    ordered = np.sort(others)
    low, high = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    share: _Array = (low + high) / (2 * len(ordered))
    return share


def _bound_area(
    area: float, right: tuple[_Array, _Numbers], wrong: tuple[_Array, _Numbers]
) -> Interval | None:
    """Return Obuchowski's interval, made on the logit scale so that it stays within 0..1."""
    count = int(max(right[1].max(), wrong[1].max())) + 1
    residuals, parts = [], []
    for shares, groups in (right, wrong):
        holding = len(np.unique(groups))
        if holding < 2:
            return None
        residual = np.bincount(groups, weights=shares - area, minlength=count)
        residuals.append(residual / len(shares))
        parts.append(holding / (holding - 1) * float((residuals[-1] ** 2).sum()))
    together = count / (count - 1) * float((residuals[0] * residuals[1]).sum())
    variance = sum(parts) + 2 * together
    if not 0 < area < 1 or variance <= 0:
        return None
    half = NormalDist().inv_cdf(0.975) * math.sqrt(variance) / (area * (1 - area))
    centre = math.log(area / (1 - area))
    return Interval(_expit(centre - half), _expit(centre + half))


def _expit(value: float) -> float:
    # The hyperbolic tangent overflows nowhere.
    return 0.5 * (1 + math.tanh(value / 2))


def _risk_by_rank(sure: _Array, hit: _Array) -> _Array:
    """Return the risk among the 1, 2, ..., n surest things, expected over random orders of ties."""
    values, places = np.unique(-sure, return_inverse=True)
    wrong = np.bincount(places, weights=1 - hit, minlength=len(values)) / np.bincount(places)
    expected = np.sort(places)
    risk: _Array = np.cumsum(wrong[expected]) / np.arange(1, len(sure) + 1)
    return risk


def _trace_risk(sure: _Array, hit: _Array) -> RiskCoverage:
    values, places, sizes = np.unique(-sure, return_inverse=True, return_counts=True)
    accepted = np.cumsum(sizes)
    risk = np.cumsum(np.bincount(places, weights=1 - hit, minlength=len(values))) / accepted
    rows = (-values, accepted / len(sure), risk)
    return RiskCoverage(*(tuple(float(value) for value in row) for row in rows))


def _draw_diagram(sure: _Array, hit: _Array, places: _Numbers) -> tuple[Bin, ...]:
    columns = np.stack([np.ones(len(sure)), sure, hit], axis=1)
    return tuple(
        Bin(said / size, came / size, int(size), wilson_interval(round(came), int(size)))
        for size, said, came in _sum_by(places, columns, int(places.max()) + 1).tolist()
    )
