"""What ``nki-grader judge`` prints: tables for people, and the same as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from pipeline.cli.render import ID_LENGTH, Cell, Screen
from pipeline.routing.calibration_result import NOT_EVIDENCE
from pipeline.routing.drift import Change, Window
from pipeline.routing.judge_comparison import JudgeComparison
from pipeline.routing.known_scopes import KnownScope
from pipeline.routing.replay import Replay
from pipeline.routing.splits import SHARES
from pipeline.stats.agreement import Estimate
from pipeline.stats.drift import Alarm
from pipeline.types import GRADE

__all__ = [
    "comparison_data",
    "describe_scope",
    "print_comparison",
    "print_drift",
    "print_replay",
    "print_scopes",
    "replay_data",
]

#: Enough of a scope's hash to tell it from others.
_SCOPE_LENGTH: Final = 12


def print_scopes(screen: Screen, known: Sequence[KnownScope]) -> None:
    """Print one line per scope."""
    if not known:
        screen.line("Nothing was graded yet.")
        return
    screen.table(
        ["scope", "judge", "prompt", "rubric", "gradings", "labelled", "runs on"],
        [
            [
                one.sha256[:_SCOPE_LENGTH],
                one.names.judge,
                one.names.prompt,
                one.names.rubric,
                str(len(one.members)),
                str(one.labelled),
                one.names.runs_on,
            ]
            for one in known
        ],
    )


def describe_scope(scope: KnownScope) -> dict[str, Any]:
    """Return a scope as data."""
    return {
        "id": scope.sha256,
        **dataclasses.asdict(scope.names),
        "gradings": len(scope.members),
        "labelled": scope.labelled,
        "scope": scope.scope.model_dump(mode="json"),
    }


def comparison_data(found: JudgeComparison) -> dict[str, Any]:
    """Return a comparison as data."""
    data = {
        field.name: getattr(found, field.name)
        for field in dataclasses.fields(found)
        if field.name not in ("old", "new", "loss", "flips", "errors", "old_rate", "new_rate")
    }
    return data | {
        "old": describe_scope(found.old),
        "new": describe_scope(found.new),
        "differ_in": found.differ_in,
        "loss": found.loss.model_dump(mode="json"),
        "flips": [dataclasses.asdict(one) for one in found.flips],
        "errors": dataclasses.asdict(found.errors)
        | {"p_value": None if found.is_too_little else found.errors.p_value},
        "old_rate": dataclasses.asdict(found.old_rate),
        "new_rate": dataclasses.asdict(found.new_rate),
        "shown": found.is_shown,
        "sentence": found.sentence,
    }


def print_comparison(screen: Screen, found: JudgeComparison) -> None:
    """Print who was compared, flips, errors and the verdict."""
    for letter, side in (("A", found.old), ("B", found.new)):
        names = side.names
        screen.line(
            f"{letter}: {side.sha256[:_SCOPE_LENGTH]}  {names.judge}, prompt {names.prompt},"
            f" rubric {names.rubric}, on {names.runs_on}"
        )
    screen.line(f"They differ in: {', '.join(found.differ_in)}")
    screen.line(f"Drafted by both: {found.pairs} submissions to {found.tasks} tasks")
    for reason, number in found.left_out.items():
        screen.line(f"left out: {number} ({reason})")
    screen.heading("Where they differ (no labels needed)")
    screen.table(
        ["criterion", "A only", "B only", "wrong apart", "B minus A", "share that differs"],
        [
            [
                "pass or fail" if one.criterion == GRADE else one.criterion,
                str(one.only_old),
                str(one.only_new),
                str(one.apart),
                "" if one.shift is None else f"{one.shift:+.3f}",
                _show(one.differ),
            ]
            for one in found.flips
        ],
    )
    what = "the grade" if found.criterion == GRADE else found.criterion
    share = f"{100 * SHARES['choose']:g} % of submissions"
    screen.heading(f"Errors of {what}, by labels for choosing ({share})")
    errors = found.errors
    screen.fields(
        {
            "A errs": _show(found.old_rate),
            "B errs": _show(found.new_rate),
            "B minus A": _show(errors.difference),
            "only A errs": str(errors.only_old),
            "only B errs": str(errors.only_new),
            "McNemar": errors.difference.reason
            if found.is_too_little
            else f"p = {errors.p_value:.3g}, exact, as if submissions were independent",
        }
    )
    screen.line()
    if found.constructed:
        screen.line(NOT_EVIDENCE, style="yellow")
    screen.line(found.sentence, style="green" if found.is_shown else "")


def print_replay(screen: Screen, found: Replay) -> None:
    """Print what flipped, and the verdict."""
    differing = [item for item in found.items if item.flips or item.pass_flipped]
    if differing:
        screen.table(
            ["grading", "task", "levels", "flipped", "pass or fail"],
            [
                [
                    item.grading_id[:ID_LENGTH],
                    item.task_id,
                    str(item.levels),
                    str(item.flips),
                    Cell("flipped", "red") if item.pass_flipped else "same",
                ]
                for item in differing
            ],
        )
        screen.line()
    for reason, number in found.left_out.items():
        screen.line(f"left out: {number} ({reason})", style="yellow")
    source = "two answers of this replay" if found.asked_twice else "earlier replays without a change"
    screen.fields(
        {
            "judge": found.judge,
            "compared": f"{len(found.items)} submissions",
            "levels flipped": _show(found.flips),
            "flip unchanged": f"{_show(found.usual)} (from {source})",
            "pass or fail": _show(found.passes),
        }
    )
    screen.line(found.sentence, style="red" if found.changed else "")


def replay_data(found: Replay) -> dict[str, Any]:
    """Return a replay as data."""
    data = dataclasses.asdict(dataclasses.replace(found, items=(), stopped=None))
    data["items"] = [item.model_dump(mode="json") for item in found.items]
    data["stopped"] = found.stopped.model_dump(mode="json") if found.stopped is not None else None
    return data | {"sentence": found.sentence}


def print_drift(
    screen: Screen,
    batches: tuple[list[str], list[str]],
    windows: tuple[Window, Window],
    changes: tuple[Change, ...],
    alarm: Alarm,
) -> None:
    """Print every comparison, and what audits say."""
    for name, ids, window in zip(("Before", "After"), batches, windows, strict=True):
        shown = ids[0][:ID_LENGTH] if len(ids) == 1 else f"{len(ids)} batches"
        screen.line(f"{name}: {shown}, {window.routed} gradings")
    screen.table(
        ["compared", "n before", "n after", "statistic", "p", "adjusted p", "PSI", "verdict"],
        [
            [
                change.test.name,
                str(change.test.before),
                str(change.test.after),
                _number(change.test.statistic),
                _number(change.test.p_value),
                _number(change.adjusted),
                _number(change.stability),
                Cell("changed", "red")
                if change.changed
                else (change.test.reason or "no change beyond chance"),
            ]
            for change in changes
        ],
    )
    screen.line()
    screen.line(_say_alarm(alarm), style="red" if alarm.raised_at is not None else "")


def _say_alarm(alarm: Alarm) -> str:
    if not alarm.n:
        return "Audits: no grade that stands alone was audited yet."
    counted = f"Audits: {alarm.errors} of {alarm.n} grades that stand alone were wrong"
    if alarm.raised_at is not None:
        return (
            f"{counted}; the alarm was raised at number {alarm.raised_at}: more than {100 * alarm.alpha:g} %"
            f" are wrong, with at most {100 * alarm.delta:g} % chance of a false alarm ever."
        )
    return f"{counted}; evidence against {100 * alarm.alpha:g} %: {alarm.peak:.2f} of {1 / alarm.delta:g}."


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _show(estimate: Estimate) -> str:
    if estimate.value is None:
        return estimate.reason
    if estimate.interval is None:
        return f"{estimate.value:.3f}, n = {estimate.n}"
    span = estimate.interval
    return f"{estimate.value:.3f} ({span.low:.3f} to {span.high:.3f}), n = {estimate.n}"
