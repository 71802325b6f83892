"""Intervals for rates: no rate is shown without one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Interval", "clopper_pearson_upper", "wilson_interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval.

    Attributes:
        low: Lower end.
        high: Upper end.
    """

    low: float
    high: float


def wilson_interval(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval for a binomial proportion, without continuity correction.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
    (1927); method 3 of R. G. Newcombe, Statistics in Medicine 17 (1998), who recommends it over the normal
    interval. It keeps its coverage near 0 and 1 and for few trials, where a batch's rates usually lie.

    Args:
        successes: Number of successes, 0 to `trials`.
        trials: Number of independent trials; with none nothing is known and the interval is 0 to 1.
        confidence: Two-sided coverage, between 0 and 1.

    Raises:
        ValueError: If the counts do not fit together or `confidence` lies outside (0, 1).
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0..{trials}, got {successes}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    if trials == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = successes / trials
    centre = rate + z * z / (2 * trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    # At the edges the exact ends are 0 and 1; rounding would put them a hair inside.
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == trials else (centre + half) / scale
    return Interval(low, high)


def clopper_pearson_upper(errors: int, n: int, confidence: float) -> float:
    """Return the exact one-sided upper bound of a binomial proportion.

    It is the largest rate at which as few errors as these still had probability 1 - `confidence`, so that it
    is at most alpha exactly when P(K <= errors; n, alpha) is at most 1 - `confidence`.

    Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case
    of the binomial", Biometrika 26 (1934).

    Args:
        errors: Number of errors, 0 to `n`.
        n: Number of independent trials; with none nothing is known and the bound is 1.
        confidence: One-sided coverage, between 0 and 1.

    Raises:
        ValueError: If the counts do not fit together or `confidence` lies outside (0, 1).
    """
    if not 0 <= errors <= n:
        raise ValueError(f"errors must lie in 0..{n}, got {errors}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    if errors == n:
        return 1.0
    # At start-up no command needs SciPy.
    from scipy.special import betaincinv

    return float(betaincinv(errors + 1, n - errors, confidence))
