"""Run the programs of a grading again, as recorded or on fresh inputs; nothing of the submission itself runs.

The desk's people ask for it (`pipeline.review.reruns`); one thread of low priority does it, one at a time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from pipeline.compare.correctness import VERSION, run_cases
from pipeline.compare.oracle import Oracle
from pipeline.compare.replay import replay_run
from pipeline.errors import GraderError
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.numerics import describe_numerics
from pipeline.execute.sandbox import Level, SandboxError, choose_level
from pipeline.report.collect import Collector, Detail
from pipeline.review.reruns import Rerun, RerunCase, RerunKind, RerunOutcome, Reruns
from pipeline.store import Store
from pipeline.types import BuildResult, Fault, Owner, RunResult, Task, Verdict

__all__ = ["Rerunner", "compare_surroundings", "find_recorded", "run_again"]

_LOG = logging.getLogger(__name__)

#: People wait for pages, and a batch for its end; nobody should notice a rerun.
_NICENESS: Final = 10
#: Seconds between two looks whether the desk has ended.
_PATIENCE: Final = 0.5
_ID_LENGTH: Final = 12


class Rerunner:
    """Does what `Reruns` holds, in a thread of its own while it is entered."""

    def __init__(self, store: Store, reruns: Reruns, level: Level | None = None) -> None:
        """Run what people ask for of the gradings in `store`; `level` is for tests."""
        self._store = store
        self._reruns = reruns
        self._level = level
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._executor: EmulatorExecutor | None = None
        self._thread = threading.Thread(target=self._work, name="reruns")

    def __enter__(self) -> Rerunner:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        with self._lock:
            self._ended.set()
            running = self._executor
        if running is not None:
            # Nobody will see what comes of it.
            running.close()
        self._thread.join()

    def step(self, patience: float = 0.0) -> bool:
        """Run the next one, if one comes within `patience` seconds; return whether one did."""
        rerun = self._reruns.take(patience)
        if rerun is None:
            return False
        self._reruns.settle(rerun, self._run(rerun))
        return True

    def _work(self) -> None:
        with suppress(OSError):
            # Of this thread alone; the confined processes that it starts inherit it.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        while not self._ended.is_set():
            self.step(_PATIENCE)

    def _run(self, rerun: Rerun) -> RerunOutcome | Fault:
        try:
            with self._open_executor() as executor:
                return run_again(self._store, rerun.grading_id, rerun.kind, executor)
        except GraderError as error:
            return error.fault
        except Exception:
            _LOG.exception("%s could not be run again", rerun.grading_id)
            return Fault(
                owner=Owner.GRADER,
                code="defect",
                message="it could not be run again: this is a defect of nki-grader",
                remedy="go on without, and tell a lead; details are in the server's log",
            )

    @contextmanager
    def _open_executor(self) -> Iterator[EmulatorExecutor]:
        level = self._level or _choose_level()
        with self._lock:
            if self._ended.is_set():
                raise GraderError(_fault("ended", "the desk has ended", "ask again once it is back"))
            executor = self._executor = EmulatorExecutor(level, workers=1)
        try:
            yield executor
        finally:
            with self._lock:
                self._executor = None
            executor.close()


def run_again(store: Store, grading_id: str, kind: RerunKind, executor: EmulatorExecutor) -> RerunOutcome:
    """Run the programs of a grading again, and keep nothing.

    Args:
        store: Where the grading and its programs lie.
        grading_id: Of which grading.
        kind: On the recorded inputs, or on fresh ones.
        executor: What executes now, in workers of its own.

    Raises:
        GraderError: If it has no run that can be repeated here, or the reference or this machine fails now.
    """
    detail = Collector(store).load_detail(store.load_summary(grading_id))
    task, build, recorded = find_recorded(detail)
    if _name_of(recorded.executor) != _name_of(executor.id):
        raise GraderError(
            _fault(
                "other_executor",
                f"it ran on {recorded.executor}, which this machine does not have",
                f"judge it by what was recorded; here is {executor.id}",
            )
        )
    if kind is RerunKind.REPLAY:
        replayed = replay_run(task, build, recorded, executor, artifacts=store)
        cases = tuple(RerunCase(one.replayed or one.recorded, one.differences) for one in replayed)
        seed = recorded.battery_seed
    else:
        oracle = Oracle(executor.computers)
        fresh = run_cases(task, build, executor, oracle, artifacts=store)
        if fresh.verdict is Verdict.INFRASTRUCTURE and fresh.fault is not None:
            raise GraderError(fresh.fault)
        cases = tuple(RerunCase(result) for result in fresh.cases)
        seed = oracle.seed
    verdicts = (case.result.verdict for case in cases)
    return RerunOutcome(
        verdict=next((verdict for verdict in verdicts if verdict is not Verdict.CORRECT), Verdict.CORRECT),
        cases=cases,
        seed_id=hashlib.sha256(seed.encode()).hexdigest()[:_ID_LENGTH],
        notes=tuple(compare_surroundings(detail, executor.id)),
    )


def find_recorded(detail: Detail) -> tuple[Task, BuildResult, RunResult]:
    """Return what a run is repeated from.

    Raises:
        GraderError: ``not_found`` if any of it is missing.
    """
    grading = detail.summary.grading_id
    if detail.build is None or detail.run is None or not detail.run.cases:
        verdict = detail.summary.verdict
        raise GraderError(
            _fault(
                "not_found",
                f"{grading} has no run: {f'its verdict is {verdict}' if verdict else 'it is not graded yet'}",
                "only what ran can be repeated",
            )
        )
    if not detail.run.battery_seed:
        raise GraderError(
            _fault(
                "not_found",
                f"the run of {grading} holds no seed: an earlier release made it",
                "grade the submission again; every run now records its seed",
            )
        )
    if detail.task is None or detail.task.content_hash() != detail.fingerprint.task:
        raise GraderError(
            _fault(
                "not_found",
                f"the task that {grading} was graded on is not in the database as it was",
                "restore the database from a snapshot, or grade the submission again",
            )
        )
    return detail.task, detail.build, detail.run


def compare_surroundings(detail: Detail, executor: str) -> Iterator[str]:
    """Yield what is not as it was when the run was made, for which outputs may differ."""
    made = detail.fingerprint
    pairs = {
        "executor": (made.executor, executor),
        "numerics": (made.numerics, describe_numerics()),
        "comparison": (made.comparison, f"comparison {VERSION}"),
    }
    for what, (then, now) in pairs.items():
        if then != now:
            yield f"{what}: the run was made with {then}, this is {now}; results may differ for that"


def _choose_level() -> Level:
    try:
        return choose_level()
    except SandboxError as error:
        raise GraderError(
            _fault("no_sandbox", error.fault.message, "ask a lead: nki-grader doctor says what is missing")
        ) from None


def _name_of(executor: str) -> str:
    return executor.partition(" ")[0]


def _fault(code: str, message: str, remedy: str) -> Fault:
    return Fault(owner=Owner.ENVIRONMENT, code=code, message=message, remedy=remedy)
