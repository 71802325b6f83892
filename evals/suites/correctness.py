"""The confusion table of the grader itself, as `nki-grader evals correctness` prints it."""

from __future__ import annotations

from typing import Final

from evals.correctness.run import measure as measure_all
from evals.correctness.table import Row as CorrectnessRow
from evals.suites.suite import Options, Suite
from evals.suites.table import Better, Row, Table
from pipeline.stats.intervals import wilson_interval

__all__ = ["SUITE", "measure"]

#: Reseeds that `nki-grader evals correctness` takes by itself.
_RESEEDS: Final = 20


def measure(options: Options) -> Table:
    """Return false accepts and false rejects over solutions, trivial answers, mutants and the red team."""
    found = measure_all(
        options.load_tasks(),
        reseeds=options.repeats or _RESEEDS,
        every=options.every,
        red_team=not options.tasks and options.root is None,
        on_progress=options.on_progress,
    )
    return Table(
        suite=SUITE.name,
        asked=options.describe(),
        rows=[_convert(row) for row in found.rows],
        failures=found.failures,
        notes=found.notes,
    )


def _convert(row: CorrectnessRow) -> Row:
    better: Better = None
    if row.wanted is not None:
        better = "lower" if row.wanted == 0 else "higher"
    return Row(
        name=row.name,
        what=row.what,
        value=row.count / row.trials if row.trials else None,
        n=row.trials,
        interval=wilson_interval(row.count, row.trials) if row.trials else None,
        hits=row.count,
        better=better,
        gate="none" if row.decides else "",
        as_wanted=row.holds or not row.decides,
    )


SUITE: Final = Suite(
    name="correctness",
    summary="False accepts and false rejects: solutions on many seeds, trivial answers, mutants, red team.",
    heeds=frozenset({"tasks", "every", "repeats"}),
    measure=measure,
)
