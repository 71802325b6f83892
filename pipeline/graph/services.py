"""What nodes work with: the store, the library, an executor and a judge, opened and closed together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.compare.oracle import SEED_PATTERN, Oracle
from pipeline.config import BATTERY_SEED_VARIABLE, Settings
from pipeline.errors import GraderError
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.executor import Executor
from pipeline.execute.sandbox import Level, choose_level
from pipeline.graph.deciding import Deciding
from pipeline.graph.fingerprints import make_fingerprint, stamp_assurance
from pipeline.graph.keys import StageKeys
from pipeline.graph.library import Library
from pipeline.graph.work import Work
from pipeline.judge import open_judge
from pipeline.judge.protocol import Judge
from pipeline.store import Settling, Store
from pipeline.types import Fault, Fingerprint, Grading, Owner, Scope, Submission

if TYPE_CHECKING:
    from pipeline.judge.calls.caller import Caller

__all__ = ["Services", "open_services"]


@dataclass(slots=True)
class Services:
    """Everything a grading needs; one instance serves all threads of a run."""

    store: Store
    library: Library
    executor: Executor
    oracle: Oracle
    judge: Judge
    settling: Settling
    settings: Settings
    deciding: Deciding
    _in_flight: dict[str, Work] = field(default_factory=dict)
    _unassured: dict[str, Fingerprint] = field(default_factory=dict)
    _fingerprints: dict[str, Fingerprint] = field(default_factory=dict)

    def plan(self, submission: Submission) -> Grading:
        """Return the grading that `submission` gets under this run's settings."""
        fingerprint = self.fingerprint(submission.task_id)
        return Grading(
            id=fingerprint.grading_id(submission.id), submission_id=submission.id, fingerprint=fingerprint
        )

    def fingerprint(self, task_id: str) -> Fingerprint:
        """Return the fingerprint of this run's gradings of a task."""
        if task_id not in self._fingerprints:
            if task_id not in self._unassured:
                self._unassured[task_id] = make_fingerprint(
                    self.library, task_id, self.executor, self.judge, self.settings
                )
            made = self._unassured[task_id]
            assurance = self.deciding.assurance_of(Scope.of(made))
            self._fingerprints[task_id] = stamp_assurance(made, self.library, assurance)
        return self._fingerprints[task_id]

    def refresh(self) -> None:
        """Take in certificates that came into force or were taken back; a run does so once, at its start."""
        self._fingerprints.clear()
        self.deciding.refresh()

    def work(self, grading_id: str) -> Work:
        """Return a grading in flight.

        Raises:
            KeyError: If it is not in flight.
        """
        return self._in_flight[grading_id]

    def begin(self, grading: Grading, submission: Submission, *, decided: bool = False) -> Work:
        """Hold what the nodes of one grading need until `end`; `decided` if a person has decided on it."""
        made = grading.fingerprint
        current = submission.task_id in self.library.tasks and made == self.fingerprint(submission.task_id)
        work = Work(
            store=self.store,
            grading=grading,
            submission=submission,
            task=self.library.find_task(made.task),
            rubric=self.library.find_rubric(made.rubric),
            prompt=self.library.find_prompt(made.prompt),
            keys=StageKeys.derive(grading, submission),
            current=current,
            decided=decided,
        )
        self._in_flight[grading.id] = work
        return work

    def end(self, grading_id: str) -> None:
        """Let go of a grading that left the graph, for good or for now."""
        self._in_flight.pop(grading_id, None)


@contextmanager
def open_services(store: Store, settings: Settings, *, caller: Caller | None = None) -> Iterator[Services]:
    """Open everything a run needs on top of `store`, and close it again.

    Args:
        store: Where everything is kept.
        settings: What this run does differently.
        caller: What gets a language judge's questions answered; None to ask its models now.

    Raises:
        GraderError: If this machine can only limit submissions, not confine them, and the settings do not
            allow that; or if a setting names what does not exist.
    """
    level = choose_level(_level_named(settings.sandbox), allow_unsandboxed=settings.allow_unsandboxed)
    if level is Level.LIMITS and not settings.allow_unsandboxed:
        raise GraderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="no_sandbox",
                message="this machine offers no sandbox stronger than plain limits",
                remedy="install bubblewrap or allow user namespaces (`nki-grader doctor` says why), or pass "
                "--allow-unsandboxed: no result is then accepted without a person",
            )
        )
    seed = _choose_seed(settings)
    judge = open_judge(settings, store, caller=caller)
    library = Library(store, settings)
    executor = EmulatorExecutor(level, workers=settings.workers)
    settling = Settling(store)
    try:
        yield Services(
            store=store,
            library=library,
            executor=executor,
            oracle=Oracle(executor.computers, seed),
            judge=judge,
            settling=settling,
            settings=settings,
            deciding=Deciding(store, library),
        )
    finally:
        executor.close()
        settling.close()


def _level_named(name: str | None) -> Level | None:
    try:
        return Level(name) if name is not None else None
    except ValueError:
        raise GraderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="unknown_sandbox",
                message=f"there is no isolation level {name!r}",
                remedy=f"choose from: {', '.join(level.value for level in Level)}",
            )
        ) from None


def _choose_seed(settings: Settings) -> str | None:
    """Return the seed that the settings or the environment give, or None."""
    seed = settings.battery_seed or os.environ.get(BATTERY_SEED_VARIABLE) or None
    if seed is not None and not SEED_PATTERN.fullmatch(seed.lower()):
        raise GraderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="bad_seed",
                message=f"the battery seed {seed[:40]!r} is not 32 hexadecimal digits",
                remedy=f"correct --battery-seed or {BATTERY_SEED_VARIABLE}, or leave both out: each run then "
                "draws its own",
            )
        )
    return seed
