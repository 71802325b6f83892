"""From features of a draft to the probability that it is right, learnt from labels.

A logistic regression on standardised features ranks drafts. How often a rank proves right is learnt from
ranks that were given out of fold, by regressions that saw nothing of the same cluster: a regression's own
training data would look better than anything to come. A monotone curve through points holds the result, so
that grading needs no more than a weighted sum and an interpolation.

Sources: J. C. Platt, "Probabilistic Outputs for Support Vector Machines" (1999), for the sigmoid and its
targets; A. P. Oron and N. Flournoy, "Centered Isotonic Regression", Statistics in Biopharmaceutical Research
9 (2017), for isotonic regression with one point per block. Isotonic regression needs more labels than a
sigmoid: A. Niculescu-Mizil and R. Caruana, ICML (2005).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.agreement import MINIMUM
from pipeline.types import Curve

__all__ = ["FittedCurve", "Recalibration", "apply_curve", "fit_curve"]

_Array = NDArray[np.float64]
_Numbers = NDArray[np.int64]

#: From so many labels on the curve is isotonic, below it is a sigmoid.
_ENOUGH: Final = 200
_MOST_POINTS: Final = 100
#: Inverse strength of the L2 penalty on weights of standardised features; scikit-learn's default.
_PENALTY: Final = 1.0
#: Leaves the sigmoid's two parameters as good as free.
_FREE: Final = 1e6
#: A feature that varies less than this, relative to its size, differs by rounding only.
_CONSTANT: Final = 1e-9
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class FittedCurve:
    """How features become a probability; the fields are those of `pipeline.types.Curve`.

    Attributes:
        method: How the curve was fitted.
        centres: Mean of each feature, shape (d,).
        scales: Standard deviation of each, 1 where it is constant.
        weights: Of each standardised feature; 0 where it is constant.
        intercept: Added to their weighted sum, which is the rank: log-odds before recalibration.
        ranks: Of the points, increasing; at most 100.
        probabilities: Of the points, not decreasing, strictly between 0 and 1.
        n: Labels that it was fitted on.
    """

    method: Literal["isotonic", "platt"]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    ranks: tuple[float, ...]
    probabilities: tuple[float, ...]
    n: int


@dataclass(frozen=True, slots=True)
class Recalibration:
    """A curve, or why there is none.

    Attributes:
        curve: None where labels do not support one.
        n: Labels.
        held_out: Ranks given out of fold, in the order of the labels: what they tell apart is no flattery.
            Empty without a curve.
        reason: Why there is no curve.
    """

    curve: FittedCurve | None
    n: int
    held_out: tuple[float, ...] = ()
    reason: str = ""


def apply_curve(curve: FittedCurve | Curve, features: ArrayLike) -> NDArray[np.float64]:
    """Return the probability of each row of `features`, shape (m, d): straight between points, flat beyond.

    Raises:
        ValueError: If a row has not as many features as the curve has weights, or one is not finite.
    """
    rows = _check(features, len(curve.weights))
    scaled = (rows - np.array(curve.centres)) / np.array(curve.scales)
    ranks = np.full(len(rows), curve.intercept)
    # Feature by feature: a product with a matrix rounds one row otherwise than many, and a draft must reach
    # the threshold that was set by its own probability.
    for column, weight in zip(scaled.T, curve.weights, strict=True):
        ranks += weight * column
    found: _Array = np.interp(ranks, curve.ranks, curve.probabilities)
    return found


def fit_curve(
    features: ArrayLike,
    right: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    folds: int = 5,
    minimum: int = MINIMUM,
) -> Recalibration:
    """Return the curve that labels support. The same input gives the same curve.

    Args:
        features: Shape (n, d). Every number is finite: whoever reads features puts a neutral number where
            something is not known.
        right: Whether each was right, 0 or 1, shape (n,).
        clusters: What each belongs to, such as its task; a cluster is never in two folds. None where all are
            independent.
        folds: Most parts for ranks out of fold; fewer clusters make fewer.
        minimum: Fewest labels to fit anything on.

    Raises:
        ValueError: If the three are not as many, a feature is not finite or an outcome is neither 0 nor 1.
    """
    hit = np.asarray(right, dtype=np.float64)
    n = len(hit)
    if hit.ndim != 1 or (clusters is not None and len(clusters) != n) or len(np.asarray(features)) != n:
        raise ValueError("every label needs one row of features, one outcome and, where given, one cluster")
    if not ((hit == 0) | (hit == 1)).all():
        raise ValueError("an outcome is neither 0 nor 1")
    if folds < 2:
        raise ValueError(f"there must be at least two folds, got {folds}")
    if n < max(minimum, 1):
        return Recalibration(None, n, reason=f"too few: {n} of at least {minimum} labels")
    rows = _check(features)
    if hit.min() == hit.max():
        every = "right" if hit[0] else "wrong"
        return Recalibration(None, n, reason=f"every label says {every}: there is nothing to tell apart")
    centres, scales, varies = _measure_columns(rows)
    if not varies.any():
        return Recalibration(None, n, reason="all drafts look the same: no feature differs between them")
    fold = _deal(clusters, hit, folds)
    if fold is None:
        reason = "all labels that are right, or all that are wrong, belong to one cluster"
        return Recalibration(None, n, reason=reason)
    standard = ((rows - centres) / scales)[:, varies]
    held_out = np.empty(n)
    for part in range(int(fold.max()) + 1):
        out = fold == part
        weights, intercept = _fit_logistic(standard[~out], hit[~out], _PENALTY)
        held_out[out] = standard[out] @ weights + intercept
    used, intercept = _fit_logistic(standard, hit, _PENALTY)
    weights = np.zeros(rows.shape[1])
    weights[varies] = used
    own = standard @ used + intercept
    method: Literal["isotonic", "platt"] = "platt" if n < _ENOUGH else "isotonic"
    if method == "platt":
        reach = np.concatenate([held_out, own])
        ranks, probabilities = _fit_sigmoid(held_out, hit, float(reach.min()), float(reach.max()))
    else:
        ranks, probabilities = _fit_isotonic(held_out, hit)
    curve = FittedCurve(
        method=method,
        centres=_tuple(centres),
        scales=_tuple(scales),
        weights=_tuple(weights),
        intercept=intercept,
        ranks=_tuple(ranks),
        probabilities=_tuple(probabilities),
        n=n,
    )
    return Recalibration(curve, n, _tuple(held_out))


def _check(features: ArrayLike, width: int | None = None) -> _Array:
    rows = np.asarray(features, dtype=np.float64)
    if rows.ndim != 2 or (width is not None and rows.shape[1] != width):
        raise ValueError(f"features need a row per draft{'' if width is None else f' of {width} numbers'}")
    if not np.isfinite(rows).all():
        raise ValueError("a feature is not finite")
    return rows


def _measure_columns(rows: _Array) -> tuple[_Array, _Array, NDArray[np.bool_]]:
    """Return mean and standard deviation of each feature, and which of them vary at all."""
    centres, spread = rows.mean(axis=0), rows.std(axis=0)
    varies = spread > _CONSTANT * np.maximum(np.abs(centres), 1.0)
    return centres, np.where(varies, spread, 1.0), varies


def _deal(clusters: Sequence[Hashable] | None, hit: _Array, folds: int) -> _Numbers | None:
    """Return the fold of each label, whole clusters together; None where no dealing serves.

    Without any one fold there must be both outcomes left to learn from. So the clusters that hold most of
    the rarer outcome are dealt first, one to each fold in turn.
    """
    n = len(hit)
    numbers: dict[Hashable, int] = {}
    groups = (
        np.arange(n)
        if clusters is None
        else np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], dtype=np.int64)
    )
    sizes = np.bincount(groups)
    rare = np.bincount(groups, weights=hit if hit.mean() < 0.5 else 1 - hit)
    order = np.lexsort((-sizes, -rare))
    parts = min(folds, len(sizes))
    dealt = np.empty(len(sizes), dtype=np.int64)
    dealt[order] = np.arange(len(sizes)) % parts
    fold: _Numbers = dealt[groups]
    right = np.bincount(fold, weights=hit, minlength=parts)
    wrong = np.bincount(fold, minlength=parts) - right
    both = (right.sum() - right > 0) & (wrong.sum() - wrong > 0)
    return fold if both.all() else None


def _fit_logistic(
    columns: _Array, hit: _Array, penalty: float, weights: _Array | None = None
) -> tuple[_Array, float]:
    # Grading needs no scikit-learn, and importing it takes a second.
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=penalty, max_iter=1000).fit(columns, hit, sample_weight=weights)
    return model.coef_[0].astype(np.float64), float(model.intercept_[0])


def _fit_sigmoid(ranks: _Array, hit: _Array, low: float, high: float) -> tuple[_Array, _Array]:
    """Return points of the sigmoid that fits Platt's targets, from `low` to `high`."""
    rights = float(hit.sum())
    wrongs = len(hit) - rights
    target = np.where(hit == 1, (rights + 1) / (rights + 2), 1 / (wrongs + 2))
    # A label between 0 and 1 is one of each, weighted.
    slope, shift = _fit_logistic(
        np.concatenate([ranks, ranks])[:, None],
        np.repeat([1.0, 0.0], len(ranks)),
        _FREE,
        np.concatenate([target, 1 - target]),
    )
    if slope[0] <= 0 or low == high:
        # Ranks that are no better than chance out of fold tell nothing: everything is as likely.
        return np.array([low]), np.array([target.mean()])
    points = np.linspace(low, high, _MOST_POINTS)
    return points, 0.5 * (1 + np.tanh((slope[0] * points + shift) / 2))


def _fit_isotonic(ranks: _Array, hit: _Array) -> tuple[_Array, _Array]:
    """Return one point per block of the isotonic regression: its mean rank and its share right.

    Between points the curve rises, so that few drafts are tied, which no threshold could tell apart. One
    more label that says wrong at the top, and one that says right at the bottom, keep m drafts that were all
    right from passing for certain: they count as m of m + 1.
    """
    from sklearn.isotonic import isotonic_regression

    # Rounded, so that equal drafts are tied although their sums differ in the last bits.
    known = ranks.round(_DIGITS)
    values, places = np.unique(np.concatenate([known, [known.max(), known.min()]]), return_inverse=True)
    sizes = np.bincount(places).astype(np.float64)
    shares = np.bincount(places, weights=np.concatenate([hit, [0.0, 1.0]])) / sizes
    heights, block = np.unique(isotonic_regression(shares, sample_weight=sizes), return_inverse=True)
    middles = np.bincount(block, weights=sizes * values) / np.bincount(block, weights=sizes)
    kept = np.unique(np.linspace(0, len(middles) - 1, _MOST_POINTS).round().astype(np.int64))
    return middles[kept], heights[kept]


def _tuple(values: _Array) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
