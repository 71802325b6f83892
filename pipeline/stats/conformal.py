"""Risk of losses between 0 and 1: kept on average (conformal risk control), or tested with confidence.

Conformal risk control keeps the *joint* risk, of an item being accepted and wrong, on average over samples of
labels. It says nothing of the share of wrong ones among accepted: that is what `selective` certifies.

Sources: A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei and T. Schuster, "Conformal Risk Control", ICLR 2024;
S. Bates et al., "Distribution-Free, Risk-Controlling Prediction Sets", Journal of the ACM 68 (2021), for the
Hoeffding-Bentkus p-value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pipeline.stats.selective import binomial_tail, check_sample

__all__ = ["Controlled", "control_joint_risk", "hoeffding_bentkus"]

#: Sums of losses carry rounding errors, which must not lift a whole number to the next.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Controlled:
    """The outcome of conformal risk control.

    Attributes:
        threshold: The lowest that keeps the joint risk; None: none of the grid does.
        accepted: Labelled items at or above it.
        errors: How many of these are wrong.
        risk: Bound of the mean joint risk there, (errors + 1) / (n + 1); 1 without a threshold.
        n: Labelled items in all.
    """

    threshold: float | None
    accepted: int
    errors: int
    risk: float
    n: int


def control_joint_risk(
    confidence: ArrayLike, error: ArrayLike, grid: Sequence[float], *, alpha: float
) -> Controlled:
    """Return the lowest threshold at which, on average, at most alpha of all items are accepted and wrong.

    With L_i = error_i where confidence_i reaches the threshold, else 0, it is the lowest threshold at which
    n/(n+1) mean(L) + 1/(n+1) <= alpha. L falls as the threshold rises, so that no order of tests is needed.

    Args:
        confidence: Of shape (n,); items are exchangeable with those to come.
        error: Of shape (n,): 1 where the item is wrong, else 0.
        grid: Thresholds, the strictest first.
        alpha: Highest mean joint risk.

    Raises:
        ValueError: If lengths differ, an error is neither 0 nor 1, the grid does not fall, or alpha lies
            outside (0, 1).
    """
    sure, wrong = check_sample(confidence, error, grid, alpha, alpha)
    n = len(sure)
    found = Controlled(None, 0, 0, 1.0, n)
    for threshold in grid:
        accepted = sure >= threshold
        errors = int(wrong[accepted].sum())
        risk = (errors + 1) / (n + 1)
        if risk > alpha:
            break
        found = Controlled(threshold, int(accepted.sum()), errors, risk, n)
    return found


def hoeffding_bentkus(losses: ArrayLike, alpha: float) -> float:
    """Return the p-value of "the mean loss is alpha or more" for independent losses in [0, 1].

    min(exp(-n h(min(mean, alpha), alpha)), e P(K <= ceil(n mean))) with K binomial(n, alpha) and
    h(a, b) = a ln(a/b) + (1-a) ln((1-a)/(1-b)). For losses of 0 and 1 the exact binomial test is sharper.

    Args:
        losses: Of shape (n,); without any the p-value is 1.
        alpha: Highest mean loss.

    Raises:
        ValueError: If a loss lies outside [0, 1] or alpha outside (0, 1).
    """
    values = np.asarray(losses, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("a loss lies outside 0..1")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
    n, total = len(values), float(values.sum())
    if not n:
        return 1.0
    mean = min(total / n, alpha)
    divergence = (1 - mean) * math.log((1 - mean) / (1 - alpha))
    if mean > 0:
        divergence += mean * math.log(mean / alpha)
    bentkus = math.e * float(binomial_tail(math.ceil(total - _ROUNDING), n, alpha))
    return min(1.0, math.exp(-n * divergence), bentkus)
