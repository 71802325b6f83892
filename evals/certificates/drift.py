"""How often the drift alarm is false over a year of nightly looks, and how soon it is raised when it is true.

Claimed: at most delta false alarms at a risk of alpha exactly, the worst that the claim allows; nine in ten
years at twice the risk are noticed. Run: python -m evals.certificates.drift [--json]
"""

from __future__ import annotations

import statistics
import sys
from typing import Final

import numpy as np

from evals.certificates.trials import Outcome, report
from pipeline.stats.drift import start_alarm

__all__ = ["main", "measure"]

NIGHTS: Final = 365
#: Audited grades per night.
AUDITS: Final = 3


def measure(trials: int = 400, seed: int = 1) -> list[Outcome]:
    """Return one row per alpha, delta and true risk."""
    return [
        _watch(alpha, delta, times, trials, seed)
        for alpha, delta in ((0.05, 0.05), (0.1, 0.1))
        for times in (1.0, 2.0, 3.0)
    ]


def _watch(alpha: float, delta: float, times: float, trials: int, seed: int) -> Outcome:
    generator = np.random.default_rng(seed)
    delays = []
    for _ in range(trials):
        alarm = start_alarm(alpha, delta)
        for night in generator.random((NIGHTS, AUDITS)) < alpha * times:
            alarm = alarm.after(night.tolist())
            if alarm.raised_at is not None:
                delays.append(alarm.raised_at)
                break
    name = f"alpha {alpha:g}, delta {delta:g}, risk {alpha * times:g}, {NIGHTS} nights of {AUDITS}"
    if times == 1:
        return Outcome(name, len(delays), trials, "most", delta)
    remark = f"median {statistics.median(delays):.0f} audits to the alarm" if delays else "never"
    return Outcome(name, len(delays), trials, "least", 0.9, remark)


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a claim fails."""
    return report("How often the drift alarm is raised within a year", measure(), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
