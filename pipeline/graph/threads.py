"""Advance graph threads: each grading as far as it goes, to its end or to where it waits for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from langgraph.types import Command

from pipeline.errors import GraderError
from pipeline.execute.sandbox import SandboxError
from pipeline.graph.build import Graph, build_graph
from pipeline.graph.services import Services
from pipeline.judge.protocol import JudgmentDeferred
from pipeline.routing import policy
from pipeline.store import StoreError
from pipeline.store.checkpoints import START_OVER
from pipeline.types import Destination, Fault, Grading, Route, Submission

__all__ = ["Planned", "Progress", "advance", "resume_decided"]

#: Threads for what blocks: more than there are workers, so that none of these ever waits for one.
_THREADS: Final = 32

#: Gradings resumed between two looks whether there is still time: about a second of work.
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        done: Gradings that left the graph, for good or to wait.
        total: Gradings that this run works on.
        grading_id: The latest of them.
    """

    done: int
    total: int
    grading_id: str


class Planned(NamedTuple):
    """A grading and what is graded."""

    grading: Grading
    submission: Submission


def advance(
    planned: Sequence[Planned],
    services: Services,
    *,
    waiting: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Fault | None:
    """Advance the threads of `planned`, several at a time.

    A thread whose judgment is put off stays where it is; when all others have come as far as they go, what
    was put off is fetched, and those threads go on.

    Args:
        planned: Distinct gradings.
        services: What nodes work with.
        waiting: Whether the threads wait for a person, who has decided, and are to be resumed where they
            stand.
        on_progress: Told after each of them.

    Returns:
        Why nothing more can be asked in this run, such as a cap on cost or a wrong key; else None. Threads
        that were not asked about stay where they are.

    Raises:
        SandboxError: If this machine can no longer run submissions.
        StoreError: If the store can no longer keep results.
        KeyboardInterrupt: After Ctrl-C; what was finished is in the store.
    """
    if not planned:
        return None
    if _in_event_loop():
        # A notebook runs its cells in a loop, and a thread can have only one.
        with ThreadPoolExecutor(1, "advance") as beside:
            return beside.submit(asyncio.run, _advance_all(planned, services, waiting, on_progress)).result()
    return asyncio.run(_advance_all(planned, services, waiting, on_progress))


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def resume_decided(services: Services, *, is_ended: Callable[[], bool] = lambda: False) -> list[str]:
    """Finish the gradings whose reviewers have decided.

    Args:
        services: What nodes work with.
        is_ended: Asked every now and then; what is left once it says so is left for the next time.

    Returns:
        Ids of those that have a grade now; what could not be finished is tried again next time.
    """
    decided = services.store.list_decided()
    if not decided:
        return []
    for start in range(0, len(decided), _AT_ONCE):
        if is_ended():
            break
        gradings = [services.store.load_grading(name) for name in decided[start : start + _AT_ONCE]]
        planned = [Planned(g, services.store.load_submission(g.submission_id)) for g in gradings]
        advance(planned, services, waiting=True)
    services.store.flush()
    finished = services.store.finished(decided)
    return [grading_id for grading_id in decided if finished.get(grading_id) == "graded"]


async def _advance_all(
    planned: Sequence[Planned],
    services: Services,
    waiting: bool,
    on_progress: Callable[[Progress], None] | None,
) -> Fault | None:
    graph = build_graph(services.store.checkpoints())
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "node"))
    total = left = len(planned)

    def note(grading_id: str) -> None:
        nonlocal left
        left -= 1
        if on_progress is not None:
            on_progress(Progress(total - left, total, grading_id))

    try:
        deferred = await _advance_each(graph, planned, services, waiting, note)
        while deferred and services.judge.stopped is None and await services.judge.fetch():
            deferred = await _advance_each(graph, deferred, services, waiting, note)
        return services.judge.stopped
    finally:
        await services.judge.aclose()


async def _advance_each(
    graph: Graph, planned: Sequence[Planned], services: Services, waiting: bool, note: Callable[[str], None]
) -> list[Planned]:
    """Advance `planned`, several at a time, and return those whose judgment is put off."""
    upcoming = iter(planned)
    deferred: list[Planned] = []

    async def advance_some() -> None:
        for plan in upcoming:
            # What a person has decided needs no judge any more.
            if (waiting or services.judge.stopped is None) and await _advance(graph, plan, services, waiting):
                note(plan.grading.id)
            else:
                deferred.append(plan)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(services.judge.in_flight, len(planned))):
                group.create_task(advance_some())
    except asyncio.CancelledError:
        # Nodes run in threads that cannot be cancelled; without workers they end at once.
        services.executor.close()
        raise
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return deferred


async def _advance(graph: Graph, plan: Planned, services: Services, waiting: bool) -> bool:
    """Take one thread as far as it goes; return whether that is as far as it can come without a person.

    A thread starts over unless it waits for a person: the memo makes that cheap. One that waits but has lost
    its checkpoint starts over too, and finds the decision in the store.
    """
    grading_id = plan.grading.id
    config: Any = {"configurable": {"thread_id": grading_id}}
    try:
        services.begin(plan.grading, plan.submission, decided=waiting)
        step: Any = {"grading_id": grading_id}
        if waiting:
            step = await _find_resumption(graph, config) or step
        if not isinstance(step, Command):
            config["configurable"][START_OVER] = True
        # Nothing is streamed, since what came of it is in the store; LangGraph need not collect it.
        async for _ in graph.astream(step, config, context=services, durability="exit", stream_mode=[]):
            pass
    except JudgmentDeferred:
        return False
    except (SandboxError, StoreError):
        raise
    except Exception as error:  # the one place where a failure of ours becomes a row instead of a crash
        _hold(grading_id, error, services)
    finally:
        services.end(grading_id)
    return True


async def _find_resumption(graph: Graph, config: Any) -> Any:
    """Return the command that resumes a waiting thread, or None when its checkpoint is gone."""
    snapshot = await graph.aget_state(config)
    if not snapshot.interrupts:
        return None
    pending = snapshot.interrupts[0]
    return Command(resume={pending.id: {"review_id": pending.value["review_id"]}})


def _hold(grading_id: str, error: Exception, services: Services) -> None:
    """Keep a grading that failed by our doing for the next run; what it was routed to before still stands."""
    if services.store.load_route(grading_id) is None:
        reason = str(error) if isinstance(error, GraderError) else f"{type(error).__name__}: {error}"
        route = Route(
            destination=Destination.HOLD,
            reason=f"not graded: {reason}",
            policy=policy.name_policy(services.library.policy),
            rule="infrastructure",
        )
        services.store.save_route(grading_id, route)
