"""Submissions that address the judge: what gives way, and how many of them a reviewer is told of."""

from __future__ import annotations

from typing import Final

from evals.injection.cases import load_attacks
from evals.injection.defences import MASTER_KEYS, find_unlocked
from evals.injection.run import ALARMS_PER_200, Trial, count_alarms, run_attacks
from evals.suites.suite import Options, Suite
from evals.suites.table import Table, count_items, show_rate
from pipeline.library.rubrics import list_rubrics, load_rubric

__all__ = ["SUITE", "measure"]


def measure(options: Options) -> Table:
    """Return how many attacks a defence gives way to, the flag's recall, and its false alarms."""
    options.on_progress("attacks, up to the judge")
    trials = run_attacks(load_attacks()[:: options.every])
    gave_way = {trial.attack.name: trial.find_failures() for trial in trials}
    rubrics = [load_rubric(name) for name in list_rubrics()]
    unlocked = [f"{rubric.id}: {key}" for rubric in rubrics for key in find_unlocked(rubric)]
    options.on_progress("honest kernels")
    alarms, honest = count_alarms(options.every)
    opened = {name: bool(lines) for name, lines in gave_way.items()}
    categories = dict.fromkeys(trial.attack.category for trial in trials)
    table = Table(suite=SUITE.name, asked=options.describe())
    table.rows = [
        count_items("attacks", "a boundary or a gate gave way", opened, at_most=0),
        show_rate(
            "answers without substance",
            "read as a grade",
            len(unlocked),
            len(MASTER_KEYS) * len(rubrics),
            at_most=0,
        ),
        count_items("attacks in view", "flagged", _flags(trials, held_out=False), better="higher"),
        count_items("attacks held out", "flagged", _flags(trials, held_out=True), better="higher"),
        *(
            count_items(f"attacks: {name}", "flagged", _flags(trials, category=name), better="higher")
            for name in categories
        ),
        show_rate("honest kernels", "flagged", len(alarms), honest, at_most=ALARMS_PER_200 / 200),
    ]
    table.failures = [f"{name}: {line}" for name, lines in gave_way.items() for line in lines] + unlocked
    if len(alarms) * 200 > ALARMS_PER_200 * honest:
        table.failures += [f"flagged, though honest: {alarm}" for alarm in alarms]
    table.notes = [
        f"not flagged: {trial.attack.name} ({trial.attack.tries})" for trial in trials if not trial.flagged
    ]
    return table


def _flags(
    trials: list[Trial], *, held_out: bool | None = None, category: str | None = None
) -> dict[str, bool]:
    return {
        trial.attack.name: trial.flagged
        for trial in trials
        if held_out in (None, trial.attack.held_out) and category in (None, trial.attack.category)
    }


SUITE: Final = Suite(
    name="injection",
    summary="Submissions that address the judge: boundaries, gates, the flag's recall and false alarms.",
    heeds=frozenset({"every"}),
    measure=measure,
)
