"""How many bytes cross HBM, against the fewest the task can do with?"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.checks.check import Evidence
from pipeline.checks.facts import collect_facts, fact_named
from pipeline.checks.outcome import leave_open
from pipeline.checks.threshold import Threshold, number_of
from pipeline.types import CheckReport

__all__ = ["HbmTraffic"]

_RATIO = "profile.hbm_traffic_ratio"

_THRESHOLD = Threshold(
    id="hbm_traffic",
    title="HBM traffic",
    version=1,
    fact=_RATIO,
    direction="at_most",
    bound=1.25,
    advice="Either an operand is loaded more than once (hoist its load out of the inner loop and keep the"
    " tile in SBUF while it is needed, or block the loops so that each load serves more work), or an"
    " intermediate result goes out to HBM and back (keep it in SBUF).",
    absent="the profile did not count HBM bytes",
)


@dataclass(frozen=True, slots=True)
class HbmTraffic:
    """Passed when traffic is at most 1.25 times the minimum.

    Less traffic than the minimum cannot be: then either the task's formula or the program's coverage is
    wrong, and the check stays open rather than praise it. One part in a hundred is allowed for rounding.
    """

    id: str = "hbm_traffic"
    title: str = "HBM traffic"
    version: int = 1

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from the byte counts of the scored shapes."""
        ratio = fact_named(collect_facts(evidence), _RATIO)
        value = number_of(ratio)
        if ratio is not None and value is not None and value < 0.99:
            return leave_open(
                self.id,
                f"{ratio.digits} times the minimum is less than the task can do with: its work.bytes formula"
                " or the kernel's coverage is wrong",
            )
        return _THRESHOLD.inspect(evidence)
