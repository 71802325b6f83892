"""How checks become levels, and levels one grade. docs/grading.md works an example by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pipeline.types import (
    CheckReport,
    CheckStatus,
    Citation,
    Criterion,
    Fact,
    OverallGrade,
    Rubric,
    Scale,
    Score,
)

__all__ = ["grade_overall", "score_checks"]

_DIGITS = 6
"""Decimals of a grade; sums of weights differ in the last bits between orders of addition."""


def score_checks(rubric: Rubric, reports: Iterable[CheckReport], facts: Iterable[Fact]) -> tuple[Score, ...]:
    """Return one score per criterion whose source is a check, in the rubric's order.

    With a scale the fact's value decides: the best level whose bound holds, else 0. Without one a passed
    check is the best level and a failed one level 0. A check that left its question open, or a fact that is
    absent or no number, leaves the criterion unscored with the reason.
    """
    answered = {report.check: report for report in reports}
    known = {fact.id: fact for fact in facts}
    return tuple(
        _score(criterion, answered.get(criterion.check), known)
        for criterion in rubric.criteria
        if criterion.check is not None
    )


def grade_overall(rubric: Rubric, scores: Iterable[Score], reports: Iterable[CheckReport]) -> OverallGrade:
    """Return the one number of a grading, or why there is none.

    In this order: a gate whose check failed makes the grade 0 and a fail. A gate whose question is open
    leaves it without a number. Less scored weight than the rubric asks for leaves it without one too.
    Otherwise the number is the weighted mean of level over best level, over the scored criteria alone, and
    the pass mark decides. A criterion without a score among `scores` counts as unscored.
    """
    levels = {score.criterion: score.level for score in scores if score.level is not None}
    scored = [criterion for criterion in rubric.criteria if criterion.id in levels]
    total = math.fsum(criterion.weight for criterion in rubric.criteria)
    weight = math.fsum(criterion.weight for criterion in scored)
    share = round(weight / total, _DIGITS)

    answered = {report.check: report for report in reports}
    closed = [gate for gate in rubric.overall.gates if _status(answered.get(gate)) is CheckStatus.FAILED]
    if closed:
        return OverallGrade(
            value=0.0,
            passed=False,
            reason=f"gate {closed[0]} is closed: {answered[closed[0]].reason}",
            scored_weight=share,
            closed_gates=tuple(closed),
        )
    undecided = [gate for gate in rubric.overall.gates if _status(answered.get(gate)) is CheckStatus.UNKNOWN]
    if undecided:
        gate = undecided[0]
        reason = f"gate {gate} is undecided: {_explain_open(answered.get(gate), gate)}"
        return OverallGrade(value=None, passed=None, reason=reason, scored_weight=share)
    if share < rubric.overall.minimum_scored_weight:
        reason = (
            f"{share:.2f} of the weight is scored; {rubric.id} {rubric.version} asks for"
            f" {rubric.overall.minimum_scored_weight:.2f}"
        )
        return OverallGrade(value=None, passed=None, reason=reason, scored_weight=share)
    earned = math.fsum(
        criterion.weight * levels[criterion.id] / _best_level(criterion) for criterion in scored
    )
    value = round(earned / weight, _DIGITS)
    passed = value >= rubric.overall.pass_mark
    comparison = "reaches" if passed else "is below"
    return OverallGrade(
        value=value,
        passed=passed,
        reason=f"{value:.3f} {comparison} the pass mark {rubric.overall.pass_mark:g}",
        scored_weight=share,
    )


def _score(criterion: Criterion, report: CheckReport | None, facts: dict[str, Fact]) -> Score:
    if report is None or report.status is CheckStatus.UNKNOWN:
        return _leave_unscored(criterion, _explain_open(report, criterion.check or ""))
    if criterion.scale is not None:
        fact = facts.get(criterion.scale.fact)
        if fact is None or isinstance(fact.value, bool | str) or math.isnan(fact.value):
            return _leave_unscored(criterion, f"no number is known for {criterion.scale.fact}")
        level = _place(criterion.scale, float(fact.value))
        cited = Citation(kind="fact", fact=fact.id, value=fact.digits)
        return _award(criterion, level, f"{fact.label or fact.id} is {fact.text}", (cited,))
    level = _best_level(criterion) if report.status is CheckStatus.PASSED else 0
    citations = tuple(
        Citation(kind="fact", fact=name, value=facts[name].digits)
        for name in dict.fromkeys(name for finding in report.findings for name in finding.facts)
        if name in facts
    )
    return _award(criterion, level, report.reason, citations)


def _place(scale: Scale, value: float) -> int:
    """Return the best level whose bound holds for `value`, else 0."""
    for level in sorted(scale.steps, reverse=True):
        bound = scale.steps[level]
        if (value <= bound) if scale.direction == "at_most" else (value >= bound):
            return level
    return 0


def _best_level(criterion: Criterion) -> int:
    return max(level.level for level in criterion.levels)


def _award(criterion: Criterion, level: int, reason: str, citations: tuple[Citation, ...]) -> Score:
    return Score(
        criterion=criterion.id,
        level=level,
        source=criterion.source,
        reason=reason,
        citations=citations,
        confidence=1.0,
    )


def _leave_unscored(criterion: Criterion, reason: str) -> Score:
    return Score(criterion=criterion.id, level=None, source=criterion.source, reason=reason)


def _status(report: CheckReport | None) -> CheckStatus:
    return CheckStatus.UNKNOWN if report is None else report.status


def _explain_open(report: CheckReport | None, check: str) -> str:
    return f"this release has no check called {check}" if report is None else report.reason
