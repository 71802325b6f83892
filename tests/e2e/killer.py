"""A patch for the crash tests: the process that grades or decides dies with SIGKILL at a named point.

A point is ``STAGE:MOMENT``. The code under test knows nothing of it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from pipeline.graph import batch, nodes
from pipeline.graph.work import Work
from pipeline.report import render
from pipeline.review import decisions
from pipeline.store import Store

STAGES = ("build", "run", "profile", "inspect", "judge", "assess")
MOMENTS = ("before", "inside", "recorded", "committed")
POINTS = (
    *(f"{stage}:{moment}" for stage in STAGES for moment in MOMENTS),
    "route:before",
    "route:after",
    "finish:before",
    "finish:after",
    "close_batch:before",
    "close_batch:after",
    "snapshot:after",
)
DECISION_POINTS = (
    "decide:before",
    "decide:after",
    "resume:before",
    "finish:before",
    "finish:after",
    "resume:after",
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Countdown:
    """Dies at the `count`-th arrival at `point`."""

    def __init__(self, point: str, count: int) -> None:
        self.point = point
        self.left = count
        self.lock = threading.Lock()

    def arrive(self, point: str, *, after: float = 0.0) -> None:
        with self.lock:
            if point != self.point:
                return
            self.left -= 1
            if self.left:
                return
        if after:
            threading.Timer(after, die).start()
        else:
            die()


def surround(owner: Any, name: str, before: Callable[..., None], after: Callable[..., None]) -> None:
    original = getattr(owner, name)

    def surrounded(*arguments: Any, **keywords: Any) -> Any:
        before(*arguments)
        result = original(*arguments, **keywords)
        after(*arguments)
        return result

    setattr(owner, name, surrounded)


def install(point: str, count: int) -> None:
    """Let this process die at the `count`-th arrival at `point`."""
    countdown = Countdown(point, count)

    def at(point: str) -> Callable[..., None]:
        return lambda *_: countdown.arrive(point)

    original_perform = Work.perform
    original_perform_async = Work.perform_async

    def perform(work: Any, stage: str, kind: Any, compute: Any) -> Any:
        countdown.arrive(f"{stage}:before")

        def watched() -> Any:
            countdown.arrive(f"{stage}:inside", after=0.003)
            return compute()

        return original_perform(work, stage, kind, watched)

    async def perform_async(work: Any, stage: str, kind: Any, compute: Any) -> Any:
        countdown.arrive(f"{stage}:before")

        async def watched() -> Any:
            countdown.arrive(f"{stage}:inside", after=0.0005)
            return await compute()

        return await original_perform_async(work, stage, kind, watched)

    original_record = Store.record_stage

    def record_stage(store: Any, record: Any) -> None:
        original_record(store, record)
        countdown.arrive(f"{record.stage}:recorded")
        if countdown.point == f"{record.stage}:committed":
            store.flush()
            countdown.arrive(f"{record.stage}:committed")

    Work.perform = perform  # type: ignore[method-assign]
    Work.perform_async = perform_async  # type: ignore[method-assign]
    Store.record_stage = record_stage  # type: ignore[method-assign]
    surround(nodes, "enqueue", at("route:before"), at("route:after"))
    surround(nodes, "conclude", at("finish:before"), at("finish:after"))
    surround(Store, "close_batch", at("close_batch:before"), at("close_batch:after"))
    surround(Store, "snapshot", lambda *_: None, at("snapshot:after"))
    surround(decisions, "decide", at("decide:before"), at("decide:after"))
    surround(batch, "resume_decided", at("resume:before"), at("resume:after"))


def leave_out_report() -> None:
    """Let this process write no report.

    A report is a function of the rows that crash tests compare, and drawing it takes longer than the rest.
    """

    def write_nothing(store: Any, batch_id: str, path: Any) -> Any:
        return path

    render.write_report = write_nothing
