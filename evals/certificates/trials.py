"""What every Monte Carlo here has in common: how often something happened, and how often it may.

A claim "this happens with probability p at most" (or at least) fails only where the count would surprise: a
one-sided exact binomial test at 1 in 1,000, so that of fifty true claims one fails in 5 % of suites at worst.
Seeds are fixed: a suite fails always or never.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

from pipeline.stats.intervals import wilson_interval

__all__ = ["SURPRISE", "Mean", "Outcome", "report"]

#: How improbable a count must be for its claim to fail.
SURPRISE: Final = 0.001


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often something happened.

    Attributes:
        name: Of what, in which setting.
        hits: How often it happened.
        trials: Of how many.
        claim: What is claimed of its probability: that it is at ``most`` or at ``least`` `limit`; ``none``
            for a row that is there to compare with.
        limit: The claimed bound.
        remark: More to print, such as the mean coverage.
    """

    name: str
    hits: int
    trials: int
    claim: Literal["most", "least", "none"] = "none"
    limit: float = 1.0
    remark: str = ""

    @property
    def holds(self) -> bool:
        """Whether the count leaves the claim possible."""
        from scipy.stats import binomtest

        if self.claim == "none":
            return True
        side = "greater" if self.claim == "most" else "less"
        return bool(binomtest(self.hits, self.trials, self.limit, alternative=side).pvalue >= SURPRISE)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over trials beside what it should be near.

    Attributes:
        name: Of what.
        value: The mean.
        trials: Over how many.
        expected: What it should be near.
        tolerance: How near.
    """

    name: str
    value: float
    trials: int
    expected: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether it is near."""
        return abs(self.value - self.expected) <= self.tolerance


def report(title: str, rows: Sequence[Outcome | Mean], arguments: Sequence[str]) -> int:
    """Print a table, or with ``--json`` the data, and return the exit code: 1 where a claim fails."""
    if "--json" in arguments:
        data = [asdict(row) | {"holds": row.holds} for row in rows]
        json.dump({"title": title, "rows": data}, sys.stdout, indent=2)
        print()
    else:
        print(f"{title}\n{'':64} {'n':>6} {'rate':>6}  95 %           claim")
        for row in rows:
            print(f"{row.name:64} {row.trials:6} {_cells(row)}".rstrip())
    return 0 if all(row.holds for row in rows) else 1


def _cells(row: Outcome | Mean) -> str:
    verdict = "holds" if row.holds else "FAILS"
    if isinstance(row, Mean):
        claim = f"{row.expected:g} +- {row.tolerance:g}"
        return f"{row.value:6.3f}  {'':12}   {claim:14} {verdict}"
    span = wilson_interval(row.hits, row.trials)
    claim = "" if row.claim == "none" else f"at {row.claim} {row.limit:g}"
    rate = f"{row.hits / row.trials:6.3f}  {span.low:.3f}..{span.high:.3f}"
    return f"{rate}   {claim:14} {verdict if claim else '':6} {row.remark}"
