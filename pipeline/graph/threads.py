"""Advance graph threads: each grading as far as it goes, to its end or to where it waits for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from langgraph.types import Command

from pipeline.errors import GraderError
from pipeline.execute.sandbox import SandboxError
from pipeline.graph.build import Graph, build_graph
from pipeline.graph.services import Services
from pipeline.routing import policy
from pipeline.store import StoreError
from pipeline.types import Destination, Route

__all__ = ["Progress", "advance", "resume_decided"]

#: Gradings in flight. More than there are workers, so that none of these ever waits for a commit or a judge,
#: and so that one commit serves many of them.
_IN_FLIGHT: Final = 32


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


def advance(
    grading_ids: Sequence[str],
    services: Services,
    on_progress: Callable[[Progress], None] | None = None,
) -> None:
    """Advance the threads of `grading_ids`, several at a time.

    Raises:
        SandboxError: If this machine can no longer run submissions.
        StoreError: If the store can no longer keep results.
        KeyboardInterrupt: After Ctrl-C; what was finished is in the store.
    """
    asyncio.run(_advance_all(grading_ids, services, on_progress))


def resume_decided(services: Services) -> list[str]:
    """Finish every grading whose reviewer has decided, and return their ids."""
    decided = services.store.list_decided()
    if decided:
        advance(decided, services)
        services.store.flush()
    return decided


async def _advance_all(
    grading_ids: Sequence[str], services: Services, on_progress: Callable[[Progress], None] | None
) -> None:
    graph = build_graph(services.store.checkpoints())
    slots = asyncio.Semaphore(_IN_FLIGHT)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_IN_FLIGHT, "node"))
    done = 0

    async def advance_one(grading_id: str) -> None:
        nonlocal done
        async with slots:
            await _advance(graph, grading_id, services)
        done += 1
        if on_progress is not None:
            on_progress(Progress(done, len(grading_ids), grading_id))

    try:
        async with asyncio.TaskGroup() as group:
            for grading_id in grading_ids:
                group.create_task(advance_one(grading_id))
    except asyncio.CancelledError:
        # Nodes run in threads that cannot be cancelled; without workers they end at once.
        services.executor.close()
        raise
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _advance(graph: Graph, grading_id: str, services: Services) -> None:
    """Take one thread as far as it goes.

    A thread without a checkpoint starts over; the memo makes that cheap, and the store already knows whether
    its reviewer has decided.
    """
    config: Any = {"configurable": {"thread_id": grading_id}}
    snapshot = await graph.aget_state(config)
    step: Any = {"grading_id": grading_id}
    if snapshot.interrupts:
        pending = snapshot.interrupts[0]
        step = Command(resume={pending.id: {"review_id": pending.value["review_id"]}})
    try:
        await graph.ainvoke(step, config, context=services, durability="exit")
    except (SandboxError, StoreError):
        raise
    except Exception as error:  # the one place where a failure of ours becomes a row instead of a crash
        _hold(grading_id, error, services)
    finally:
        services.end(grading_id)


def _hold(grading_id: str, error: Exception, services: Services) -> None:
    """Keep a grading that failed by our doing for the next run; what it was routed to before still stands."""
    if services.store.load_route(grading_id) is None:
        reason = str(error) if isinstance(error, GraderError) else f"{type(error).__name__}: {error}"
        route = Route(destination=Destination.HOLD, reason=f"not graded: {reason}", policy=policy.VERSION)
        services.store.save_route(grading_id, route)
