"""One grading in flight: its inputs, its content keys, and the memo that makes every stage idempotent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pipeline.checks.check import Evidence
from pipeline.errors import GraderError
from pipeline.graph.keys import StageKeys
from pipeline.judge.protocol import JudgeRequest
from pipeline.store import StageRecord, Store
from pipeline.types import (
    BuildResult,
    Fault,
    Frozen,
    Grading,
    Inspection,
    Judgment,
    Owner,
    ProfileResult,
    Prompt,
    Rubric,
    RunResult,
    Submission,
    Task,
    Verdict,
)

__all__ = ["Work"]

Result = TypeVar("Result", bound=Frozen)

#: Stages that may be kept under another key than their own.
_SET_APART: Final = ("judge", "assess")


@dataclass(slots=True)
class Work:
    """A grading and what it needs; results of its stages are kept while it is in flight.

    Attributes:
        current: Whether this release would make the same fingerprint. If not, a stage that the store has
            lost cannot be made again under the old name.
        decided: Whether a person has decided on it.

    An ``infrastructure`` result is kept in flight only: the next run tries again. A draft that the
    environment kept from being made, such as by a wrong key, is kept for whoever reviews it, but under
    another key: asking again is not settled by it.
    """

    store: Store
    grading: Grading
    submission: Submission
    task: Task
    rubric: Rubric
    prompt: Prompt
    keys: StageKeys
    current: bool
    decided: bool = False
    _results: dict[str, Frozen] = field(default_factory=dict)
    _beyond_memo: bool = False

    def perform(self, stage: str, kind: type[Result], compute: Callable[[], Result]) -> Result:
        """Return the stage's result from the memo, or compute and record it."""
        known = self._recall_settled(stage, kind)
        if known is not None:
            return known
        self.refuse_unless_current(stage)
        started = time.perf_counter()
        return self._record(stage, compute(), time.perf_counter() - started)

    async def perform_async(
        self, stage: str, kind: type[Result], compute: Callable[[], Awaitable[Result]]
    ) -> Result:
        """As `perform`, for a stage that waits for others."""
        known = self._recall_settled(stage, kind)
        if known is not None:
            return known
        self.refuse_unless_current(stage)
        started = time.perf_counter()
        return self._record(stage, await compute(), time.perf_counter() - started)

    async def perform_beside(self, stage: str, kind: type[Result], compute: Callable[[], Result]) -> Result:
        """As `perform`, for a stage that blocks: `compute` runs in a thread of its own."""
        return await self.perform_async(stage, kind, lambda: asyncio.to_thread(compute))

    def result(self, stage: str, kind: type[Result]) -> Result:
        """Return the result of a stage that has been performed.

        Raises:
            LookupError: If it has not.
        """
        known = self.recall(stage, kind)
        if known is None:
            raise LookupError(f"{self.grading.id}: stage {stage!r} has no result")
        return known

    def evidence(self) -> Evidence:
        """Return what checks may look at: a stage that was skipped is None."""
        return Evidence(
            task=self.task,
            submission=self.submission,
            build=self.recall("build", BuildResult),
            run=self.recall("run", RunResult),
            profile=self.recall("profile", ProfileResult),
        )

    def judge_request(self) -> JudgeRequest:
        """Return all that a judge is told."""
        inspection = self.result("inspect", Inspection)
        return JudgeRequest(
            task=self.task,
            submission=self.submission,
            verdict=inspection.verdict,
            facts=inspection.facts,
            reports=inspection.reports,
            rubric=self.rubric,
            prompt=self.prompt,
            grading_id=self.grading.id,
        )

    def refuse_unless_current(self, stage: str) -> None:
        """Refuse to make a stage under a fingerprint that this release would not give it.

        Raises:
            GraderError: If the stage is lost and was another release's.
        """
        if self.current:
            return
        raise GraderError(
            Fault(
                owner=Owner.GRADER,
                code="stage_lost",
                message=f"stage {stage!r} of {self.grading.id} is not in the store, and was made by another "
                "release or configuration",
                remedy="grade the submission again: it gets a new grading",
            )
        )

    def recall(self, stage: str, kind: type[Result]) -> Result | None:
        """Return the result of a stage, or None if it was skipped or has not been performed."""
        known = self._remember(stage, kind, self.keys.of(stage))
        if known is None and stage in _SET_APART and not self._beyond_memo:
            linked = self.store.list_stages(self.grading.id).get(stage)
            known = self._remember(stage, kind, linked) if linked is not None else None
        return known

    def _recall_settled(self, stage: str, kind: type[Result]) -> Result | None:
        """Return what need not be made again: what a person decided on is what they saw, whatever it was."""
        if self.decided:
            return self.recall(stage, kind)
        return self._remember(stage, kind, self.keys.of(stage))

    def _remember(self, stage: str, kind: type[Result], key: str) -> Result | None:
        held = self._results.get(stage)
        if isinstance(held, kind):
            return held
        if self._beyond_memo:
            return None
        record = self.store.find_stage(stage, key)
        if record is None:
            return None
        result = kind.model_validate_json(record.output)
        self._results[stage] = result
        return result

    def _record(self, stage: str, result: Result, seconds: float) -> Result:
        self._results[stage] = result
        # Stages are recorded in order, so what follows one that was missing is missing too.
        self._beyond_memo = True
        fault = result.fault if isinstance(result, Judgment) else None
        if fault is not None and fault.owner is Owner.ENVIRONMENT:
            self.keys = self.keys.set_apart(fault.content_hash())
        if getattr(result, "verdict", None) is not Verdict.INFRASTRUCTURE:
            self.store.record_stage(
                StageRecord(
                    stage=stage,
                    key=self.keys.of(stage),
                    output=result.model_dump_json(),
                    seconds=seconds,
                    facts=result.facts if isinstance(result, Inspection) else (),
                    reports=result.reports if isinstance(result, Inspection) else (),
                    scores=result.scores if isinstance(result, Judgment) else (),
                    cases=result.cases if isinstance(result, RunResult) else (),
                )
            )
        return result
