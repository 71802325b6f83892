"""How often the intervals of true means hold the truth, with good, poor and biased judges.

Claimed: 93 to 97 % for intervals at 95 %. Run: python -m evals.certificates.prediction_powered [--json]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Final, Literal

import numpy as np

from evals.certificates.trials import Outcome, report
from pipeline.stats.prediction_powered import (
    PoweredMean,
    Stratum,
    estimate_powered_mean,
    estimate_stratified_mean,
)

__all__ = ["main", "measure"]

#: Share of right grades, as in section 2.5 of judging.md.
PREVALENCE: Final = 0.6
#: One experiment: a true mean and what was estimated of it.
Draw = Callable[[np.random.Generator], tuple[float, PoweredMean]]


def measure(trials: int = 2000, seed: int = 1) -> list[Outcome]:
    """Return two rows per setting: coverage is at least 93 % and at most 97 %."""
    settings: list[tuple[str, Draw]] = [
        (f"PPI++ n={n} N=2000 judge right {right:g}", _draw_powered(n, right))
        for n in (50, 100, 300)
        for right in (0.9, 0.8, 0.7)
    ]
    populations: tuple[Literal["finite", "super"], ...] = ("finite", "super")
    settings += [
        (f"strata 300 + 700, 100 audited, {judge}, {population}", _draw_strata(judge, population))
        for judge in ("good judge", "lenient judge")
        for population in populations
    ]
    return [row for name, draw in settings for row in _cover(name, draw, trials, seed)]


def _cover(name: str, draw: Draw, trials: int, seed: int) -> Iterator[Outcome]:
    generator = np.random.default_rng(seed)
    hits, widths, errors = 0, [], []
    for _ in range(trials):
        truth, found = draw(generator)
        value, interval = found.estimate.value, found.estimate.interval
        if value is None or interval is None:
            continue
        hits += interval.low <= truth <= interval.high
        widths.append(interval.high - interval.low)
        errors.append(value - truth)
    own = float(np.std(errors)) / len(errors) ** 0.5
    remark = f"width {np.mean(widths):.3f}, mean error {np.mean(errors):+.4f} (its own s.e. {own:.4f})"
    yield Outcome(name, hits, trials, "least", 0.93, remark)
    yield Outcome(name, hits, trials, "most", 0.97)


def _draw_powered(n: int, right: float) -> Draw:
    def draw(generator: np.random.Generator) -> tuple[float, PoweredMean]:
        truth = generator.random(n + 2000) < PREVALENCE
        judged = np.where(generator.random(n + 2000) < right, truth, ~truth)
        return PREVALENCE, estimate_powered_mean(truth[:n], judged[:n], judged[n:])

    return draw


def _draw_strata(judge: str, population: Literal["finite", "super"]) -> Draw:
    def draw(generator: np.random.Generator) -> tuple[float, PoweredMean]:
        # People see what the judge is unsure of: half of it is right, and 0.8 of what is accepted.
        escalated = generator.binomial(4, 0.5, 300) / 4
        accepted = generator.binomial(4, 0.8, 700) / 4
        lift = 0.25 if judge == "lenient judge" else 0.0
        noise = generator.choice([-0.25, 0.0, 0.25], 700, p=[0.1, 0.8, 0.1])
        judged = np.clip(accepted + lift + noise, 0, 1)
        parts = (values.tolist() for values in (accepted[:100], judged[:100], judged[100:]))
        strata = [Stratum(escalated.tolist(), [0.5] * 300, []), Stratum(*parts)]
        truth = 0.3 * 0.5 + 0.7 * 0.8
        if population == "finite":
            truth = float(np.concatenate([escalated, accepted]).mean())
        return truth, estimate_stratified_mean(strata, population=population)

    return draw


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a claim fails."""
    return report("How often 95 % intervals of true means hold the truth", measure(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
