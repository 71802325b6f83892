"""True means from few labels by people and many predictions by a judge.

Every value is a share or a grade in 0..1. A judge may be as biased as it likes: its predictions say where
grades lie, labels say how far off that is, so the interval holds with any judge and is narrow with a good
one. What must hold is that chance drew the labelled items: within each stratum, with known probabilities.

Sources: A. N. Angelopoulos, J. C. Duchi, T. Zrnic, "PPI++" (2023) for the tuned mean; W. G. Cochran,
"Sampling Techniques" (1977) for the difference estimator in strata; C.-E. Sarndal, B. Swensson, J. Wretman,
"Model Assisted Survey Sampling" (1992) for unequal probabilities; W. J. Rogan, B. Gladen (1978).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.agreement import MINIMUM, Estimate
from pipeline.stats.intervals import Interval

__all__ = [
    "PoweredMean",
    "Stratum",
    "correct_prevalence",
    "estimate_powered_mean",
    "estimate_stratified_mean",
    "estimate_weighted_mean",
]

_Array = NDArray[np.float64]

#: From so many labels on the normal quantile serves; below it Student's, which is wider.
_MANY: Final = 100
#: Where fewer labels than this are unlike the commonest one, their spread says little about its own error.
_FEW_UNLIKE: Final = 3


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """A mean with its interval, and how much of it rests on predictions.

    Attributes:
        estimate: The mean; `n` is how many labels it rests on.
        standard_error: 0 where there is no value.
        weight: What predictions count, 0 (labels alone) to 1 (all the way).
    """

    estimate: Estimate
    standard_error: float
    weight: float


@dataclass(frozen=True, slots=True)
class Stratum:
    """Part of a population, such as the grades that went to people, of which chance drew some for labels.

    Attributes:
        labels: What people say of the labelled ones, each 0..1.
        predictions: What the judge says of the same, in their order.
        unlabelled: What the judge says of all others; empty where everything is labelled.
        probabilities: With which each labelled one was drawn; None where all had the same chance.
    """

    labels: Sequence[float]
    predictions: Sequence[float]
    unlabelled: Sequence[float]
    probabilities: Sequence[float] | None = None


def estimate_powered_mean(
    labels: ArrayLike,
    predictions: ArrayLike,
    unlabelled: ArrayLike,
    *,
    weight: float | None = None,
    confidence: float = 0.95,
    quantile: Literal["normal", "t"] | None = None,
    minimum: int = MINIMUM,
) -> PoweredMean:
    """Return the PPI++ mean of what people would say of everything.

    With n labels Y, their predictions F and N more predictions: w mean(F of the N) + mean(Y - w F), with
    variance w^2 Var(F)/N + Var(Y - w F)/n. The tuned w, Cov(Y, F) / ((1 + n/N) Var(F)) within 0..1, keeps a
    poor judge from making it worse than labels alone. Variances divide by n, as the authors' do.

    Args:
        labels: Of a random sample, shape (n,).
        predictions: Of the same items, shape (n,).
        unlabelled: Predictions of the other items, shape (N,).
        weight: w; None tunes it. 0 is the classical mean of labels, 1 plain PPI.
        confidence: Two-sided coverage.
        quantile: None takes Student's below 100 labels, the normal one from there on.
        minimum: With fewer labels there is no number.

    Raises:
        ValueError: If there is not one prediction per label, or a value lies outside 0..1.
    """
    truth, judged = _check_pair(labels, predictions)
    others = _check(unlabelled)
    n = len(truth)
    if n < minimum:
        return _refuse(n, minimum)
    chosen = _tune(truth, judged, others) if weight is None else weight
    if not len(others):
        chosen = 0.0
    residuals = truth - chosen * judged
    mean, variance = float(residuals.mean()), float(residuals.var()) / n
    if len(others):
        mean += chosen * float(others.mean())
        variance += chosen**2 * float(others.var()) / len(others)
    times = _quantile(confidence, n, quantile)
    half = max(times * math.sqrt(variance), _least_half(truth - judged if chosen else truth, confidence))
    return PoweredMean(Estimate(_clip(mean), n, _around(mean, half)), math.sqrt(variance), chosen)


def estimate_stratified_mean(
    strata: Sequence[Stratum],
    *,
    population: Literal["finite", "super"] = "finite",
    weight: float = 1.0,
    confidence: float = 0.95,
    minimum: int = MINIMUM,
) -> PoweredMean:
    """Return the mean of a population of strata, each with its own random sample of labels.

    Per stratum the mean prediction of all its items plus the mean of label minus prediction; strata count by
    size. A stratum that is labelled throughout adds its labels' mean and no uncertainty.

    Args:
        strata: Empty ones count nothing.
        population: ``finite``: these very items. ``super``: all that could have come from the same source,
            which adds what chance did in bringing these items about.
        weight: What predictions count; 1 keeps the estimate free of bias whatever the judge.
        confidence: Two-sided coverage.
        minimum: Fewest labels in a stratum that is not labelled throughout.

    Returns:
        No value where a stratum has too few labels: nobody can say how its items would do.

    Raises:
        ValueError: If labels, predictions and probabilities do not fit together or lie outside their range.
    """
    total = sum(len(stratum.labels) + len(stratum.unlabelled) for stratum in strata)
    n = sum(len(stratum.labels) for stratum in strata)
    if not total:
        return PoweredMean(Estimate(None, 0, reason="there is nothing to estimate"), 0.0, weight)
    mean = second_moment = variance = least = 0.0
    degrees = n
    for stratum in strata:
        labels, predictions = _check_pair(stratum.labels, stratum.predictions)
        others = _check(stratum.unlabelled)
        drawn, size = len(labels), len(labels) + len(others)
        if not size:
            continue
        if len(others) and drawn < minimum:
            return _refuse(drawn, minimum)
        share = size / total
        probabilities = _check_probabilities(stratum.probabilities, drawn)
        residuals = labels - weight * predictions
        offset, spread = _mean_of_sample(residuals, probabilities, size)
        mean += share * (weight * float(np.concatenate([predictions, others]).mean()) + offset)
        second_moment += share * _mean_of_sample(labels**2, probabilities, size)[0]
        variance += share**2 * spread
        if len(others):
            degrees = min(degrees, drawn)
            least += share * _least_half(residuals, confidence)
    if population == "super":
        variance += max(second_moment - mean**2, 0.0) / total
    half = max(_quantile(confidence, degrees, None) * math.sqrt(variance), least)
    return PoweredMean(Estimate(_clip(mean), n, _around(mean, half)), math.sqrt(variance), weight)


def estimate_weighted_mean(
    values: ArrayLike,
    probabilities: ArrayLike,
    *,
    size: int | None = None,
    confidence: float = 0.95,
    minimum: int = MINIMUM,
) -> PoweredMean:
    """Return the mean of a population from items that chance drew with unequal, independent probabilities.

    With `size`, Horvitz and Thompson's: sum(y/p) / size. Without, Hajek's: sum(y/p) / sum(1/p), which is
    steadier. The interval speaks of the items of that population.

    Args:
        values: Of the drawn items, each 0..1.
        probabilities: With which each was drawn, above 0.
        size: Items in the population.
        confidence: Two-sided coverage.
        minimum: With fewer items there is no number.

    Raises:
        ValueError: If there is not one probability per value, or one lies outside its range.
    """
    drawn = _check(values)
    chances = _check_probabilities(probabilities, len(drawn))
    n = len(drawn)
    if n < minimum or chances is None:
        return _refuse(n, minimum)
    if size is None:
        mean, variance = _hajek(drawn, chances)
    else:
        mean = float((drawn / chances).sum()) / size
        variance = float(((1 - chances) * (drawn / chances) ** 2).sum()) / size**2
    half = _quantile(confidence, n, None) * math.sqrt(variance)
    if (chances < 1).any():
        half = max(half, _least_half(drawn, confidence))
    return PoweredMean(Estimate(_clip(mean), n, _around(mean, half)), math.sqrt(variance), 0.0)


def correct_prevalence(
    labels: ArrayLike,
    predictions: ArrayLike,
    unlabelled: ArrayLike,
    *,
    confidence: float = 0.95,
    minimum: int = MINIMUM,
) -> Estimate:
    """Return the true share of ones from a judge's share and its sensitivity and specificity.

    Rogan and Gladen's (share + specificity - 1) / (sensitivity + specificity - 1), with the interval of the
    delta method. It needs a judge whose two rates are the same on labelled and unlabelled items, which
    `estimate_powered_mean` does not: prefer that.

    Args:
        labels: 0 or 1, shape (n,).
        predictions: Of the same items, 0 or 1.
        unlabelled: Predictions of the others, 0 or 1.
        confidence: Two-sided coverage.
        minimum: With fewer labels there is no number.

    Raises:
        ValueError: If a value is neither 0 nor 1, or there is not one prediction per label.
    """
    truth, judged = _check_pair(labels, predictions)
    others = _check(unlabelled)
    if any(not np.isin(values, (0.0, 1.0)).all() for values in (truth, judged, others)):
        raise ValueError("labels and predictions are 0 or 1")
    n, positives = len(truth), int(truth.sum())
    negatives = n - positives
    if n < minimum:
        return _refuse(n, minimum).estimate
    if not (positives and negatives and len(others)):
        return Estimate(None, n, reason="it needs labels of both kinds and unlabelled items")
    sensitivity = float(judged[truth == 1].mean())
    specificity = 1 - float(judged[truth == 0].mean())
    informed = sensitivity + specificity - 1
    if informed <= 0:
        return Estimate(None, n, reason="the judge tells ones from zeros no better than chance")
    share = float(others.mean())
    value = (share + specificity - 1) / informed
    variance = (
        share * (1 - share) / len(others)
        + (1 - value) ** 2 * specificity * (1 - specificity) / negatives
        + value**2 * sensitivity * (1 - sensitivity) / positives
    ) / informed**2
    if not variance:
        return Estimate(_clip(value), n)
    return Estimate(_clip(value), n, _around(value, _quantile(confidence, n, None) * math.sqrt(variance)))


def _tune(truth: _Array, judged: _Array, others: _Array) -> float:
    spread = float(np.concatenate([judged, others]).var())
    if not spread or not len(others):
        return 0.0
    together = float((truth * judged).mean() - truth.mean() * judged.mean())
    return _clip(together / ((1 + len(truth) / len(others)) * spread))


def _mean_of_sample(values: _Array, probabilities: _Array | None, size: int) -> tuple[float, float]:
    """Return the mean of a stratum of `size` and the variance of that, given the stratum's items."""
    n = len(values)
    if probabilities is not None:
        return _hajek(values, probabilities)
    spread = float(values.var(ddof=1)) if n > 1 else 0.0
    return float(values.mean()), (1 - n / size) * spread / n


def _hajek(values: _Array, probabilities: _Array) -> tuple[float, float]:
    inverse = 1 / probabilities
    mean = float((values * inverse).sum() / inverse.sum())
    apart = (values - mean) * inverse
    return mean, float(((1 - probabilities) * apart**2).sum() / inverse.sum() ** 2)


def _least_half(values: _Array, confidence: float) -> float:
    """Return how far the mean may lie at least where nearly all values are the same.

    Had all n been the same, anything else could still make up 1 - ((1 - confidence) / 2)^(1/n) of the
    population, and move the mean by up to that: no spread among few is no proof of none.
    """
    n = len(values)
    commonest = int(np.unique(np.round(values, 9), return_counts=True)[1].max())
    if n - commonest >= _FEW_UNLIKE:
        return 0.0
    return float(1 - ((1 - confidence) / 2) ** (1 / n))


def _quantile(confidence: float, n: int, kind: Literal["normal", "t"] | None) -> float:
    from scipy.special import ndtri, stdtrit

    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    tail = (1 + confidence) / 2
    if kind == "normal" or (kind is None and n >= _MANY) or n < 2:
        return float(ndtri(tail))
    return float(stdtrit(n - 1, tail))


def _check(values: ArrayLike) -> _Array:
    checked = np.asarray(values, dtype=np.float64)
    if checked.ndim != 1 or not ((checked >= 0) & (checked <= 1)).all():
        raise ValueError("values are one row of numbers in 0..1")
    return checked


def _check_pair(labels: ArrayLike, predictions: ArrayLike) -> tuple[_Array, _Array]:
    truth, judged = _check(labels), _check(predictions)
    if len(truth) != len(judged):
        raise ValueError(f"every label needs a prediction: {len(truth)} labels, {len(judged)} predictions")
    return truth, judged


def _check_probabilities(probabilities: ArrayLike | None, n: int) -> _Array | None:
    if probabilities is None:
        return None
    chances = _check(probabilities)
    if len(chances) != n or not (chances > 0).all():
        raise ValueError("every labelled item needs the probability, above 0, with which it was drawn")
    return chances


def _refuse(n: int, minimum: int) -> PoweredMean:
    return PoweredMean(Estimate(None, n, reason=f"too few: {n} of at least {minimum}"), 0.0, 0.0)


def _around(mean: float, half: float) -> Interval:
    return Interval(_clip(mean - half), _clip(mean + half))


def _clip(value: float) -> float:
    return min(max(value, 0.0), 1.0)
