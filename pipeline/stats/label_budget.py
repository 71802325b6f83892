"""How many labels a certificate takes, and what more of them would buy.

All of it follows from the exact binomial test of one threshold: `level` is that of one chain, that is, what
the certificate has, divided by its chains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.selective import binomial_tail, check_sample, furthest, starts_of

__all__ = ["Outlook", "Power", "labels_for_power", "labels_needed", "labels_to_certify", "outlook"]

#: Beyond this many labels above the threshold nobody would ask for them.
_MOST: Final = 100_000


@dataclass(frozen=True, slots=True)
class Power:
    """A sample size.

    Attributes:
        n: Labels above the threshold.
        errors: Most errors among them with which the threshold is still certified.
    """

    n: int
    errors: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """What more labels would buy, as far as present ones can tell.

    Attributes:
        more: Labels added to the present ones.
        coverage: Mean share of drafts that would be accepted.
        chance: Probability that anything would be.
    """

    more: int
    coverage: float
    chance: float


def labels_to_certify(alpha: float, level: float, errors: int = 0) -> int:
    """Return the fewest labels above a threshold that certify it with so many errors seen.

    That is the least n with P(K <= errors; n, alpha) <= level.

    Args:
        alpha: Highest share of wrong ones among accepted.
        level: Of one chain.
        errors: Errors that were seen.

    Raises:
        ValueError: If a rate lies outside (0, 1) or errors are negative.
    """
    _check_rates(alpha, level)
    if errors < 0:
        raise ValueError(f"errors cannot be negative, got {errors}")
    low, high = errors, max(2 * errors, 1)
    while binomial_tail(errors, high, alpha) > level:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_tail(errors, middle, alpha) > level:
            low = middle
        else:
            high = middle
    return high


def labels_for_power(alpha: float, level: float, risk: float, power: float = 0.8) -> Power | None:
    """Return the fewest labels above a threshold that certify it with probability `power`.

    Args:
        alpha: Highest share of wrong ones among accepted.
        level: Of one chain.
        risk: True share of wrong ones there.
        power: Probability of being certified.

    Returns:
        None where the risk is not below alpha, or so little below that over 100,000 labels would be needed.

    Raises:
        ValueError: If a rate lies outside (0, 1); the risk may be 0 or 1.
    """
    _check_rates(alpha, level, power)
    if not 0 <= risk <= 1:
        raise ValueError(f"a risk must lie in 0..1, got {risk}")
    if risk >= alpha:
        return None
    errors = 0
    while (n := labels_to_certify(alpha, level, errors)) <= _MOST:
        if binomial_tail(errors, n, risk) >= power:
            return Power(n, errors)
        errors += 1
    return None


def labels_needed(alpha: float, level: float, risk: float, coverage: float, power: float = 0.8) -> int | None:
    """Return how many labels in all would certify a threshold of this coverage with probability `power`.

    Args:
        alpha: Highest share of wrong ones among accepted.
        level: Of one chain.
        risk: Expected share of wrong ones at or above the threshold.
        coverage: Share of items there: of 100 labels, 100 * coverage fall above it.
        power: Probability of being certified.

    Returns:
        None where no number would do: the risk is not below alpha, or nothing lies above the threshold.

    Raises:
        ValueError: If a rate is none.
    """
    if not 0 <= coverage <= 1:
        raise ValueError(f"a coverage must lie in 0..1, got {coverage}")
    found = labels_for_power(alpha, level, risk, power)
    return None if found is None or coverage == 0 else math.ceil(found.n / coverage)


def outlook(
    confidence: ArrayLike,
    error: ArrayLike,
    unlabelled: ArrayLike,
    grid: Sequence[float],
    *,
    more: Sequence[int] = (50, 100, 200),
    alpha: float,
    level: float,
    chains: int = 2,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[Outlook, ...]:
    """Return what more labels would buy if they turned out as present ones suggest.

    New labels fall into the bands between thresholds as unlabelled items do. A band's risk is drawn from its
    posterior under Jeffreys's prior, Beta(errors + 1/2, right + 1/2), then its errors; the two-chain binomial
    test is taken on present and new labels together.

    Args:
        confidence: Of shape (n,): of the present labels; there may be none.
        error: Of shape (n,): 1 where the item is wrong, else 0.
        unlabelled: Confidences of shape (N,): the stream.
        grid: Thresholds, the strictest first.
        more: Numbers of further labels.
        alpha: Highest share of wrong ones among accepted.
        level: Of all chains together, at the look at which the labels would be tested.
        chains: As many as the certificate's.
        draws: How often chance is tried.
        seed: The same one gives the same answer.

    Raises:
        ValueError: As `selective.certify`.
    """
    sure, wrong = check_sample(confidence, error, grid, alpha, level)
    stream = np.asarray(unlabelled, dtype=np.float64)
    if not len(stream) or not len(grid):
        return tuple(Outlook(number, 0.0, 0.0) for number in more)
    band, width = _bands(sure, grid), len(grid) + 1
    present = np.bincount(band, minlength=width)
    errors = np.bincount(band[wrong == 1], minlength=width)
    shares = np.bincount(_bands(stream, grid), minlength=width) / len(stream)
    coverage = np.append(np.cumsum(shares)[:-1], 0.0)
    share = level / len(starts_of(len(grid), chains))
    generator = np.random.default_rng(seed)
    found: list[Outlook] = []
    for number in more:
        new = generator.multinomial(number, shares, size=draws)
        risk = generator.beta(errors + 0.5, present - errors + 0.5, size=(draws, width))
        n = np.cumsum(present + new, axis=1)[:, :-1]
        k = np.cumsum(errors + generator.binomial(new, risk), axis=1)[:, :-1]
        last = furthest(binomial_tail(k, n, alpha) <= share, chains)
        # Place -1, nothing certified, is the coverage 0 at the end.
        found.append(Outlook(number, float(coverage[last].mean()), float((last >= 0).mean())))
    return tuple(found)


def _bands(confidence: NDArray[np.float64], grid: Sequence[float]) -> NDArray[np.int64]:
    """Return from which place of the grid on each item is accepted; the grid's length for never."""
    rising = np.asarray(grid, dtype=np.float64)[::-1]
    return (len(grid) - np.searchsorted(rising, confidence, side="right")).astype(np.int64)


def _check_rates(*rates: float) -> None:
    for rate in rates:
        if not 0 < rate < 1:
            raise ValueError(f"a rate must lie between 0 and 1, got {rate}")
