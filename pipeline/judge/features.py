"""What a draft shows about how far it can be trusted, as numbers that labels can teach us to read.

One row per criterion that a judge gave a level, and one for the grade as a whole; a weighted sum of these,
fitted by `pipeline.stats.recalibration`, becomes a probability. All numbers are finite, and where something
does not exist the number is the one that says nothing (`NAMES` tells which).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.types import (
    GRADE,
    Criterion,
    Fact,
    Inspection,
    Judgment,
    Provenance,
    Rubric,
    Score,
    Severity,
    Vote,
)

__all__ = ["NAMES", "VERSION", "TaskHistory", "read_features", "read_history"]

#: Raised whenever a name, its place or its formula changes; part of every calibrator.
VERSION: Final = "features 1"

#: Of each row, in this order. Counts c stand as log(1 + c), levels as shares of the criterion's best.
NAMES: Final = (
    # The level itself, 0..1; of the grade its number.
    "level",
    # How far the grade's number lies from the pass mark; 0 without a number.
    "margin",
    # How sure the members who chose the level say they are, 0..1; of the grade the mean. 0.5 if none says.
    "self_report",
    # Share of the panel's members who chose the level, 0..1; of the grade the least. 1 without a panel.
    "vote_share",
    # Distance between the panel's highest and lowest level, 0..1; of the grade the most. 0 without a panel.
    "dispersion",
    # How far the judge's level (of the grade: their mean) lies above the mean of those that checks settled,
    # and how far below it, each 0..1. Both 0 where checks settled none.
    "above_checks",
    "below_checks",
    # Statements struck from this criterion (of the grade: from any), and from the whole draft. Counts.
    "struck_here",
    "struck",
    # Facts that this criterion (of the grade: any statement) contradicts, and the whole draft. Counts.
    "contradictions_here",
    "contradictions",
    # Citations that the level rests on; of the grade those of all levels that a judge gave. A count.
    "citations",
    # Operations that the emulator only approximates. A count.
    "approximated",
    # Share of the rubric's weight without a level, 0..1.
    "unscored_weight",
    # 1 where evidence of the criterion (of the grade: any) is modelled and none of it measured, else 0.
    "modelled_only",
    # Instructions of the largest shape's program. A count; 0 where nothing was traced.
    "program_length",
    # 1 / (1 + labels of the task), 0..1: 1 for a task that nobody has labelled.
    "novelty",
    # Share of the task's drafts that proved right, shrunk towards the usual share, 0..1.
    "task_history",
)

#: Labels that the usual share counts as beside a task's own.
_PRIOR: Final = 4
_UNKNOWN: Final = 0.5
_MEASURED: Final = frozenset({Provenance.MEASURED, Provenance.MEASURED_IMPORTED})


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """What labels said so far of other drafts for the same task.

    The draft's own label must not be among them, or it would be told from itself: a curve fitted on such
    rows looks better than it is.

    Attributes:
        labels: How many drafts for the task have one.
        right: In how many of these the judge was right.
        usual: Share that is right over all tasks; 0.5 where nothing is known.
    """

    labels: int = 0
    right: int = 0
    usual: float = _UNKNOWN

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: If more are right than there are, or the usual share is none.
        """
        if not 0 <= self.right <= self.labels:
            raise ValueError(f"of {self.labels} labels {self.right} cannot be right")
        if not 0 <= self.usual <= 1:
            raise ValueError(f"the usual share must lie in 0..1, got {self.usual}")

    @property
    def share(self) -> float:
        """The share that is right, shrunk towards the usual one: 4 labels of its own weigh as much."""
        return (self.right + _PRIOR * self.usual) / (self.labels + _PRIOR)


def read_features(
    inspection: Inspection,
    judgment: Judgment,
    rubric: Rubric,
    history: TaskHistory | None = None,
) -> dict[str, tuple[float, ...]]:
    """Return one row of numbers, named by `NAMES`, for all that a judgment can be sure or unsure of.

    Args:
        inspection: What facts say.
        judgment: The draft.
        rubric: The one that it was made by.
        history: Of its task; None where no label for the task is known.

    Returns:
        By criterion id, in the rubric's order, for every criterion with a level from the judge; then under
        `GRADE`, if there is an overall number. Empty where the judge failed.
    """
    if judgment.fault is not None:
        return {}
    given = {score.criterion: score for score in judgment.scores if score.level is not None}
    drafted = [
        (criterion, given[criterion.id])
        for criterion in rubric.criteria
        if criterion.id in given and given[criterion.id].source == "judge"
    ]
    settled = [
        _share(criterion, given[criterion.id].level)
        for criterion in rubric.criteria
        if criterion.id in given and given[criterion.id].source != "judge"
    ]
    facts = _index(inspection)
    common = _read_draft(inspection, judgment, rubric, history or TaskHistory(), facts)
    rows = {}
    for criterion, score in drafted:
        place = f"score {criterion.id}"
        evidence = {*criterion.evidence, *(cited.fact for cited in score.citations if cited.fact is not None)}
        rows[criterion.id] = _order(
            common,
            _read_scores([(criterion, score)], settled),
            level=_share(criterion, score.level),
            struck_here=math.log1p(sum(struck.place == place for struck in judgment.struck)),
            contradictions_here=math.log1p(
                sum(message.startswith(f"{place} ") for message in _contradictions(judgment))
            ),
            modelled_only=_is_modelled_only(facts[name] for name in evidence if name in facts),
        )
    if judgment.overall.value is not None:
        rows[GRADE] = _order(
            common,
            _read_scores(drafted, settled),
            level=judgment.overall.value,
            struck_here=common["struck"],
            contradictions_here=common["contradictions"],
            modelled_only=_is_modelled_only(facts.values()),
        )
    return rows


def read_history(history: TaskHistory) -> dict[str, float]:
    """Return the features, by name, that a task's history gives; no others depend on it."""
    return {"novelty": 1 / (1 + history.labels), "task_history": history.share}


def _order(*parts: dict[str, float], **own: float) -> tuple[float, ...]:
    found = {name: value for part in (*parts, own) for name, value in part.items()}
    return tuple(float(found[name]) for name in NAMES)


def _read_draft(
    inspection: Inspection, judgment: Judgment, rubric: Rubric, history: TaskHistory, facts: dict[str, Fact]
) -> dict[str, float]:
    """Return what is the same for all rows of a draft."""
    value = judgment.overall.value
    traced = facts.get("build.instructions")
    length = traced.value if traced is not None and isinstance(traced.value, int) else 0
    return {
        "margin": abs(value - rubric.overall.pass_mark) if value is not None else 0.0,
        "struck": math.log1p(len(judgment.struck)),
        "contradictions": math.log1p(len(_contradictions(judgment))),
        "approximated": math.log1p(len(inspection.approximated)),
        "unscored_weight": 1 - judgment.overall.scored_weight,
        "program_length": math.log1p(max(length, 0)),
        **read_history(history),
    }


def _read_scores(drafted: Sequence[tuple[Criterion, Score]], settled: Sequence[float]) -> dict[str, float]:
    """Return how sure a judge is of its levels, and how they lie beside those that checks settled."""
    levels = [_share(criterion, score.level) for criterion, score in drafted]
    gap = _mean(levels) - _mean(settled) if levels and settled else 0.0
    return {
        "self_report": _mean([_self_report(score) for _, score in drafted]) if drafted else _UNKNOWN,
        "vote_share": min((_vote_share(score) for _, score in drafted), default=1.0),
        "dispersion": max((_share(criterion, score.dispersion) for criterion, score in drafted), default=0.0),
        "above_checks": max(gap, 0.0),
        "below_checks": max(-gap, 0.0),
        "citations": math.log1p(sum(len(score.citations) for _, score in drafted)),
    }


def _self_report(score: Score) -> float:
    # A panel's own figure is already multiplied by the share of votes, which is a feature of its own.
    said = [vote.confidence for vote in _agreeing(score)] if score.votes else [score.confidence]
    known = [min(max(value, 0.0), 1.0) for value in said if value is not None and math.isfinite(value)]
    return _mean(known) if known else _UNKNOWN


def _vote_share(score: Score) -> float:
    return len(_agreeing(score)) / len(score.votes) if score.votes else 1.0


def _agreeing(score: Score) -> list[Vote]:
    return [vote for vote in score.votes if vote.level == score.level]


def _share(criterion: Criterion, level: int | None) -> float:
    best = max((step.level for step in criterion.levels), default=0)
    return (level or 0) / max(best, 1)


def _contradictions(judgment: Judgment) -> list[str]:
    return [finding.message for finding in judgment.findings if finding.severity is Severity.WARNING]


def _index(inspection: Inspection) -> dict[str, Fact]:
    found = (*inspection.facts, *(fact for report in inspection.reports for fact in report.facts))
    return {fact.id: fact for fact in found}


def _is_modelled_only(facts: Iterable[Fact]) -> float:
    sources = {fact.provenance for fact in facts}
    return float(Provenance.MODELLED in sources and not sources & _MEASURED)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
