"""A threshold on confidence with a guarantee: of what lies at or above it, at most alpha is wrong.

Thresholds are tried from the strictest on, along a grid that was fixed before any label was seen, and a chain
stops at its first failure: so no correction for the number of thresholds is needed. Several chains that start
at different places share the level, because the most confident items can be the wrong ones and would stop a
single chain at once.

Sources: B. L. Wiens, "A fixed sequence Bonferroni procedure", Pharmaceutical Statistics 2 (2003); A. N.
Angelopoulos et al., "Learn then Test", Annals of Applied Statistics 19 (2025).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pipeline.stats.intervals import clopper_pearson_upper

__all__ = [
    "Certified",
    "Evidence",
    "Tested",
    "binomial_tail",
    "certify",
    "certify_cascade",
    "check_sample",
    "furthest",
    "grid_of",
    "starts_of",
    "walk",
    "weigh_items",
]

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What labels say of one threshold.

    Attributes:
        n: Labelled items at or above it.
        errors: How many of these are wrong.
        p_value: How probable so few errors are where the risk is alpha or more.
        bound: Upper bound of the risk at the level that a chain has; at most alpha where the test is passed.
        clusters: Independent groups among the items; the items themselves where each was drawn by itself.
    """

    n: int
    errors: int
    p_value: float
    bound: float
    clusters: int


@dataclass(frozen=True, slots=True)
class Tested:
    """One threshold that a chain came to.

    Attributes:
        chain: Number of the chain, from 0.
        position: Place of the threshold in the grid.
        threshold: The threshold.
        evidence: What the labels say of it.
        passed: Whether its p-value is at most the level of the chain; where not, the chain ends here.
    """

    chain: int
    position: int
    threshold: float
    evidence: Evidence
    passed: bool


@dataclass(frozen=True, slots=True)
class Certified:
    """The outcome of a test.

    Attributes:
        threshold: The lowest threshold that was certified; None: nothing may be accepted.
        evidence: Of that threshold, else of none: no items, no errors, a bound of 1.
        tested: Every threshold that a chain came to, chain by chain.
        chains: How many chains shared the level: never more than the grid has thresholds.
        n: Labelled items in all.
    """

    threshold: float | None
    evidence: Evidence
    tested: tuple[Tested, ...]
    chains: int
    n: int


def grid_of(unlabelled: ArrayLike, steps: int = 10) -> tuple[float, ...]:
    """Return thresholds that accept 1/steps, 2/steps, ... of the unlabelled items, the strictest first.

    Items that are equally confident are accepted together: a threshold then accepts more than its share, and
    one that several shares lead to is there once: there may be fewer than `steps`, and none without items.

    Args:
        unlabelled: Confidences of shape (n,); no label may have been looked at.
        steps: How many shares.

    Raises:
        ValueError: If `steps` is below 1 or a confidence is not a finite number.
    """
    if steps < 1:
        raise ValueError(f"a grid needs at least one step, got {steps}")
    confidence = np.asarray(unlabelled, dtype=np.float64)
    if confidence.ndim != 1 or not np.isfinite(confidence).all():
        raise ValueError("confidences must be a list of finite numbers")
    if not len(confidence):
        return ()
    descending = np.sort(confidence)[::-1]
    # In integers: a share such as 3/10 of 10 items is 3, which floats may round up to 4.
    places = -(-np.arange(1, steps + 1) * len(confidence) // steps) - 1
    return tuple(float(value) for value in np.unique(descending[places])[::-1])


def certify(
    confidence: ArrayLike,
    error: ArrayLike,
    grid: Sequence[float],
    *,
    alpha: float,
    level: float,
    chains: int = 2,
) -> Certified:
    """Return the lowest threshold whose risk is at most alpha, wrong with probability `level` at most.

    Every item is one independent draw from the population, so that the errors above a threshold are binomial.

    Args:
        confidence: Of shape (n,): of the labelled items, none of which chose the grid, the judge or the
            confidence.
        error: Of shape (n,): 1 where the item is wrong, else 0.
        grid: Thresholds, the strictest first, fixed before labels were seen.
        alpha: Highest share of wrong ones among accepted.
        level: Probability that the answer may be wrong with; shared equally by the chains.
        chains: How many; they start at equal distances along the grid. One is the fixed-sequence test.

    Raises:
        ValueError: If lengths differ, an error is neither 0 nor 1, the grid does not fall, or a rate lies
            outside (0, 1).
    """
    sure, wrong = check_sample(confidence, error, grid, alpha, level)
    share = level / max(1, len(starts_of(len(grid), chains)))

    def test(position: int) -> Evidence:
        accepted = sure >= grid[position]
        return weigh_items(int(wrong[accepted].sum()), int(accepted.sum()), alpha=alpha, level=share)

    return walk(grid, test, level=level, chains=chains, n=len(sure))


def weigh_items(errors: int, n: int, *, alpha: float, level: float) -> Evidence:
    """Return what errors among independent items say of "the risk is alpha or more".

    Args:
        errors: How many are wrong.
        n: Of how many.
        alpha: Highest risk.
        level: Of this one test, for the bound.
    """
    bound = clopper_pearson_upper(errors, n, 1 - level)
    return Evidence(n, errors, float(binomial_tail(errors, n, alpha)), bound, n)


def certify_cascade(
    confidences: Sequence[ArrayLike],
    errors: Sequence[ArrayLike],
    grids: Sequence[Sequence[float]],
    stage_of: ArrayLike,
    *,
    alpha: float,
    level: float,
    chains: int = 2,
) -> tuple[Certified, ...]:
    """Return a threshold for each stage of a cascade, in which a stage sees what none before it accepted.

    Every labelled item certifies one stage only. That a stage's population follows from thresholds that
    labels chose is then no matter, for they were others; and as each stage keeps alpha, all accepted do.

    Args:
        confidences: Of each of the M stages those of all items, of shape (n,).
        errors: Of each stage, of shape (n,): 1 where its answer to the item is wrong.
        grids: Of each stage the thresholds, the strictest first.
        stage_of: Of shape (n,): number of the stage, from 0, that the item certifies; drawn by chance.
        alpha: Highest share of wrong ones among accepted.
        level: Of all stages together; each has 1/M of it.
        chains: Of each stage.

    Raises:
        ValueError: If there are not as many confidences, errors and grids, or `certify` refuses them.
    """
    if not len(confidences) == len(errors) == len(grids):
        raise ValueError("every stage needs confidences, errors and a grid")
    stages = np.asarray(stage_of)
    waiting = np.ones(len(stages), dtype=np.bool_)
    outcomes: list[Certified] = []
    for number, (confidence, error, grid) in enumerate(zip(confidences, errors, grids, strict=True)):
        sure, wrong = check_sample(confidence, error, grid, alpha, level)
        if len(sure) != len(stages):
            raise ValueError("every stage needs a confidence for every item")
        own = waiting & (stages == number)
        outcome = certify(sure[own], wrong[own], grid, alpha=alpha, level=level / len(grids), chains=chains)
        if outcome.threshold is not None:
            waiting &= sure < outcome.threshold
        outcomes.append(outcome)
    return tuple(outcomes)


def walk(
    grid: Sequence[float], test: Callable[[int], Evidence], *, level: float, chains: int, n: int
) -> Certified:
    """Return what a fixed-sequence test with several chains finds, whatever tests one threshold.

    Args:
        grid: Thresholds, the strictest first.
        test: From a place in the grid to what the labels say of it.
        level: Of all chains together.
        chains: How many at most.
        n: Labelled items in all.
    """
    starts = starts_of(len(grid), chains)
    tested: list[Tested] = []
    for chain, start in enumerate(starts):
        for position in range(start, len(grid)):
            evidence = test(position)
            passed = evidence.p_value <= level / len(starts)
            tested.append(Tested(chain, position, grid[position], evidence, passed))
            if not passed:
                break
    best = max((row for row in tested if row.passed), key=lambda row: row.position, default=None)
    nothing = Evidence(0, 0, 1.0, 1.0, 0)
    return Certified(
        best.threshold if best else None, best.evidence if best else nothing, tuple(tested), len(starts), n
    )


def starts_of(size: int, chains: int) -> tuple[int, ...]:
    """Return where chains start in a grid of `size` thresholds: 0, size/chains, ...; no place twice.

    Raises:
        ValueError: If there is no chain.
    """
    if chains < 1:
        raise ValueError(f"a test needs at least one chain, got {chains}")
    used = min(size, chains)
    return tuple(chain * size // used for chain in range(used))


def furthest(passed: NDArray[np.bool_], chains: int) -> NDArray[np.int64]:
    """Return the last place of the grid that any chain certifies, -1 for none; for many samples at once.

    Args:
        passed: Of shape (..., G): whether the p-value there is within the level of one chain.
        chains: How many at most.
    """
    size = passed.shape[-1]
    last = np.full(passed.shape[:-1], -1, dtype=np.int64)
    for start in starts_of(size, chains):
        run = np.logical_and.accumulate(passed[..., start:], axis=-1).sum(axis=-1)
        last = np.maximum(last, np.where(run > 0, start + run - 1, -1))
    return last


def binomial_tail(errors: ArrayLike, n: ArrayLike, alpha: float) -> _Array:
    """Return P(K <= errors) with K binomial(n, alpha): the p-value of "the risk is alpha or more"."""
    from scipy.special import betaincc

    k, trials = np.asarray(errors, dtype=np.float64), np.asarray(n, dtype=np.float64)
    # P(K <= k) is the chance that a beta(k + 1, n - k) variable exceeds alpha; for k = n there is none.
    tail: _Array = np.where(k >= trials, 1.0, betaincc(k + 1, np.maximum(trials - k, 1), alpha))
    return tail


def check_sample(
    confidence: ArrayLike, error: ArrayLike, grid: Sequence[float], alpha: float, level: float
) -> tuple[_Array, NDArray[np.int64]]:
    """Return confidences and errors as arrays of shape (n,).

    Raises:
        ValueError: As `certify` says.
    """
    sure, wrong = np.asarray(confidence, dtype=np.float64), np.asarray(error, dtype=np.float64)
    if sure.ndim != 1 or sure.shape != wrong.shape:
        raise ValueError("every labelled item needs a confidence and an error")
    if not np.isfinite(sure).all():
        raise ValueError("a confidence is not a finite number")
    if not np.isin(wrong, (0.0, 1.0)).all():
        raise ValueError("an error is 1 (wrong) or 0 (right)")
    if any(earlier <= later for earlier, later in pairwise(grid)):
        raise ValueError("a grid falls strictly, from the strictest threshold on")
    for name, rate in (("alpha", alpha), ("level", level)):
        if not 0 < rate < 1:
            raise ValueError(f"{name} must lie between 0 and 1, got {rate}")
    return sure, wrong.astype(np.int64)
