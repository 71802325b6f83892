"""Whether a stream has changed: an alarm over labelled items, and tests that need no labels.

The alarm bets against "at most alpha of what is accepted is wrong". Its wealth is a mixture of likelihood
ratios, each an e-process: with the claim true it ever reaches 1/delta with probability at most delta (Ville),
however often one looks. Tests without labels compare two windows; they see that something changed, never
whether grades became worse, and take gradings for independent.

Sources: I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting" (2024);
Y. Benjamini, Y. Hochberg (1995).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pipeline.stats.agreement import MINIMUM

__all__ = [
    "Alarm",
    "WindowTest",
    "adjust_p_values",
    "compare_distributions",
    "compare_histograms",
    "compare_rates",
    "measure_stability",
    "start_alarm",
]

#: Exponents of the risks that are bet on, alpha^(1 - s): a little above alpha up to several times as much.
_STAKES: Final = (0.1, 0.2, 0.3, 0.45, 0.6)
#: Fewer expected in a cell are too few for the chi-squared distribution.
_EXPECTED: Final = 5.0


@dataclass(frozen=True, slots=True)
class Alarm:
    """What is left of a stream of audits: all that is needed to go on the next night.

    Attributes:
        alpha: The share of wrong ones that is claimed at most.
        delta: How often, at most, the alarm is ever raised while the claim is true.
        n: Audited items so far.
        errors: How many of these were wrong.
        logarithms: Of each bet's wealth.
        peak: The highest evidence so far; 1/delta raises the alarm.
        raised_at: After how many items it was raised; None as long as it was not. It stays raised.
    """

    alpha: float
    delta: float
    n: int
    errors: int
    logarithms: tuple[float, ...]
    peak: float
    raised_at: int | None

    @property
    def evidence(self) -> float:
        """The wealth of the mixture: 1 at the start, and on average never more while the claim is true."""
        return _average_exponential(self.logarithms)

    def after(self, errors: Iterable[bool]) -> Alarm:
        """Return the alarm after more audited items, in the order in which they were labelled."""
        n, wrong, peak, raised_at = self.n, self.errors, self.peak, self.raised_at
        wealth = np.array(self.logarithms)
        risks = _risks(self.alpha)
        # 1 + b (e - alpha) at the b of each risk r is the likelihood ratio of r against alpha.
        gains, losses = np.log(risks / self.alpha), np.log((1 - risks) / (1 - self.alpha))
        for error in errors:
            n += 1
            wrong += bool(error)
            wealth = wealth + (gains if error else losses)
            peak = max(peak, _average_exponential(wealth.tolist()))
            if raised_at is None and peak >= 1 / self.delta:
                raised_at = n
        return replace(
            self, n=n, errors=wrong, logarithms=tuple(wealth.tolist()), peak=peak, raised_at=raised_at
        )


@dataclass(frozen=True, slots=True)
class WindowTest:
    """One comparison of an earlier with a later window.

    Attributes:
        name: What was compared.
        statistic: Kolmogorov and Smirnov's distance, the likelihood-ratio G, or the difference of rates.
        p_value: None where there is too little to compare.
        before: Items in the earlier window.
        after: Items in the later one.
        reason: Why there is no p-value.
    """

    name: str
    statistic: float | None
    p_value: float | None
    before: int
    after: int
    reason: str = ""


def start_alarm(alpha: float, delta: float) -> Alarm:
    """Return an alarm that has seen nothing.

    Raises:
        ValueError: If `alpha` or `delta` does not lie between 0 and 1.
    """
    if not (0 < alpha < 1 and 0 < delta < 1):
        raise ValueError(f"alpha and delta must lie between 0 and 1, got {alpha} and {delta}")
    return Alarm(alpha, delta, 0, 0, (0.0,) * len(_STAKES), 1.0, None)


def compare_distributions(
    name: str, before: ArrayLike, after: ArrayLike, *, minimum: int = MINIMUM
) -> WindowTest:
    """Compare two samples of numbers by Kolmogorov and Smirnov's test; ties make it cautious.

    Raises:
        ValueError: If a number is not finite.
    """
    earlier, later = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if not (np.isfinite(earlier).all() and np.isfinite(later).all()):
        raise ValueError(f"{name}: every number must be finite")
    reason = _too_few(len(earlier), len(later), minimum)
    if reason:
        return WindowTest(name, None, None, len(earlier), len(later), reason)
    from scipy.stats import ks_2samp

    found = ks_2samp(earlier, later)
    return WindowTest(name, float(found.statistic), float(found.pvalue), len(earlier), len(later))


def compare_histograms(
    name: str, before: Sequence[int], after: Sequence[int], *, minimum: int = MINIMUM
) -> WindowTest:
    """Compare two histograms over the same ordered categories by the likelihood-ratio (G) test.

    Neighbouring categories are put together until at least five are expected in each.

    Raises:
        ValueError: If they do not have the same categories, or a count is below 0.
    """
    counts = np.array([before, after], dtype=np.int64)
    if counts.ndim != 2 or (counts < 0).any():
        raise ValueError(f"{name}: both windows need a count, 0 or more, for each category")
    sizes = counts.sum(axis=1)
    reason = _too_few(int(sizes[0]), int(sizes[1]), minimum)
    columns = [] if reason else _pool(counts)
    if not reason and len(columns) < 2:
        reason = "nearly everything lies in one category"
    if reason:
        return WindowTest(name, None, None, int(sizes[0]), int(sizes[1]), reason)
    from scipy.stats import chi2_contingency

    found = chi2_contingency(np.array(columns).T, correction=False, lambda_="log-likelihood")
    return WindowTest(name, float(found.statistic), float(found.pvalue), int(sizes[0]), int(sizes[1]))


def compare_rates(
    name: str, before: tuple[int, int], after: tuple[int, int], *, minimum: int = MINIMUM
) -> WindowTest:
    """Compare two rates by Fisher's exact test: the earlier rate is an estimate too, not a known constant.

    Args:
        name: What is compared.
        before: Hits and trials of the earlier window.
        after: Of the later one.
        minimum: Fewest trials in each.

    Raises:
        ValueError: If there are more hits than trials.
    """
    for hits, trials in (before, after):
        if not 0 <= hits <= trials:
            raise ValueError(f"{name}: hits must lie in 0..{trials}, got {hits}")
    reason = _too_few(before[1], after[1], minimum)
    if reason:
        return WindowTest(name, None, None, before[1], after[1], reason)
    from scipy.stats import fisher_exact

    found = fisher_exact([[hits, trials - hits] for hits, trials in (before, after)])
    difference = after[0] / after[1] - before[0] / before[1]
    return WindowTest(name, difference, min(float(found.pvalue), 1.0), before[1], after[1])


def adjust_p_values(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return Benjamini and Hochberg's adjusted p-values, in the order given.

    Calling what lies at or below q a change is wrong in at most a share q of such calls on average.

    Raises:
        ValueError: If one lies outside 0..1.
    """
    if any(not 0 <= p <= 1 for p in p_values):
        raise ValueError("a p-value lies in 0..1")
    if not p_values:
        return ()
    values = np.array(p_values)
    order = np.argsort(values, kind="stable")
    ranked = values[order] * len(values) / np.arange(1, len(values) + 1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum.accumulate(ranked[::-1])[::-1]
    return tuple(float(min(p, 1.0)) for p in adjusted)


def measure_stability(before: Sequence[int], after: Sequence[int]) -> float | None:
    """Return the population stability index of two histograms, for display: it has no significance level.

    Half an item is added to each category, so that an empty one does not make it infinite. None where a
    window is empty.

    Raises:
        ValueError: If they do not have the same categories.
    """
    if len(before) != len(after):
        raise ValueError("both windows need the same categories")
    if not sum(before) or not sum(after):
        return None
    earlier, later = (np.array(counts, dtype=np.float64) + 0.5 for counts in (before, after))
    earlier, later = earlier / earlier.sum(), later / later.sum()
    return float(((later - earlier) * np.log(later / earlier)).sum())


def _risks(alpha: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([alpha ** (1 - stake) for stake in _STAKES])


def _average_exponential(logarithms: Sequence[float]) -> float:
    # Beyond what a float holds the alarm was raised long ago.
    return math.fsum(math.exp(min(value, 700.0)) for value in logarithms) / len(logarithms)


def _too_few(before: int, after: int, minimum: int) -> str:
    fewest = min(before, after)
    return f"too few: {fewest} of at least {minimum} in a window" if fewest < minimum else ""


def _pool(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[tuple[int, int]]:
    """Return columns of counts with at least five expected in both rows, neighbours put together."""
    smaller = counts.sum(axis=1).min() / counts.sum()
    pooled: list[tuple[int, int]] = []
    first = second = 0
    for before, after in counts.T.tolist():
        first, second = first + before, second + after
        if (first + second) * smaller >= _EXPECTED:
            pooled.append((first, second))
            first = second = 0
    if first + second and pooled:
        pooled[-1] = (pooled[-1][0] + first, pooled[-1][1] + second)
    return pooled
