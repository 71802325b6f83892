"""Intervals for rates: no rate is shown without one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["Interval", "wilson_interval"]


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
