"""Submissions that try to be accepted without being right, and honest ones that look like them."""

from __future__ import annotations

from typing import Final

from evals.redteam.cases import load_attacks, load_honest
from evals.redteam.run import Trial, try_all
from evals.suites.suite import Options, Suite
from evals.suites.table import Table, count_items

__all__ = ["SUITE", "measure"]

#: What inputs are drawn from: the same in every run, so that runs can be compared.
_SEED: Final = "5eed" * 8


def measure(options: Options) -> Table:
    """Return how many attacks are accepted, and how many honest look-alikes are not."""
    options.on_progress("attacks")
    attacks = try_all(load_attacks()[:: options.every], _SEED)
    options.on_progress("honest look-alikes")
    honest = try_all(load_honest()[:: options.every], _SEED)
    accepted = {trial.work.name: trial.accepted for trial in attacks}
    surprising = {trial.work.name: not trial.as_expected for trial in attacks}
    rejected = {trial.work.name: not trial.accepted for trial in honest}
    return Table(
        suite=SUITE.name,
        asked=options.describe(),
        rows=[
            count_items("attacks", "accepted", accepted, at_most=0),
            count_items("attacks", "another verdict or witness than expected", surprising, better="lower"),
            count_items("honest look-alikes", "rejected", rejected, at_most=0),
        ],
        failures=[
            *(f"accepted: {_describe(trial)}" for trial in attacks if trial.accepted),
            *(f"rejected: {_describe(trial)}" for trial in honest if not trial.accepted),
        ],
        notes=[f"unexpected: {_describe(trial)}" for trial in attacks if not trial.as_expected],
    )


def _describe(trial: Trial) -> str:
    reason = f": {trial.reason}" if trial.reason else ""
    return f"{trial.work.task}/{trial.work.name}, {trial.verdict.value}{reason}"


SUITE: Final = Suite(
    name="redteam",
    summary="Cheats that must not be accepted, and honest submissions that look like them.",
    heeds=frozenset({"every"}),
    measure=measure,
)
