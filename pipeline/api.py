"""Grade from Python: for training loops and notebooks.

    from pipeline import grade
    result = grade("softmax_rows", code)
    result.verdict, result.overall.value, [item.text for item in result.feedback]

A `Grader` keeps workers and database open between calls; `grade` and `grade_async` share one per process.
"""

from __future__ import annotations

import asyncio
import atexit
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.graph.batch import list_unfinished, open_batch, register
from pipeline.graph.services import open_services
from pipeline.graph.threads import Planned, advance
from pipeline.library.submissions import Received, admit_author, admit_code
from pipeline.store import open_store
from pipeline.types import (
    Confidence,
    Destination,
    Fact,
    Fault,
    FeedbackItem,
    Finding,
    Frozen,
    Inspection,
    Judgment,
    OverallGrade,
    Owner,
    Route,
    Score,
    Task,
    Verdict,
)

__all__ = ["Grader", "Result", "grade", "grade_async"]


class Result(Frozen):
    """What grading one submission came to."""

    grading_id: str
    verdict: Verdict
    fault: Fault | None
    """What stopped it, and whose doing that was."""
    scores: tuple[Score, ...]
    overall: OverallGrade | None
    """None when infrastructure kept it from being graded."""
    feedback: tuple[FeedbackItem, ...]
    facts: tuple[Fact, ...]
    findings: tuple[Finding, ...]
    confidence: Confidence | None
    route: Route
    """Whether the grade stands, waits for a person, or is held."""
    final: bool
    """Whether the grade is released; a draft otherwise."""


class Grader:
    """An open grader.

    Args:
        db: Database to keep everything in; None for a temporary one.
        settings: What to do differently from the defaults.

    Raises:
        GraderError: If the database cannot be opened or this machine cannot confine submissions.
    """

    def __init__(self, db: Path | str | None = None, settings: Settings | None = None) -> None:
        self._lock = threading.Lock()
        with ExitStack() as stack:
            if db is None:
                db = (
                    Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nki-grader-"))) / "db.duckdb"
                )
            self._store = stack.enter_context(open_store(Path(db)))
            self._services = stack.enter_context(open_services(self._store, settings or Settings()))
            self._resources = stack.pop_all()

    def grade(self, task: str, code: str, author: str = "") -> Result:
        """Grade `code` as a submission of `author` to the task called `task`.

        Raises:
            GraderError: If there is no such task, or `author` is no name.
        """
        return self.grade_many(task, [code], author)[0]

    def grade_many(self, task: str, codes: Sequence[str], author: str = "") -> list[Result]:
        """Grade several submissions to one task, several at a time; results keep their order.

        Args:
            task: Its id.
            codes: Sources.
            author: The model or person that wrote all of them; empty where that is not to be known.

        Raises:
            GraderError: If there is no such task, `author` is no name, or the run had to stop, e.g. at a cap
                on cost; what was done until then is kept, and the same call goes on from there.
        """
        if not all(isinstance(code, str) for code in codes):
            raise TypeError("code is a kernel's source, as one string")
        author = admit_author(author, where="author")
        submissions = [
            admit_code(self._find_task(task), code.encode(errors="surrogatepass")) for code in codes
        ]
        with self._lock:
            planned = register(submissions, self._services)
            batch = None
            if author and submissions:
                received = [Received("", submission, author) for submission in submissions]
                batch = open_batch(received, [], planned, self._services)
            stopped = advance(list_unfinished(planned, self._store, ask_again=True), self._services)
            self._store.flush()
            if stopped is not None:
                raise GraderError(stopped)
            if batch is not None:
                self._store.close_batch(batch.id)
            return [self._collect(plan) for plan in planned]

    async def grade_async(self, task: str, code: str, author: str = "") -> Result:
        """As `grade`, without blocking the event loop."""
        return await asyncio.to_thread(self.grade, task, code, author)

    def close(self) -> None:
        """End workers and close the database."""
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _find_task(self, name: str) -> Task:
        tasks = self._services.library.tasks
        if name not in tasks:
            raise GraderError(
                Fault(
                    owner=Owner.ENVIRONMENT,
                    code="unknown_task",
                    message=f"there is no task {name!r}",
                    remedy=f"choose from: {', '.join(tasks)}",
                )
            )
        return tasks[name]

    def _collect(self, plan: Planned) -> Result:
        """Put together what the store knows of a grading."""
        grading = plan.grading
        route = self._store.load_route(grading.id)
        grade = self._store.load_grade(grading.id)
        work = self._services.begin(grading, plan.submission)
        try:
            inspection = work.recall("inspect", Inspection)
            draft = work.recall("judge", Judgment)
            confidence = work.recall("assess", Confidence)
        finally:
            self._services.end(grading.id)
        final = grade or draft
        return Result(
            grading_id=grading.id,
            verdict=inspection.verdict if inspection else Verdict.INFRASTRUCTURE,
            fault=inspection.fault if inspection else None,
            scores=final.scores if final else (),
            overall=final.overall if final else None,
            feedback=final.feedback if final else (),
            facts=inspection.facts if inspection else (),
            findings=tuple(f for report in inspection.reports for f in report.findings) if inspection else (),
            confidence=confidence,
            route=route or _UNROUTED,
            final=grade is not None,
        )


_UNROUTED: Final = Route(destination=Destination.HOLD, reason="not graded yet", policy="none")

_SHARED: Final[list[Grader]] = []
_SHARED_LOCK: Final = threading.Lock()


def grade(task: str, code: str, author: str = "") -> Result:
    """Grade `code` as a submission to `task`, with workers and a temporary database shared per process.

    Raises:
        GraderError: If there is no such task, `author` is no name, or this machine cannot confine
            submissions.
    """
    return _shared().grade(task, code, author)


async def grade_async(task: str, code: str, author: str = "") -> Result:
    """As `grade`, without blocking the event loop."""
    return await asyncio.to_thread(grade, task, code, author)


def _shared() -> Grader:
    with _SHARED_LOCK:
        if not _SHARED:
            grader = Grader()
            atexit.register(grader.close)
            _SHARED.append(grader)
        return _SHARED[0]
