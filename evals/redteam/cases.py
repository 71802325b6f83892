"""Submissions that try to be accepted without being right, and honest ones that look like them.

`attacks.toml` and `honest.toml` list both; the first full set was written before any defence was tried on it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

from evals.injection.cases import Ground, Outcome
from pipeline.checks.check import Evidence
from pipeline.checks.inspection import inspect_submission
from pipeline.compare.oracle import Oracle
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.sandbox import choose_level
from pipeline.library.roots import tasks_root
from pipeline.library.rubrics import load_rubric
from pipeline.library.submissions import admit_code
from pipeline.library.tasks import load_task
from pipeline.types import CaseKind, Task, TaskLimits, Verdict

__all__ = [
    "BEYOND_A_SUBMISSION",
    "LIMITS",
    "Arena",
    "Witness",
    "Work",
    "load_attacks",
    "load_honest",
    "open_arena",
]

_HERE: Final = Path(__file__).parent

#: Limits for what never ends by itself: each of them costs its time whenever the suite runs.
LIMITS: Final = TaskLimits(wall_seconds=1.5, run_seconds=1.5, instructions=5_000)

#: Rows of the catalogue that no submission to the shipped tasks can try, and where they are answered.
BEYOND_A_SUBMISSION: Final = {
    27: "one core runs in program order; races of two cores are for tests/emulator/legality",
    49: "leaving out what the answer does not need is no cheat but a gap of the task",
    57: "the oracle of a task models the quantisation that its statement asks for: the task audit",
    58: "a reference that is not finite or not conditioned is the task's fault: the task audit",
}


@dataclass(frozen=True, slots=True)
class Witness:
    """What a verdict of ``suspect`` has to rest on.

    Attributes:
        check: The check that fails.
        phrase: What its reason says, among other things.
    """

    check: str
    phrase: str


@dataclass(frozen=True, slots=True)
class Work:
    """One submission and what a grading by the design makes of it.

    Attributes:
        name: Of its file, without the suffix.
        rows: Of the catalogue of known cheats and false verdicts (facts/grading.md, section 2).
        tries: What it does, in a line.
        witness: Where the verdict is ``suspect``.
        tight: Whether it never ends by itself: it runs on one shape under `LIMITS`.
        scored: Whether it is wrong on the scored shapes alone.
    """

    name: str
    task: str
    rows: tuple[int, ...]
    tries: str
    verdict: Verdict
    code: bytes
    witness: Witness | None = None
    tight: bool = False
    scored: bool = False


def load_attacks() -> list[Work]:
    """Return every attack, in the order of `attacks.toml`."""
    return [_read(entry, "attacks") for entry in _list("attack")]


def load_honest() -> list[Work]:
    """Return every honest look-alike, in the order of `honest.toml`; each is right."""
    return [_read({"verdict": "correct", **entry}, "honest") for entry in _list("honest")]


def _list(kind: str) -> list[dict[str, Any]]:
    file = {"attack": "attacks.toml", "honest": "honest.toml"}[kind]
    listed: list[dict[str, Any]] = tomllib.loads((_HERE / file).read_text(encoding="utf-8"))[kind]
    return listed


def _read(entry: dict[str, Any], folder: str) -> Work:
    return Work(
        name=entry["file"].removesuffix(".py"),
        task=entry["task"],
        rows=tuple(entry.get("rows", ())),
        tries=entry["tries"],
        verdict=Verdict(entry["verdict"]),
        code=(_HERE / folder / entry["file"]).read_bytes(),
        witness=Witness(entry["check"], entry["phrase"]) if "check" in entry else None,
        tight=entry.get("tight", False),
        scored=entry.get("scored", False),
    )


class Arena(Ground):
    """Builds, runs and inspects as a grading does."""

    __slots__ = ()

    def try_out(self, work: Work, *, sketched: bool = False) -> Outcome:
        """Return what every stage up to the checks says of `work`.

        Args:
            work: The submission.
            sketched: Whether `sketch` takes the place of its task.
        """
        task = load_task(tasks_root() / work.task)
        if work.tight:
            task = sketch(task, checks=1, hidden=0).model_copy(update={"limits": LIMITS})
        elif sketched:
            task = sketch(task, full_size=work.scored)
        submission = admit_code(task, work.code)
        evidence = Evidence(task, submission, *self._execute(task, submission))
        return Outcome(evidence, inspect_submission(evidence), load_rubric(task.rubric))


def sketch(task: Task, checks: int | None = None, hidden: int = 1, full_size: bool = False) -> Task:
    """Return `task` with fewer and smaller cases: what fails on these fails on all of them.

    Args:
        task: What is sketched.
        checks: How many checked cases to keep of those that are first of their distribution; None for all.
        hidden: How many hidden cases to keep, those of small shapes first.
        full_size: Whether the one scored case that is kept has its own shape, not that of a checked one.
    """
    of_kind = {kind: [case for case in task.cases if case.kind is kind] for kind in CaseKind}
    firsts = {case.distribution: case for case in reversed(of_kind[CaseKind.CHECK])}
    kept = [case for case in of_kind[CaseKind.CHECK] if case in firsts.values()][:checks]
    unseen = sorted(of_kind[CaseKind.HIDDEN], key=lambda case: prod(case.axes.values()))[:hidden]
    scored = of_kind[CaseKind.SCORED][0]
    if not full_size:
        scored = scored.model_copy(update={"axes": kept[0].axes})
    return task.model_copy(update={"cases": (*kept, *unseen, scored)})


@contextmanager
def open_arena(workers: int = 2, seed: str | None = None) -> Iterator[Arena]:
    """Open an executor in the strongest sandbox that this machine offers, and close it again.

    Args:
        workers: How many submissions are traced, and programs computed, at a time.
        seed: What inputs are drawn from; None for a new secret.
    """
    executor = EmulatorExecutor(choose_level(), workers=workers)
    try:
        yield Arena(executor, Oracle(executor.computers, seed))
    finally:
        executor.close()
