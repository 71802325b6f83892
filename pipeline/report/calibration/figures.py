"""The two figures of a calibration: whether probabilities hold, and what accepting more would cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from pipeline.report.calibration.plot import Plot
from pipeline.stats.intervals import Interval, wilson_interval
from pipeline.stats.reliability import Reliability, RiskCoverage
from pipeline.types import Certificate

__all__ = ["RiskRow", "draw_reliability", "draw_risk", "sample_risk"]

#: More points than this would not be seen.
_MOST_POINTS: Final = 200
#: Ends of the vertical axis, of which the lowest that leaves room is taken.
_ENDS: Final = (0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class RiskRow:
    """One row of the table under the risk-coverage figure.

    Attributes:
        threshold: Probabilities from here on.
        accepted: How many drafts reach it.
        coverage: Their share of all.
        wrong: How many of them are wrong.
        risk: Their share of the accepted.
        interval: Wilson's, of the risk, as if drafts were independent.
    """

    threshold: float
    accepted: int
    coverage: float
    wrong: int
    risk: float
    interval: Interval


def draw_reliability(reliability: Reliability, key: str) -> Markup:
    """Return the reliability diagram: share right beside probability, with 95 % intervals.

    Args:
        reliability: What was measured, at least one bin of it.
        key: Tells this figure from others of the same page.
    """
    bins = reliability.diagram
    plot = Plot(
        key,
        title="Reliability diagram",
        words="; ".join(
            f"of {one.n} drafts about {_percent(one.confidence)} sure {_percent(one.right)} were right"
            for one in bins
        ),
        across="probability of being right",
        up="share that was right",
    )
    plot.line([(0, 0), (1, 1)], "muted", dashed=True)
    for one in bins:
        plot.bar(one.confidence, one.interval.low, one.interval.high, "accent")
    most = max(one.n for one in bins)
    for one in bins:
        plot.point(one.confidence, one.right, "accent", 3 + 4 * math.sqrt(one.n / most))
    return plot.draw()


def draw_risk(reliability: Reliability, alpha: float, certificate: Certificate | None, key: str) -> Markup:
    """Return the risk-coverage curve, the limit, and where a certificate lies on it.

    Args:
        reliability: What was measured, at least one point of its curve.
        alpha: The highest share of wrong ones that the policy bears.
        certificate: The one for the same drafts; None, or one without a threshold, is no point.
        key: Tells this figure from others of the same page.
    """
    curve = reliability.curve
    certified = certificate is not None and certificate.threshold is not None
    shown = [alpha * 1.25, *curve.risk]
    if certificate is not None and certified and certificate.bound is not None:
        shown.append(certificate.bound)
    highest = next((end for end in _ENDS if end >= max(shown)), 1.0)
    plot = Plot(
        key,
        title="Risk and coverage",
        words=_describe(curve, alpha, certificate if certified else None),
        across="share of drafts accepted, the surest first",
        up="share of these that is wrong",
        highest=highest,
    )
    plot.line([(0, alpha), (1, alpha)], "bad", dashed=True)
    plot.note(0.01, alpha, f"the policy's limit, {_percent(alpha)}", "bad")
    plot.line(_thin(list(zip(curve.coverage, curve.risk, strict=True))), "accent")
    if certificate is not None and certified:
        coverage = certificate.coverage or 0.0
        rate = certificate.errors / certificate.accepted if certificate.accepted else 0.0
        plot.line([(coverage, 0), (coverage, highest)], "good", dashed=True)
        plot.bar(coverage, rate, certificate.bound if certificate.bound is not None else rate, "good")
        plot.point(coverage, rate, "good")
        plot.note(coverage, highest, f" certified: {_percent(coverage)}", "good")
    return plot.draw()


def sample_risk(reliability: Reliability, steps: int = 10) -> tuple[RiskRow, ...]:
    """Return the curve at the first points that accept 1/steps, 2/steps, ... of all; none twice."""
    curve, n = reliability.curve, reliability.n
    rows: dict[int, RiskRow] = {}
    place = 0
    for step in range(1, steps + 1):
        while place < len(curve.coverage) - 1 and round(curve.coverage[place] * n) * steps < step * n:
            place += 1
        if place >= len(curve.coverage):
            break
        accepted = round(curve.coverage[place] * n)
        wrong = round(curve.risk[place] * accepted)
        rows[place] = RiskRow(
            threshold=curve.thresholds[place],
            accepted=accepted,
            coverage=accepted / n,
            wrong=wrong,
            risk=wrong / accepted,
            interval=wilson_interval(wrong, accepted),
        )
    return tuple(rows.values())


def _describe(curve: RiskCoverage, alpha: float, certificate: Certificate | None) -> str:
    within = max(
        (share for share, risk in zip(curve.coverage, curve.risk, strict=True) if risk <= alpha), default=0.0
    )
    words = (
        f"on the report's labels up to {_percent(within)} could be accepted"
        f" with {_percent(alpha)} of them wrong"
    )
    if certificate is None:
        return f"{words}; no threshold is certified"
    return f"{words}; certified are {_percent(certificate.coverage or 0.0)}"


def _thin(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    if len(points) <= _MOST_POINTS:
        return points
    last = len(points) - 1
    return [points[place * last // (_MOST_POINTS - 1)] for place in range(_MOST_POINTS)]


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"
