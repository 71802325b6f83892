"""How far raters agree: over a table of two raters, or over any number of raters with gaps.

Ratings are category indices 0..q-1 (levels are); `MISSING` stands for none. Two raters are summed up in one
table, counts of (first, second), of which every measure here is a function. Nothing is ever NaN: a measure
that does not exist says why.

Sources: J. Cohen (1960, 1968) for kappa; K. L. Gwet, "Handbook of Inter-Rater Reliability" (2014), for AC1
and AC2; K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), for alpha. Gwet's *ordinal
weights* are another thing than Krippendorff's *ordinal metric*: only the latter is here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.bootstrap import percentile_interval, resample_sums
from pipeline.stats.intervals import Interval, wilson_interval

__all__ = [
    "MINIMUM",
    "MISSING",
    "Estimate",
    "Metric",
    "PairAgreement",
    "Weights",
    "adjacent_agreement",
    "cohen_kappa",
    "compare_pairs",
    "confusion_matrix",
    "exact_agreement",
    "gwet_ac",
    "gwet_ac_of_raters",
    "krippendorff_alpha",
    "mean_absolute_error",
    "mean_difference",
    "proportion",
    "weight_matrix",
]

Weights = Literal["identity", "linear", "quadratic"]
Metric = Literal["nominal", "ordinal", "interval"]

_Array = NDArray[np.float64]

#: No rating.
MISSING: Final = -1
#: Fewer ratings than this are too few to say anything.
MINIMUM: Final = 20

#: A denominator that would be zero but for rounding.
_ZERO: Final = 1e-12
_ONE_CATEGORY: Final = "only one category was used, so chance alone agrees as well"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, or why there is none.

    Attributes:
        value: None where it does not exist or rests on too little.
        n: How many observations it rests on.
        interval: What it may be as well, where that was asked for and can be said.
        reason: Why there is no value.
    """

    value: float | None
    n: int
    interval: Interval | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two raters of the same things.

    Attributes:
        n: Pairs of ratings; those where one is missing are left out.
        clusters: Independent groups among them, which the intervals resample.
        table: Counts; a row per category of the first, a column per category of the second.
        exact: Share of equal ratings.
        adjacent: Share that differs by one category at most.
        difference: Mean of first minus second: above 0 the first is the more lenient.
        absolute_error: Mean distance.
        kappa: Cohen's, with quadratic weights.
        kappa_linear: The same with linear weights.
        kappa_identity: The same with no credit for a near miss.
        ac1: Gwet's, with no credit for a near miss.
        ac2: Gwet's, with quadratic weights; steady where nearly all ratings are the same.
        alpha: Krippendorff's, for ordinal ratings.
    """

    n: int
    clusters: int
    table: tuple[tuple[int, ...], ...]
    exact: Estimate
    adjacent: Estimate
    difference: Estimate
    absolute_error: Estimate
    kappa: Estimate
    kappa_linear: Estimate
    kappa_identity: Estimate
    ac1: Estimate
    ac2: Estimate
    alpha: Estimate


def confusion_matrix(first: ArrayLike, second: ArrayLike, categories: int) -> NDArray[np.int64]:
    """Return the counts of (first, second) rating; pairs with a missing one are left out.

    Raises:
        ValueError: If the ratings are not as many, or one is no category.
    """
    rows, columns = _check(first, categories), _check(second, categories)
    if rows.shape != columns.shape or rows.ndim != 1:
        raise ValueError("both raters need one rating, or a missing one, for each thing")
    kept = (rows != MISSING) & (columns != MISSING)
    counts = np.bincount(rows[kept] * categories + columns[kept], minlength=categories * categories)
    return counts.reshape(categories, categories).astype(np.int64)


def exact_agreement(table: ArrayLike) -> Estimate:
    """Return the share of equal ratings."""
    return _estimate(table, _weighted_share("identity"))


def adjacent_agreement(table: ArrayLike) -> Estimate:
    """Return the share of ratings that differ by one category at most."""
    return _estimate(table, _adjacent)


def mean_difference(table: ArrayLike) -> Estimate:
    """Return the mean of first minus second, in categories: the signed bias of the first."""
    return _estimate(table, _difference)


def mean_absolute_error(table: ArrayLike) -> Estimate:
    """Return the mean distance, in categories."""
    return _estimate(table, _distance)


def cohen_kappa(table: ArrayLike, weights: Weights = "identity") -> Estimate:
    """Return Cohen's kappa: agreement beyond what both raters' own habits would bring by chance."""
    return _estimate(table, lambda tables: _kappa(tables, weights), _ONE_CATEGORY)


def gwet_ac(table: ArrayLike, weights: Weights = "identity") -> Estimate:
    """Return Gwet's AC1 (identity weights) or AC2 (others) of two raters."""
    return _estimate(table, lambda tables: _gwet(tables, weights))


def proportion(hits: int, n: int, *, minimum: int = MINIMUM) -> Estimate:
    """Return a share with Wilson's interval at 95 %; below `minimum` no number.

    Raises:
        ValueError: If there are more hits than trials.
    """
    if n < minimum:
        return Estimate(None, n, reason=_too_few(n, minimum))
    return Estimate(hits / n, n, wilson_interval(hits, n))


def gwet_ac_of_raters(ratings: ArrayLike, categories: int, weights: Weights = "identity") -> Estimate:
    """Return Gwet's AC1 or AC2 of any number of raters, with gaps.

    Args:
        ratings: A row per thing, a column per rater.
        categories: How many there are, used or not.
        weights: What a near miss is worth.

    Raises:
        ValueError: If a rating is no category.
    """
    counts = _count_by_unit(ratings, categories)
    raters = counts.sum(axis=1)
    paired = raters >= 2
    if not paired.any():
        return Estimate(None, 0, reason="nothing was rated twice")
    worth = weight_matrix(categories, weights)
    near = counts @ worth
    agreeing = (counts * (near - 1))[paired].sum(axis=1) / (raters * (raters - 1))[paired]
    used = counts[raters > 0] / raters[raters > 0, None]
    prevalence = used.mean(axis=0)
    chance = worth.sum() / (categories * (categories - 1)) * (prevalence * (1 - prevalence)).sum()
    return Estimate(float((agreeing.mean() - chance) / (1 - chance)), int(paired.sum()))


def krippendorff_alpha(ratings: ArrayLike, categories: int, metric: Metric = "ordinal") -> Estimate:
    """Return Krippendorff's alpha of any number of raters, with gaps.

    Args:
        ratings: A row per thing, a column per rater; what was rated once only says nothing.
        categories: How many there are, used or not.
        metric: How far two categories lie apart.

    Raises:
        ValueError: If a rating is no category.
    """
    counts = _count_by_unit(ratings, categories)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return Estimate(None, 0, reason="nothing was rated twice")
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs[:, range(categories), range(categories)] -= counts
    coincidences = (pairs / (counts.sum(axis=1) - 1)[:, None, None]).sum(axis=0)
    value = float(_alpha(coincidences, metric))
    if np.isnan(value):
        return Estimate(None, len(counts), reason=_ONE_CATEGORY)
    return Estimate(value, len(counts))


def compare_pairs(
    first: Sequence[int],
    second: Sequence[int],
    clusters: Sequence[Hashable],
    categories: int,
    *,
    seed: int = 0,
    minimum: int = MINIMUM,
) -> PairAgreement:
    """Return how far two raters agree, with intervals; below `minimum` pairs the table alone.

    Args:
        first: Of every thing the first rater's category, or `MISSING`.
        second: The second rater's.
        clusters: What each thing belongs to; things of one cluster are not independent.
        categories: How many there are, used or not.
        seed: Of the bootstrap.
        minimum: Fewest pairs to say anything about.

    Raises:
        ValueError: If the three are not as many, or a rating is no category.
    """
    if not len(first) == len(second) == len(clusters):
        raise ValueError("every thing needs two ratings and a cluster")
    rows, columns = _check(first, categories), _check(second, categories)
    kept = np.flatnonzero((rows != MISSING) & (columns != MISSING))
    numbers: dict[Hashable, int] = {}
    members = np.array(
        [numbers.setdefault(clusters[int(place)], len(numbers)) for place in kept], dtype=np.int64
    )
    cells = (members * categories + rows[kept]) * categories + columns[kept]
    stacked = np.bincount(cells, minlength=len(numbers) * categories**2).reshape(-1, categories, categories)
    table = stacked.sum(axis=0)
    n = len(kept)
    draws = resample_sums(stacked, seed=seed) if n >= minimum and len(numbers) > 1 else None

    def measure(function: Callable[[_Array], _Array], undefined: str = "") -> Estimate:
        if n < minimum:
            return Estimate(None, n, reason=_too_few(n, minimum))
        point = _estimate(table, function, undefined)
        if point.value is None:
            return point
        return Estimate(point.value, n, percentile_interval(function(draws)) if draws is not None else None)

    def share(function: Callable[[_Array], _Array]) -> Estimate:
        found = measure(function)
        if found.value not in (0.0, 1.0) or found.interval is None:
            return found
        # All draws are alike then, although others may come: as many clusters could have held one.
        return Estimate(found.value, n, wilson_interval(int(found.value) * len(numbers), len(numbers)))

    return PairAgreement(
        n=n,
        clusters=len(numbers),
        table=tuple(tuple(int(count) for count in row) for row in table),
        exact=share(_weighted_share("identity")),
        adjacent=share(_adjacent),
        difference=measure(_difference),
        absolute_error=measure(_distance),
        kappa=measure(lambda tables: _kappa(tables, "quadratic"), _ONE_CATEGORY),
        kappa_linear=measure(lambda tables: _kappa(tables, "linear"), _ONE_CATEGORY),
        kappa_identity=measure(lambda tables: _kappa(tables, "identity"), _ONE_CATEGORY),
        ac1=measure(lambda tables: _gwet(tables, "identity")),
        ac2=measure(lambda tables: _gwet(tables, "quadratic")),
        alpha=measure(lambda tables: _alpha(tables + np.swapaxes(tables, -1, -2), "ordinal"), _ONE_CATEGORY),
    )


def _too_few(n: int, minimum: int) -> str:
    return f"too few: {n} of at least {minimum}"


# Below, tables may be many, along leading axes, and NaN stands for what does not exist.


def _estimate(table: ArrayLike, measure: Callable[[_Array], _Array], undefined: str = "") -> Estimate:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or len(counts) < 2 or (counts < 0).any():
        raise ValueError("a table of counts has as many rows as columns, at least two")
    n = int(counts.sum())
    if n == 0:
        return Estimate(None, 0, reason="nothing to compare")
    value = float(measure(counts))
    return Estimate(None, n, reason=undefined) if np.isnan(value) else Estimate(value, n)


def _divide(numerator: _Array, denominator: _Array) -> _Array:
    exists = np.abs(denominator) > _ZERO
    return np.where(exists, numerator / np.where(exists, denominator, 1.0), np.nan)


def _sum(tables: _Array) -> _Array:
    total: _Array = tables.sum(axis=(-2, -1))
    return total


def _shares(tables: _Array) -> _Array:
    return _divide(tables, tables.sum(axis=(-2, -1), keepdims=True))


def _distances(categories: int) -> _Array:
    places = np.arange(categories, dtype=np.float64)
    return np.abs(places[:, None] - places[None, :])


def weight_matrix(categories: int, weights: Weights) -> _Array:
    """Return what each pair of ratings is worth: 1 for equal ones, less for a near miss."""
    if weights == "identity":
        return np.eye(categories)
    share = _distances(categories) / (categories - 1)
    return 1 - (share if weights == "linear" else share**2)


def _weighted_share(weights: Weights) -> Callable[[_Array], _Array]:
    return lambda tables: _sum(_shares(tables) * weight_matrix(tables.shape[-1], weights))


def _adjacent(tables: _Array) -> _Array:
    return _sum(_shares(tables) * (_distances(tables.shape[-1]) <= 1))


def _difference(tables: _Array) -> _Array:
    places = np.arange(tables.shape[-1], dtype=np.float64)
    return _sum(_shares(tables) * (places[:, None] - places[None, :]))


def _distance(tables: _Array) -> _Array:
    return _sum(_shares(tables) * _distances(tables.shape[-1]))


def _kappa(tables: _Array, weights: Weights) -> _Array:
    shares, worth = _shares(tables), weight_matrix(tables.shape[-1], weights)
    agreed = _sum(shares * worth)
    margins = shares.sum(axis=-1)[..., :, None] * shares.sum(axis=-2)[..., None, :]
    chance = _sum(margins * worth)
    return _divide(agreed - chance, 1 - chance)


def _gwet(tables: _Array, weights: Weights) -> _Array:
    categories = tables.shape[-1]
    shares, worth = _shares(tables), weight_matrix(categories, weights)
    agreed = _sum(shares * worth)
    prevalence = (shares.sum(axis=-1) + shares.sum(axis=-2)) / 2
    spread = (prevalence * (1 - prevalence)).sum(axis=-1)
    chance = worth.sum() / (categories * (categories - 1)) * spread
    return _divide(agreed - chance, 1 - chance)


def _alpha(coincidences: _Array, metric: Metric) -> _Array:
    margins = coincidences.sum(axis=-1)
    total = margins.sum(axis=-1)
    if metric == "ordinal":
        middles = np.cumsum(margins, axis=-1) - margins / 2
        apart = (middles[..., :, None] - middles[..., None, :]) ** 2
    else:
        apart = _distances(coincidences.shape[-1]) ** 2
        if metric == "nominal":
            apart = (apart > 0).astype(np.float64)
    observed = _sum(coincidences * apart)
    expected = _sum(margins[..., :, None] * margins[..., None, :] * apart)
    disagreement: _Array = _divide((total - 1) * observed, expected)
    return 1 - disagreement


def _check(ratings: ArrayLike, categories: int) -> NDArray[np.int64]:
    if categories < 2:
        raise ValueError(f"there must be at least two categories, got {categories}")
    values: NDArray[Any] = np.asarray(ratings)
    if values.size == 0:
        return values.astype(np.int64)
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError("ratings are integers")
    if values.min() < MISSING or values.max() >= categories:
        raise ValueError(f"a rating lies outside 0..{categories - 1}")
    return values.astype(np.int64)


def _count_by_unit(ratings: ArrayLike, categories: int) -> _Array:
    """Return how many raters gave each thing (rows) each category (columns)."""
    values = _check(ratings, categories)
    if values.ndim != 2:
        raise ValueError("ratings need a row per thing and a column per rater")
    counts: _Array = (values[:, :, None] == np.arange(categories)).sum(axis=1).astype(np.float64)
    return counts
