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
from pipeline.graph.fingerprints import make_fingerprint, stamp_assurance
from pipeline.graph.keys import StageKeys
from pipeline.graph.library import Library
from pipeline.graph.work import Work
from pipeline.judge import open_judge
from pipeline.judge.confidence import state_confidence
from pipeline.judge.protocol import Judge
from pipeline.review.calibration_draw import CalibrationDraw
from pipeline.review.chances import load_secret
from pipeline.review.pseudonyms import author_behind, pseudonym_of
from pipeline.routing.assurance import estimate_draft, read_assurance
from pipeline.routing.certificates import Register
from pipeline.routing.grounds import Assurance
from pipeline.routing.policy import decide_route, is_settled
from pipeline.store import Settling, Store
from pipeline.types import (
    Confidence,
    Fault,
    Fingerprint,
    Grading,
    Inspection,
    Judgment,
    Owner,
    Route,
    Scope,
    Submission,
)

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
    origins: dict[str, str] = field(default_factory=dict)
    """By grading, where its submission came from in this run; a grading without one has no known author."""
    _in_flight: dict[str, Work] = field(default_factory=dict)
    _unassured: dict[str, Fingerprint] = field(default_factory=dict)
    _fingerprints: dict[str, Fingerprint] = field(default_factory=dict)
    _assurances: dict[Scope, Assurance] = field(default_factory=dict)
    _draw: CalibrationDraw | None = None

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
            assurance = self._assurance_of(Scope.of(made))
            self._fingerprints[task_id] = stamp_assurance(made, self.library, assurance)
        return self._fingerprints[task_id]

    def refresh(self) -> None:
        """Take in certificates that came into force or were taken back; a run does so once, at its start."""
        self._fingerprints.clear()
        self._assurances.clear()

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

    def assess(self, work: Work) -> Confidence:
        """Say how far the draft of a grading can be trusted."""
        inspection, draft = work.result("inspect", Inspection), work.result("judge", Judgment)
        calibrator = self._assured(work).calibrator
        probabilities = estimate_draft(calibrator, inspection, draft, work.rubric, work.task.id)
        sha256 = calibrator.content_hash() if calibrator is not None else ""
        return state_confidence(inspection, draft, probabilities, sha256)

    def decide(self, work: Work) -> Route:
        """Decide where a grading goes."""
        assurance = self._assured(work)
        return decide_route(
            work.result("inspect", Inspection),
            work.rubric,
            work.recall("judge", Judgment),
            confidence=work.recall("assess", Confidence),
            policy=self.library.policy,
            assurance=assurance,
            task=work.task.id,
            author=self._author_of(work.grading) if assurance.certificates else "",
        )

    def draw(self, work: Work, route: Route) -> float | None:
        """Return with which chance a grading was drawn to calibrate on; None where it was not."""
        if is_settled(route):
            return None
        if self._draw is None:
            self._draw = CalibrationDraw(self.store, self.library.policy.calibration_rate)
        return self._draw.draw(work.grading, route.destination)

    def end(self, grading_id: str) -> None:
        """Let go of a grading that left the graph, for good or for now."""
        self._in_flight.pop(grading_id, None)

    def _assured(self, work: Work) -> Assurance:
        """Return what was in force for a grading: of one that was made otherwise nothing is known."""
        made = work.grading.fingerprint
        return self._assurance_of(Scope.of(made)) if work.current else Assurance()

    def _assurance_of(self, scope: Scope) -> Assurance:
        if scope not in self._assurances:
            self._assurances[scope] = read_assurance(
                Register(self.store), scope, self.library.policy.content_hash(), self._family_of
            )
        return self._assurances[scope]

    def _family_of(self, rubric: str) -> str:
        try:
            return self.library.find_rubric(rubric).id
        except GraderError:
            return ""

    def _author_of(self, grading: Grading) -> str:
        author = author_behind(self.origins.get(grading.id, ""), grading.submission_id)
        return pseudonym_of(load_secret(self.store), author)


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
