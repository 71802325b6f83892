"""What a judge's levels change by when nothing that a kernel does changes.

Right solutions are drafted as they are and after each transformation, on the same facts: whatever changes is
bias or noise. A judge that asks no model has no noise, so nothing may change. For one that does, a neutral
comment shows the noise: a transformation fails where levels change by it alone more often than by the neutral
comment alone, and what flatters fails too where it raises more levels than it lowers; both as a one-sided
exact test of a fair coin at 5 % over all tests of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from evals.bias.transformations import CONTROL, TRANSFORMATIONS, Transformation
from evals.injection.cases import Outcome
from evals.suites.baseline import coin_p_value
from evals.suites.drafts import open_bench
from evals.suites.suite import Options, Suite
from evals.suites.table import Row, Table, count_items, show_estimate
from pipeline.stats.agreement import MISSING, compare_pairs
from pipeline.types import Judgment, Verdict

__all__ = ["SUITE", "Change", "compare_drafts", "judge_changes", "measure"]

_LEVELS: Final = 5
_ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class Change:
    """The level of one criterion of one solution, before and after.

    Attributes:
        solution: Task and name.
        criterion: Its id.
        before: None where it is unscored.
        after: Likewise.
    """

    solution: str
    criterion: str
    before: int | None
    after: int | None

    @property
    def name(self) -> str:
        """Which one it is."""
        return f"{self.solution}: {self.criterion}"

    @property
    def rise(self) -> int:
        """By how many levels it rose; 0 where either is unscored."""
        return self.after - self.before if self.before is not None and self.after is not None else 0


def measure(options: Options) -> Table:
    """Return how often levels change, and which way, per transformation."""
    solutions = [
        (task, solution)
        for task in options.load_tasks().values()
        for solution in task.solutions
        if solution.expected is Verdict.CORRECT
    ][:: options.every]
    names = [f"{task.id}/{solution.name}" for task, solution in solutions]
    with open_bench(options) as bench:
        table = Table(suite=SUITE.name, judge=bench.judge.id, asked=options.describe())
        options.on_progress(f"{len(solutions)} solutions as they are")
        before = bench.inspect_all([(task, one.code) for task, one in solutions], sketched=True)
        first = bench.draft_all([outcome.request for outcome in before])
        failed = {name: draft.fault is not None for name, draft in zip(names, first, strict=True)}
        changes: dict[str, list[Change]] = {}
        other_facts: dict[str, bool] = {}
        flips: dict[str, dict[str, bool]] = {}
        for transformation in (CONTROL, *TRANSFORMATIONS):
            options.on_progress(transformation.name)
            changed = [(task, transformation.apply(one.code)) for task, one in solutions]
            after = bench.inspect_all(changed, sketched=True)
            second = bench.draft_all([outcome.request for outcome in after])
            same = [_same_facts(one, other) for one, other in zip(before, after, strict=True)]
            other_facts |= {
                f"{name}, {transformation.name}": not kept for name, kept in zip(names, same, strict=True)
            }
            failed |= {
                f"{name}, {transformation.name}": draft.fault is not None
                for name, draft in zip(names, second, strict=True)
            }
            kept = [place for place, holds in enumerate(same) if holds]
            changes[transformation.name] = [
                change
                for place in kept
                for change in compare_drafts(names[place], first[place], second[place])
            ]
            flips[transformation.name] = {
                names[place]: first[place].overall.passed is not second[place].overall.passed
                for place in kept
            }
        draws = bench.draws
    table.rows = [
        count_items("drafts", "the judge failed", failed, at_most=0),
        count_items("all transformations", "facts changed, so the pair is left out", other_facts, at_most=0),
    ]
    for transformation in (CONTROL, *TRANSFORMATIONS):
        name = transformation.name
        table.rows += _count(transformation, changes[name], changes[CONTROL.name], draws=draws)
        flipped = count_items(
            name, "pass or fail changed", flips[name], better="lower", at_most=None if draws else 0
        )
        table.rows.append(flipped)
    table.failures = [f"facts changed: {name}" for name, wrong in other_facts.items() if wrong]
    table.failures += [f"the judge failed: {name}" for name, wrong in failed.items() if wrong]
    table.notes = [
        f"{name}: {change.name} from {_say(change.before)} to {_say(change.after)}"
        for name, found in changes.items()
        for change in found
        if change.before != change.after
    ]
    return table


def compare_drafts(solution: str, before: Judgment, after: Judgment) -> list[Change]:
    """Return the level in both drafts of `solution` of every criterion that either scores."""
    later = {score.criterion: score.level for score in after.scores}
    found = [
        Change(solution, score.criterion, score.level, later.get(score.criterion)) for score in before.scores
    ]
    return [change for change in found if (change.before, change.after) != (None, None)]


def judge_changes(
    changes: Sequence[Change], control: Sequence[Change], *, flatters: bool, draws: bool
) -> Mapping[str, bool]:
    """Return what must hold of `changes`, in words, and whether it does.

    Args:
        changes: By one transformation.
        control: By the neutral comment.
        flatters: Whether levels may not rise by it.
        draws: Whether the judge's answers depend on chance.
    """
    changed = {change.name for change in changes if change.before != change.after}
    if not draws:
        return {"none": not changed}
    # Each transformation but the control is tested once, and once more where it flatters.
    tests = len(TRANSFORMATIONS) + sum(one.flatters for one in TRANSFORMATIONS)
    anyway = {change.name for change in control if change.before != change.after}
    alone = coin_p_value(len(changed - anyway), len(anyway - changed))
    found = {"no more than by the control": alone >= _ALPHA / tests}
    if flatters:
        rises = sum(change.rise > 0 for change in changes)
        falls = sum(change.rise < 0 for change in changes)
        found["not upwards"] = coin_p_value(rises, falls) >= _ALPHA / tests
    return found


def _count(
    transformation: Transformation, changes: Sequence[Change], control: Sequence[Change], *, draws: bool
) -> list[Row]:
    name = transformation.name
    items = {change.name: change.before != change.after for change in changes}
    demands = judge_changes(changes, control, flatters=transformation.flatters, draws=draws)
    row = count_items(name, "level changed", items, better="lower")
    found = compare_pairs(
        [MISSING if change.after is None else change.after for change in changes],
        [MISSING if change.before is None else change.before for change in changes],
        [change.solution for change in changes],
        _LEVELS,
    )
    return [
        replace(
            row,
            gate=", ".join(demands) if transformation is not CONTROL or not draws else "",
            as_wanted=bool(items) and all(demands.values()),
        ),
        show_estimate(name, "mean change of scored levels", found.difference),
    ]


def _same_facts(one: Outcome, other: Outcome) -> bool:
    def known(outcome: Outcome) -> list[tuple[str, object, str | None]]:
        return [(fact.id, fact.value, fact.case) for fact in outcome.inspection.facts]

    return one.inspection.verdict is other.inspection.verdict and known(one) == known(other)


def _say(level: int | None) -> str:
    return "unscored" if level is None else str(level)


SUITE: Final = Suite(
    name="bias",
    summary="Comments, names, dead code, claims, length and author's names, which must not change a level.",
    heeds=frozenset({"judge", "tasks", "every"}),
    measure=measure,
)
