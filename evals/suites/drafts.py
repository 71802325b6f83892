"""From code to a draft, as a grading goes: run, inspected, judged; nothing is kept."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from evals.injection.cases import Outcome
from evals.redteam.cases import Arena, sketch
from evals.suites.suite import Options
from pipeline.checks.check import Evidence
from pipeline.checks.inspection import inspect_submission
from pipeline.compare.oracle import Oracle
from pipeline.errors import GraderError
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.sandbox import choose_level
from pipeline.judge import open_judge
from pipeline.judge.protocol import Judge, JudgeRequest, JudgmentDeferred
from pipeline.library.rubrics import load_rubric
from pipeline.library.submissions import admit_code
from pipeline.store import open_store
from pipeline.types import Fault, Judgment, Owner, Task

__all__ = ["Bench", "open_bench"]

#: What inputs are drawn from: the same in every run, so that runs can be compared.
_SEED: Final = "5eed" * 8


class Bench(Arena):
    """Inspects submissions two at a time, and has one judge draft on what was found."""

    __slots__ = ("judge",)

    judge: Judge

    def inspect_code(self, task: Task, code: str, *, sketched: bool = False) -> Outcome:
        """Return what every stage up to the checks says of `code`.

        Args:
            task: What it is for.
            code: The submission.
            sketched: Whether fewer and smaller cases will do.
        """
        chosen = sketch(task) if sketched else task
        submission = admit_code(chosen, code.encode())
        evidence = Evidence(chosen, submission, *self._execute(chosen, submission))
        return Outcome(evidence, inspect_submission(evidence), load_rubric(chosen.rubric))

    def inspect_all(
        self, submissions: Sequence[tuple[Task, str]], *, sketched: bool = False
    ) -> list[Outcome]:
        """Return what `inspect_code` says of each pair of task and code, in their order."""
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(lambda one: self.inspect_code(*one, sketched=sketched), submissions))

    def draft_all(self, requests: Sequence[JudgeRequest]) -> list[Judgment]:
        """Return the judge's draft on each request, in their order.

        Raises:
            GraderError: If the judge cannot go on, such as by a cap on its cost (``judge_stopped``).
        """
        return asyncio.run(self._draft_all(requests))

    async def _draft_all(self, requests: Sequence[JudgeRequest]) -> list[Judgment]:
        places = asyncio.Semaphore(self.judge.in_flight)

        async def draft(request: JudgeRequest) -> Judgment:
            async with places:
                return await self.judge.judge(request)

        try:
            found = await asyncio.gather(*map(draft, requests), return_exceptions=True)
        finally:
            await self.judge.aclose()
        for one in found:
            if isinstance(one, JudgmentDeferred):
                raise GraderError(self._explain_stop()) from None
            if isinstance(one, BaseException):
                raise one
        return [one for one in found if isinstance(one, Judgment)]

    def _explain_stop(self) -> Fault:
        stopped = self.judge.stopped
        why = stopped.message if stopped else "its answers are not there yet"
        return Fault(
            owner=Owner.ENVIRONMENT,
            code="judge_stopped",
            message=f"the judge cannot go on: {why}",
            remedy="raise the cap or wait; with --db FILE the answers that are paid are not asked for again",
        )

    @property
    def draws(self) -> bool:
        """Whether the judge's answers depend on chance: whether it asks a model."""
        return self.judge.spending is not None


@contextmanager
def open_bench(options: Options, workers: int = 2) -> Iterator[Bench]:
    """Open executor and judge, and close them again.

    Raises:
        GraderError: If there is no such judge, or it is not set up as it should be.
    """
    with (
        tempfile.TemporaryDirectory(prefix="nki-evals-") as folder,
        open_store(options.database or Path(folder) / "answers.duckdb") as store,
    ):
        judge = open_judge(options.settings, store)
        executor = EmulatorExecutor(choose_level(), workers=workers)
        try:
            bench = Bench(executor, Oracle(executor.computers, _SEED))
            bench.judge = judge
            yield bench
        finally:
            executor.close()
