"""What papers print beside a kappa: Scott's pi, Brennan and Prediger's coefficient, and standard errors.

They are there to compare our figures with published ones. Standard errors take pairs of ratings for
independent; those of one author or task are not, and for these only the cluster bootstrap of
`pipeline.stats.agreement.compare_pairs` holds.

Source: K. L. Gwet, "Handbook of Inter-Rater Reliability" (2014). A standard error follows from what one pair
adds to the coefficient, to first order: the mean of its square over n is the variance.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.agreement import Estimate, Weights, cohen_kappa, exact_agreement, gwet_ac, weight_matrix

__all__ = ["brennan_prediger", "cohen_standard_error", "gwet_standard_error", "scott_pi"]

_Array = NDArray[np.float64]


def scott_pi(table: ArrayLike, weights: Weights = "identity") -> Estimate:
    """Return Scott's pi: as kappa, with one habit that both raters share.

    Raises:
        ValueError: If `table` is no square table of counts.
    """
    n = exact_agreement(table).n
    counts = np.asarray(table)
    # A table with its transpose added has the same agreement, and that habit in both margins.
    return replace(cohen_kappa(counts + counts.T, weights), n=n)


def brennan_prediger(table: ArrayLike, weights: Weights = "identity") -> Estimate:
    """Return Brennan and Prediger's coefficient: agreement beyond that of raters who toss dice.

    Raises:
        ValueError: If `table` is no square table of counts.
    """
    exact = exact_agreement(table)
    if exact.value is None:
        return exact
    shares, worth = _read(table, weights)
    chance = float(worth.mean())
    return Estimate((float((shares * worth).sum()) - chance) / (1 - chance), exact.n)


def cohen_standard_error(table: ArrayLike, weights: Weights = "identity") -> Estimate:
    """Return the standard error of `cohen_kappa`, or the reason why that does not exist.

    Raises:
        ValueError: If `table` is no square table of counts.
    """
    kappa = cohen_kappa(table, weights)
    if kappa.value is None:
        return kappa
    shares, worth = _read(table, weights)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    # A pair adds to the chance agreement through both margins.
    influence = (worth @ columns)[:, None] + (rows @ worth)[None, :]
    return _error(kappa.value, kappa.n, shares, worth, influence, float(rows @ worth @ columns))


def gwet_standard_error(table: ArrayLike, weights: Weights = "identity") -> Estimate:
    """Return the standard error of `gwet_ac`, or the reason why that does not exist.

    Raises:
        ValueError: If `table` is no square table of counts.
    """
    coefficient = gwet_ac(table, weights)
    if coefficient.value is None:
        return coefficient
    shares, worth = _read(table, weights)
    categories = len(shares)
    prevalence = (shares.sum(axis=1) + shares.sum(axis=0)) / 2
    factor = float(worth.sum()) / (categories * (categories - 1))
    slope = factor * (1 - 2 * prevalence) / 2
    influence = slope[:, None] + slope[None, :]
    chance = factor * float((prevalence * (1 - prevalence)).sum())
    return _error(coefficient.value, coefficient.n, shares, worth, influence, chance)


def _read(table: ArrayLike, weights: Weights) -> tuple[_Array, _Array]:
    counts = np.asarray(table, dtype=np.float64)
    return counts / counts.sum(), weight_matrix(len(counts), weights)


def _error(value: float, n: int, shares: _Array, worth: _Array, influence: _Array, chance: float) -> Estimate:
    agreed = float((shares * worth).sum())
    change = (worth - agreed) - (1 - value) * (influence - (shares * influence).sum())
    variance = float((shares * change**2).sum()) / (1 - chance) ** 2
    return Estimate(math.sqrt(variance / n), n)
