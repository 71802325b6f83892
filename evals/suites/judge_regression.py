"""A judge's levels beside those that solutions were made to deserve.

The levels beside tasks are constructed from rubric and code: they notice that a judge or a check changed, and
are no evidence of quality. Criteria that checks settle and those that a judge scores are counted apart: at
most one in twenty of the former may lie two levels off, and the latter must agree better than chance does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from evals.suites.drafts import open_bench
from evals.suites.suite import Options, Suite
from evals.suites.table import Row, Table, count_items, show_estimate
from pipeline.stats.agreement import MINIMUM, MISSING, compare_pairs
from pipeline.types import Judgment, Rubric, Task

__all__ = ["MOST_FAR", "SUITE", "Pair", "count_pairs", "measure"]

#: Share of levels settled by checks that may lie two levels or more from the constructed ones.
MOST_FAR: Final = 0.05
#: Levels are 0..4 in every rubric.
_LEVELS: Final = 5
_SOURCES: Final = {"check": "settled by checks", "judge": "scored by the judge"}


@dataclass(frozen=True, slots=True)
class Pair:
    """One criterion of one solution.

    Attributes:
        task: Id of the task; levels of one task are not independent.
        solution: Name of the solution's file.
        criterion: Id of the rubric and of the criterion.
        source: ``check`` or ``judge``.
        given: The draft's level; None where it is unscored.
        wanted: The constructed one.
    """

    task: str
    solution: str
    criterion: str
    source: str
    given: int | None
    wanted: int

    @property
    def name(self) -> str:
        """Which one it is, for people."""
        return f"{self.task}/{self.solution}: {self.criterion}"


def measure(options: Options) -> Table:
    """Return how far a judge's levels agree with constructed ones."""
    solutions = [
        (task, solution)
        for task in options.load_tasks().values()
        for solution in task.solutions
        if solution.levels
    ][:: options.every]
    pairs: list[Pair] = []
    with open_bench(options) as bench:
        options.on_progress(f"{len(solutions)} solutions")
        outcomes = bench.inspect_all([(task, solution.code) for task, solution in solutions])
        options.on_progress(f"drafts by {bench.judge.id}")
        drafts = bench.draft_all([outcome.request for outcome in outcomes])
        table = Table(suite=SUITE.name, judge=bench.judge.id, asked=options.describe())
        faulty: dict[str, bool] = {}
        astray: dict[str, bool] = {}
        for (task, solution), outcome, draft in zip(solutions, outcomes, drafts, strict=True):
            faulty[f"{task.id}/{solution.name}"] = draft.fault is not None
            verdict = outcome.inspection.verdict
            astray[f"{task.id}/{solution.name}"] = verdict is not solution.expected
            if verdict is not solution.expected:
                table.notes.append(
                    f"{task.id}/{solution.name}: {verdict.value} in place of {solution.expected.value}"
                )
            wanted = {name: given.level for name, given in solution.levels.items()}
            pairs += _pair_up(task, solution.name, outcome.rubric, draft, wanted)
            if draft.fault is not None:
                table.failures.append(f"{task.id}/{solution.name}: {draft.fault}")
    table.rows = [
        count_items("solutions", "another verdict than expected", astray, better="lower"),
        count_items("drafts", "the judge failed", faulty, at_most=0),
        *count_pairs(pairs),
    ]
    table.notes += [
        f"{pair.name}: level {pair.given}, constructed {pair.wanted}"
        for pair in pairs
        if pair.given is not None and abs(pair.given - pair.wanted) > 1
    ]
    return table


def count_pairs(pairs: Sequence[Pair]) -> Iterator[Row]:
    """Yield the measures over `pairs`: by who scores, then by criterion how many are the same."""
    for source, title in _SOURCES.items():
        chosen = [pair for pair in pairs if pair.source == source]
        yield count_items(
            f"levels {title}", "unscored", {pair.name: pair.given is None for pair in chosen}, better="lower"
        )
        yield from _compare(f"levels {title}", chosen, settled=source == "check")
    for criterion in dict.fromkeys(pair.criterion for pair in pairs):
        scored = [pair for pair in pairs if pair.criterion == criterion and pair.given is not None]
        same = {pair.name: pair.given == pair.wanted for pair in scored}
        if len(same) >= MINIMUM:
            yield count_items(criterion, "the same level", same, better="higher")


def _compare(name: str, pairs: Sequence[Pair], *, settled: bool) -> Iterator[Row]:
    found = compare_pairs(
        [MISSING if pair.given is None else pair.given for pair in pairs],
        [pair.wanted for pair in pairs],
        [pair.task for pair in pairs],
        _LEVELS,
    )
    yield show_estimate(name, "the same level", found.exact, better="higher")
    yield show_estimate(name, "at most one level apart", found.adjacent, better="higher")
    kappa = show_estimate(name, "kappa, quadratic weights", found.kappa, better="higher")
    if not settled and found.n >= MINIMUM:
        beyond_chance = kappa.interval is not None and kappa.interval.low > 0
        kappa = replace(kappa, gate="above 0", as_wanted=beyond_chance)
    yield kappa
    yield show_estimate(name, "mean of draft minus constructed", found.difference)
    yield show_estimate(name, "mean distance", found.absolute_error, better="lower")
    far = {pair.name: abs(pair.given - pair.wanted) >= 2 for pair in pairs if pair.given is not None}
    most = MOST_FAR if settled and far else None
    yield count_items(name, "two levels apart or more", far, better="lower", at_most=most)


def _pair_up(
    task: Task, solution: str, rubric: Rubric, draft: Judgment, wanted: dict[str, int]
) -> Iterator[Pair]:
    given = {score.criterion: score.level for score in draft.scores}
    for criterion in rubric.criteria:
        if criterion.id in wanted:
            yield Pair(
                task=task.id,
                solution=solution,
                criterion=f"{rubric.id}: {criterion.id}",
                source="judge" if criterion.check is None else "check",
                given=given.get(criterion.id),
                wanted=wanted[criterion.id],
            )


SUITE: Final = Suite(
    name="judge-regression",
    summary="A judge's levels beside the constructed ones of shipped solutions: agreement and bias.",
    heeds=frozenset({"judge", "tasks", "every"}),
    measure=measure,
)
