"""How often the selective certificate promises what is not so, and how much it lets stand.

    python -m evals.certificates.selective [--json]

A violation is a certified threshold whose true risk is above alpha. Alpha and delta are .10, grids have ten
steps. `naive`, the largest coverage at which the labels' error rate is at most alpha, is there to compare
with.

*Smooth*: an item at share u of the stream, the most confident first, is wrong with probability a + b u^1.5.
The reference (facts/judging.md 2.3) prints of its model only the mean, .115, and that of the first tenth,
.017; a = .0138 and b = .253 follow from them and the exponent. Eight exponents from .7 to 3 were tried, and
1.5 taken because its coverages came nearest to the reference's. That coverage agrees is therefore no
independent evidence: it shows that some smooth model with those two means reproduces the table, and notices
changes. *Flat*: confidence says nothing. *Adversarial*: half of the most confident tenth is wrong; of the
rest 3 %, so that all of it together is within alpha, or 6 %, so that nothing is. *Overfitted*: labels are
noise with risk .12, and the confidence is a least-squares fit of 30 features that are noise too, on the
labels that certify, or others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evals.certificates.trials import Mean, Outcome, report
from pipeline.stats.selective import certify, grid_of

__all__ = ["main", "measure", "smooth_risk"]

_Array = NDArray[np.float64]
Risk = Callable[[_Array], _Array]

ALPHA: Final = 0.1
DELTA: Final = 0.1
#: Mean coverages that facts/judging.md 2.3 gives for two chains on the smooth model, by number of labels.
REFERENCE: Final = {200: 0.27, 300: 0.43, 500: 0.60}
TOLERANCE: Final = 0.05
_SLOPE: Final = 0.098 / (0.4 * (1 - 0.1**1.5))
_FEATURES: Final = 30


def smooth_risk(share: _Array) -> _Array:
    """Return the risk of items by their place in the stream, 0 for the most confident."""
    return 0.115 - 0.4 * _SLOPE + _SLOPE * share**1.5


def _adversarial_risk(rest: float) -> Risk:
    return lambda share: np.where(share < 0.1, 0.5, rest)


def _flat_risk(risk: float) -> Risk:
    return lambda share: np.full_like(share, risk)


def measure(trials: int = 1000, seed: int = 0) -> list[Outcome | Mean]:
    """Return violation rates, and whether coverage lies where the reference has it.

    Args:
        trials: Samples of labels per row.
        seed: Of all draws.
    """
    outcomes: list[Outcome | Mean] = []
    for n in (200, 300, 500):
        outcomes += _stream(f"smooth, n = {n}", smooth_risk, n, trials, seed, REFERENCE[n])
    for risk in (0.101, 0.12, 0.15):
        outcomes += _stream(f"flat {risk}, n = 300", _flat_risk(risk), 300, trials, seed)
    for rest in (0.03, 0.06):
        outcomes += _stream(f"adversarial {rest}, n = 300", _adversarial_risk(rest), 300, trials, seed)
    outcomes += _overfitted(300, trials, seed)
    return outcomes


def _stream(
    name: str, risk: Risk, n: int, trials: int, seed: int, reference: float | None = None
) -> list[Outcome | Mean]:
    """Return the outcomes of one stream; confidences are 1 - u, so that coverages are what thresholds say."""
    generator = np.random.default_rng([seed, n])
    places = (np.arange(100_000) + 0.5) / 100_000
    means = np.cumsum(risk(places)) / np.arange(1, 100_001)
    grid = grid_of(1 - places)
    violated, naively, coverages = 0, 0, np.zeros(trials)
    for trial in range(trials):
        share = generator.random(n)
        error = (generator.random(n) < risk(share)).astype(np.float64)
        found = certify(1 - share, error, grid, alpha=ALPHA, level=DELTA).threshold
        coverages[trial] = _coverage(found)
        violated += _risk_at(coverages[trial], means) > ALPHA
        naively += _risk_at(_coverage(_largest(1 - share, error, grid)), means) > ALPHA
    mean = float(coverages.mean())
    rows: list[Outcome | Mean] = [
        Outcome(f"{name}: violations", violated, trials, "most", DELTA, f"mean coverage {mean:.2f}"),
        Outcome(f"{name}: violations, naive", naively, trials),
    ]
    if reference is not None:
        rows.append(Mean(f"{name}: mean coverage, beside the reference", mean, trials, reference, TOLERANCE))
    return rows


def _coverage(threshold: float | None) -> float:
    return 0.0 if threshold is None else 1 - threshold


def _risk_at(coverage: float, means: _Array) -> float:
    return 0.0 if coverage == 0 else float(means[min(round(coverage * len(means)), len(means)) - 1])


def _largest(confidence: _Array, error: _Array, grid: tuple[float, ...]) -> float | None:
    kept = [
        threshold
        for threshold in grid
        if (confidence >= threshold).any() and error[confidence >= threshold].mean() <= ALPHA
    ]
    return min(kept, default=None)


def _overfitted(n: int, trials: int, seed: int) -> list[Outcome]:
    """Return how often anything is certified, which is never right: the risk is .12 whatever the features."""
    generator = np.random.default_rng([seed, n, _FEATURES])
    same = others = 0
    for _ in range(trials):
        features = generator.standard_normal((2 * n, _FEATURES))
        error = (generator.random(2 * n) < 0.12).astype(np.float64)
        stream = generator.standard_normal((2000, _FEATURES))
        weights = np.linalg.lstsq(features[:n], error[:n].mean() - error[:n], rcond=None)[0]
        grid = grid_of(stream @ weights)
        first = certify(features[:n] @ weights, error[:n], grid, alpha=ALPHA, level=DELTA)
        second = certify(features[n:] @ weights, error[n:], grid, alpha=ALPHA, level=DELTA)
        same += first.threshold is not None
        others += second.threshold is not None
    return [
        Outcome(f"overfitted, n = {n}, certified on other labels: violations", others, trials, "most", DELTA),
        Outcome(
            f"overfitted, n = {n}, split broken: violations", same, trials, "least", 0.5, "why labels split"
        ),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print the table; exit code 1 where a claim fails."""
    title = f"Selective certificate: alpha {ALPHA}, delta {DELTA}, two chains"
    return report(title, measure(), sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
