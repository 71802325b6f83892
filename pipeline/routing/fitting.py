"""Fitting: from labels of the fit split to the calibrator of a scope, and from that to probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipeline.judge.features import NAMES, VERSION, TaskHistory, read_features, read_history
from pipeline.routing.observations import Observations, Unit
from pipeline.routing.splits import Splits, hash_labels
from pipeline.stats.agreement import MINIMUM
from pipeline.stats.recalibration import FittedCurve, apply_curve, fit_curve
from pipeline.types import (
    GRADE,
    Calibrator,
    Curve,
    Inspection,
    Judgment,
    RoutingPolicy,
    Rubric,
    hash_text,
)

__all__ = ["Fitted", "estimate", "fit", "history_of", "probabilities_of"]

_Array = NDArray[np.float64]

_UNKNOWN: Final = 0.5
_NO_LABELS: Final = "no label of the fit split is of a draft in this scope"


@dataclass(frozen=True, slots=True)
class Fitted:
    """What labels of the fit split support.

    Attributes:
        calibrator: None where they support no curve at all.
        reasons: By criterion and under `GRADE`, why there is no curve, or none that tells drafts apart.
        units: Submissions whose labels were used.
    """

    calibrator: Calibrator | None
    reasons: Mapping[str, str]
    units: tuple[Unit, ...]


def fit(observations: Observations, splits: Splits, policy: RoutingPolicy) -> Fitted:
    """Return the calibrator of a scope. The same labels give the same one, whenever it is fitted.

    A draft's own label is left out of its task's history, or each draft would be told from itself.

    Args:
        observations: All of the scope; only labels of the fit split are used, and that is kept.
        splits: Of the store.
        policy: Says what is wrong.
    """
    labels = splits.use(observations.labels, "fit", observations.scope, test=policy.loss.content_hash())
    units = observations.select(labels)
    histories, usual = _count(units)
    left_out = _leave_out(units, usual)
    curves: list[Curve] = []
    reasons: dict[str, str] = {}
    for name in (*observations.criteria, GRADE):
        known = [unit for unit in units if name in unit.wrong and name in unit.features]
        if not known:
            reasons[name] = _NO_LABELS
            continue
        rows = _stack(known, name, [left_out[unit.submission_id] for unit in known])
        right = [not unit.wrong[name] for unit in known]
        found = fit_curve(rows, right, [unit.task for unit in known])
        if found.curve is not None:
            curves.append(_name_curve(name, found.curve))
            continue
        reasons[name] = found.reason
        if found.n >= MINIMUM:
            curves.append(_make_flat(name, sum(right), len(right)))
    if not curves:
        return Fitted(None, reasons, tuple(units))
    calibrator = Calibrator(
        scope=observations.scope,
        features=VERSION,
        loss=policy.loss,
        curves=tuple(curves),
        labels=hash_labels(labels),
        constructed=any(unit.constructed for unit in units),
        histories=histories,
        usual=usual,
    )
    return Fitted(calibrator, reasons, tuple(units))


def history_of(calibrator: Calibrator, task: str) -> TaskHistory:
    """Return what the calibrator knows of a task; a task that it does not know is as right as usual."""
    labels, right = calibrator.histories.get(task, (0, 0))
    return TaskHistory(labels=labels, right=right, usual=calibrator.usual)


def estimate(
    calibrator: Calibrator,
    inspection: Inspection,
    judgment: Judgment,
    rubric: Rubric,
    task_history: TaskHistory,
) -> dict[str, float]:
    """Return how probable it is that a draft is right, by criterion and under `GRADE`, each 0..1.

    What labels supported no curve for is absent, and all is where features were read otherwise when the
    calibrator was fitted.

    Args:
        calibrator: Of the draft's scope.
        inspection: What facts say.
        judgment: The draft.
        rubric: The one that it was made by.
        task_history: Of its task, as `history_of` gives it.
    """
    if calibrator.features != VERSION:
        return {}
    rows = read_features(inspection, judgment, rubric, task_history)
    return {
        curve.criterion: float(apply_curve(curve, [rows[curve.criterion]])[0])
        for curve in calibrator.curves
        if curve.criterion in rows
    }


def probabilities_of(calibrator: Calibrator, units: Sequence[Unit], criterion: str) -> _Array:
    """Return, of shape (units,), how probable it is that each draft is right; NaN where nobody can say."""
    found = np.full(len(units), np.nan)
    curve = next((curve for curve in calibrator.curves if curve.criterion == criterion), None)
    places = [place for place, unit in enumerate(units) if criterion in unit.features]
    if curve is not None and places:
        known = [units[place] for place in places]
        # Once a task: there are far fewer than drafts.
        histories = {
            task: read_history(history_of(calibrator, task)) for task in {unit.task for unit in known}
        }
        rows = _stack(known, criterion, [histories[unit.task] for unit in known])
        found[places] = apply_curve(curve, rows)
    return found


def _name_curve(criterion: str, fitted: FittedCurve) -> Curve:
    return Curve(
        criterion=criterion,
        method=fitted.method,
        features=NAMES,
        centres=fitted.centres,
        scales=fitted.scales,
        weights=fitted.weights,
        intercept=fitted.intercept,
        ranks=fitted.ranks,
        probabilities=fitted.probabilities,
        n=fitted.n,
    )


def _make_flat(criterion: str, right: int, n: int) -> Curve:
    """Return the curve of drafts that nothing tells apart: a judge who is always right can be certified too.

    The probability is Laplace's, (right + 1) / (n + 2).
    """
    nothing = (0.0,) * len(NAMES)
    return Curve(
        criterion=criterion,
        method="platt",
        features=NAMES,
        centres=nothing,
        scales=(1.0,) * len(NAMES),
        weights=nothing,
        intercept=0.0,
        ranks=(0.0,),
        probabilities=((right + 1) / (n + 2),),
        n=n,
    )


def _count(units: Sequence[Unit]) -> tuple[dict[str, tuple[int, int]], float]:
    """Return how many labelled grades each task has, how many of them are right, and the share of all."""
    known = [unit for unit in units if GRADE in unit.wrong]
    labels = Counter(unit.task for unit in known)
    right = Counter(unit.task for unit in known if not unit.wrong[GRADE])
    histories = {task: (labels[task], right[task]) for task in sorted(labels)}
    return histories, right.total() / len(known) if known else _UNKNOWN


def _leave_out(units: Sequence[Unit], usual: float) -> dict[str, dict[str, float]]:
    """Return, by submission, what the history of its task says of each draft, its own label left out.

    How often the task's drafts were right is taken from the other half of them. Were the own label alone left
    out, of two drafts for one task the wrong one would have the better history, and a regression would find
    just that.
    """
    places = {unit.submission_id: (unit.task, int(hash_text(unit.submission_id), 16) % 2) for unit in units}
    labels: Counter[tuple[str, int]] = Counter()
    right: Counter[tuple[str, int]] = Counter()
    for unit in units:
        labels[places[unit.submission_id]] += GRADE in unit.wrong
        right[places[unit.submission_id]] += not unit.wrong.get(GRADE, True)
    found: dict[str, dict[str, float]] = {}
    for unit in units:
        task, half = places[unit.submission_id]
        others = labels[task, 0] + labels[task, 1] - (GRADE in unit.wrong)
        away = (task, 1 - half)
        shared = read_history(TaskHistory(labels=labels[away], right=right[away], usual=usual))
        # How new a task is says nothing of its labels: all others count.
        novelty = read_history(TaskHistory(labels=others, usual=usual))["novelty"]
        found[unit.submission_id] = {**shared, "novelty": novelty}
    return found


def _stack(units: Sequence[Unit], criterion: str, histories: Sequence[Mapping[str, float]]) -> _Array:
    """Return the features of shape (units, d), with those that a history gives."""
    rows: _Array = np.stack([unit.features[criterion] for unit in units])
    for name in histories[0]:
        rows[:, NAMES.index(name)] = [history[name] for history in histories]
    return rows
