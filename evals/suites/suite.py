"""What every suite has in common: a name, what it heeds, and one function that returns a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from evals.suites.table import Table
from pipeline.config import Settings
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_tasks
from pipeline.types import Task

__all__ = ["HEEDED", "Options", "Suite"]

#: What a suite may heed, and what that is.
HEEDED: Final[dict[str, str]] = {
    "judge": "who drafts",
    "tasks": "which tasks are tried",
    "every": "one of how many is tried",
    "repeats": "how often what is drawn is drawn anew",
}


def _say_nothing(line: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Options:
    """What one run is asked to do.

    Attributes:
        settings: Name the judge, its model and its caps.
        database: Where a language judge's answers are kept, so that no answer is paid twice; None to keep
            none beyond the run.
        tasks: Ids of the tasks to try; empty for all.
        root: Folder of the tasks; None for those that ship.
        every: One of so many submissions, mutants or attacks is tried.
        repeats: How often what is drawn is drawn anew; None for what the suite takes by itself.
        on_progress: Told in a line what is being done.
    """

    settings: Settings = field(default_factory=Settings)
    database: Path | None = None
    tasks: tuple[str, ...] = ()
    root: Path | None = None
    every: int = 1
    repeats: int | None = None
    on_progress: Callable[[str], None] = _say_nothing

    def load_tasks(self) -> Mapping[str, Task]:
        """Return the tasks to try, by id.

        Raises:
            TaskError: If a task folder is broken.
        """
        known = load_tasks(self.root or tasks_root())
        return {task_id: known[task_id] for task_id in self.tasks or known}

    def describe(self) -> dict[str, Any]:
        """Return what shapes the numbers, for whoever wants to run the same again."""
        asked = {"tasks": list(self.tasks), "every": self.every, "repeats": self.repeats}
        return {name: value for name, value in asked.items() if value not in ([], None)}


class Measure(Protocol):
    """Runs a suite."""

    def __call__(self, options: Options) -> Table:
        """Return what was found."""


@dataclass(frozen=True, slots=True)
class Suite:
    """One way to grade the grader.

    Attributes:
        name: As typed.
        summary: What it finds out, in one line.
        heeds: Of `HEEDED`, what it takes.
        measure: Runs it.
    """

    name: str
    summary: str
    heeds: frozenset[str]
    measure: Measure
