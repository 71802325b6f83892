"""The confusion table of the grader itself: how often it fails what is right and passes what is wrong.

    nki-grader evals correctness                 all of it: 20 reseeds of every task, hours on two cores
    nki-grader evals correctness --reseeds 1 --tasks rmsnorm      a look at one task, a minute
    nki-grader evals correctness --markdown      the table as the README has it

Everything runs through the real executor in its sandbox, with the real oracle; mutants run through the same
jobs in this process. Seeds are numbered, so a run can be repeated, and a failure names the seed to grade with
again (`nki-grader grade FILE --task ID --battery-seed SEED`).

Good and bad solutions, mutations and checks have one author: the rates say how the grader does on mistakes
that we thought of. The intervals are of the sampling alone, and take trials for independent, which reseeds of
one solution are not: solutions are therefore counted beside gradings.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from evals.correctness.candidates import Tally, tally_trivial
from evals.correctness.ground import Ground, open_ground
from evals.correctness.solutions import Grading, grade_solutions, seed_number
from evals.correctness.table import Row, Table
from evals.correctness.trials import Ending, Trial, try_mutants
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_tasks
from pipeline.types import Task, Verdict

__all__ = ["main", "measure"]

#: Endings of mutants that need not be caught.
_EQUIVALENT = (Ending.IDENTICAL, Ending.ONE_ULP, Ending.HARMLESS, Ending.ARGUED)


def measure(
    tasks: Mapping[str, Task],
    *,
    reseeds: int = 20,
    every: int = 1,
    red_team: bool = True,
    on_progress: Callable[[str], None] = lambda line: None,
) -> Table:
    """Return the confusion table over `tasks`.

    Args:
        tasks: By id.
        reseeds: How many times inputs are drawn anew for good and bad solutions.
        every: Try one of so many mutants.
        red_team: Whether to try the red team and the look-alikes as well, which have tasks of their own.
        on_progress: Told in a line what is being done.
    """
    seeds = [seed_number(number) for number in range(reseeds)]
    gradings: list[Grading] = []
    tallies: list[Tally] = []
    trials: list[Trial] = []
    with open_ground() as ground:
        for task in tasks.values():
            on_progress(f"{task.id}: trivial candidates")
            tallies += tally_trivial(ground, task, seeds[0], seed_number(reseeds))
            trials += _mutate(ground, task, seeds[0], every, on_progress)
            gradings += grade_solutions(ground, task, seeds, on_progress=on_progress)
    table = Table(seeds=reseeds)
    _count_solutions(table, gradings)
    _count_trivial(table, tallies)
    _count_mutants(table, trials)
    if red_team:
        _add_red_team(table, on_progress)
    return table


def _mutate(
    ground: Ground, task: Task, seed: str, every: int, on_progress: Callable[[str], None]
) -> Iterable[Trial]:
    for solution in task.solutions:
        if solution.expected is not Verdict.CORRECT:
            continue
        on_progress(f"{task.id}: mutants of {solution.name}")
        built = ground.build(task, solution.code)
        if built.result is not None and built.result.verdict is None:
            yield from try_mutants(ground, built, solution.name, seed=seed, every=every)


def _count_solutions(table: Table, gradings: Sequence[Grading]) -> None:
    for good, name, what in ((True, "good solutions", "rejected"), (False, "bad solutions", "accepted")):
        chosen = [grading for grading in gradings if grading.good is good]
        wrong = [grading for grading in chosen if grading.wrong]
        solutions = {(grading.task, grading.solution) for grading in chosen}
        failing = {(grading.task, grading.solution) for grading in wrong}
        table.rows.append(Row(name, f"{what} on any seed", len(failing), len(solutions), 0, decides=True))
        table.rows.append(Row(f"{name}, gradings", what, len(wrong), len(chosen), 0, decides=True))
        table.failures += [
            f"{one.task}/{one.solution}, seed {one.seed}: {one.refusal or 'accepted'}" for one in wrong
        ]
    otherwise = Counter(
        (one.task, one.solution, one.expected, one.verdict)
        for one in gradings
        if not one.good and not one.wrong and one.verdict is not one.expected
    )
    table.notes += [
        f"{task}/{solution}: {verdict.value} in place of {expected.value}, {count} times"
        for (task, solution, expected, verdict), count in otherwise.items()
    ]


def _count_trivial(table: Table, tallies: Sequence[Tally]) -> None:
    wrong = [tally for tally in tallies if not tally.holds]
    row = Row(
        "trivial candidates", "accepted where wrong, or never refused", len(wrong), len(tallies), 0, True
    )
    table.rows.append(row)
    for tally in tallies:
        name = f"{tally.task}: {tally.candidate}"
        if tally.accepted:
            table.failures.append(f"{name} is accepted, though wrong, on: {', '.join(tally.accepted)}")
        if not tally.refused:
            table.failures.append(f"{name} is refused by no case")
        if tally.right:
            table.notes.append(f"{name} passes where it is the answer: {', '.join(tally.right)}")


def _count_mutants(table: Table, trials: Sequence[Trial]) -> None:
    endings = Counter(trial.ending for trial in trials)
    equivalent = sum(endings[ending] for ending in _EQUIVALENT)
    others = len(trials) - equivalent
    kinds = len({trial.mutation for trial in trials if trial.ending is not Ending.FAULT})
    name = f"mutants of good solutions, {kinds} kinds, that are not equivalent"
    table.rows.append(Row(name, "caught", endings[Ending.CAUGHT], others, others))
    for ending in _EQUIVALENT:
        table.rows.append(
            Row("mutants of good solutions", f"equivalent: {ending}", endings[ending], len(trials))
        )
    for trial in trials:
        line = f"{trial.kernel}: {trial.mutant}: {trial.how}"
        if trial.ending is Ending.FAULT:
            table.failures.append(f"the grader failed on {line}")
        elif trial.ending is not Ending.CAUGHT:
            table.notes.append(f"{trial.ending}: {line}")


def _add_red_team(table: Table, on_progress: Callable[[str], None]) -> None:
    """Add the red team and the honest submissions that look alike."""
    from evals.redteam.cases import load_attacks, load_honest
    from evals.redteam.run import try_all

    on_progress("red team and look-alikes")
    for name, what, trials in (
        ("red team", "accepted", try_all(load_attacks())),
        ("honest look-alikes", "rejected", try_all(load_honest())),
    ):
        wrong = [trial for trial in trials if trial.accepted is (what == "accepted")]
        table.rows.append(Row(name, what, len(wrong), len(trials), 0, decides=True))
        table.failures += [f"{name}: {trial.work.name} is {what}: {trial.reason}" for trial in wrong]


def main() -> int:
    """Print the whole table; return the exit code."""
    table = measure(load_tasks(tasks_root()), on_progress=lambda line: print(line, file=sys.stderr))
    print(table.to_markdown())
    for line in (*table.failures, *table.notes):
        print(line)
    return int(not table.holds)


if __name__ == "__main__":
    sys.exit(main())
