"""What grading costs beyond building and running: all nodes, the rules judge, DuckDB.

    python evals/bench/pipeline_overhead.py [SUBMISSIONS]

Results of build and run are put into the memo beforehand; everything else is the real thing. Prints wall
milliseconds per submission, the share of processor time that LangGraph, checkpoints, the store and our own
code take, and the memory at the start and the end. Target: under 15 ms per submission at 1,000 on 2 cores.
"""

from __future__ import annotations

import functools
import inspect
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.config import Settings
from pipeline.execute.sandbox import probe_levels
from pipeline.graph import nodes
from pipeline.graph.batch import register
from pipeline.graph.keys import StageKeys
from pipeline.graph.services import Services, open_services
from pipeline.graph.threads import Planned, advance
from pipeline.library.submissions import admit_code
from pipeline.store import StageRecord, Store, open_store
from pipeline.store.checkpoints import StoreSaver
from pipeline.types import BuildResult, RunResult

TASK = "softmax_rows"
SPENT: dict[str, float] = {}
INSIDE = threading.local()


def main() -> None:
    """Measure the cost, then the shares: with clocks inside, which distort the cost."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    wall, cpu, memory = measure(count)
    each = 1e3 / count
    print(f"pipeline overhead per submission: {wall * each:.2f} ms wall, {cpu * each:.2f} ms processor")
    print(f"  n = {count}; target under 15 ms wall")
    print(f"  memory: {memory[0]:.0f} MiB at the start, {memory[1]:.0f} MiB at the end")
    install_clocks()
    _, cpu, _ = measure(count)
    for account, seconds in sorted(SPENT.items()):
        print(f"  {account:12s} {seconds / cpu:6.1%} of processor time")
    print(f"  {'LangGraph and the rest':12s} {(cpu - sum(SPENT.values())) / cpu:6.1%}")


def measure(count: int) -> tuple[float, float, tuple[float, float]]:
    """Grade `count` prepared submissions; return wall and processor seconds, and peak MiB around it."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "bench.duckdb") as store:
        settings = Settings(allow_unsandboxed=not any(p.available for p in probe_levels()))
        with open_services(store, settings) as services:
            planned = prepare(services, count)
            SPENT.clear()
            started, cpu, before = time.perf_counter(), time.process_time(), resident_mib()
            advance(planned, services)
            store.flush()
            wall, spent = time.perf_counter() - started, time.process_time() - cpu
    return wall, spent, (before, resident_mib())


def prepare(services: Services, count: int) -> list[Planned]:
    """Register `count` distinct submissions whose results of build and run are in the memo."""
    task = services.library.tasks[TASK]
    good = next(solution for solution in task.solutions if solution.name.startswith("good"))
    submissions = [admit_code(task, f"# {n}\n{good.code}".encode()) for n in range(count + 1)]
    warm, *planned = register(submissions, services)
    advance([warm], services)
    keys = StageKeys.derive(warm.grading, warm.submission)
    built = BuildResult.model_validate_json(found(services.store, "build", keys))
    ran = RunResult.model_validate_json(found(services.store, "run", keys))
    for plan in planned:
        remember(services.store, plan, built, ran)
    services.store.flush()
    return planned


def found(store: Store, stage: str, keys: StageKeys) -> str:
    """Return the output of a stage that must be in the memo."""
    record = store.find_stage(stage, keys.of(stage))
    if record is None:
        raise SystemExit(f"the warm-up submission has no {stage} result")
    return record.output


def remember(store: Store, plan: Planned, built: BuildResult, ran: RunResult) -> None:
    """Put the results of build and run into the memo of one grading."""
    keys = StageKeys.derive(plan.grading, plan.submission)
    for stage, result in (("build", built), ("run", ran)):
        output = result.model_dump_json()
        store.record_stage(StageRecord(stage=stage, key=keys.of(stage), output=output, seconds=0.0))


def install_clocks() -> None:
    """Measure processor time per thread inside the store, the checkpointer and the nodes."""
    saver = StoreSaver
    for name in ("get_tuple", "put", "put_writes"):
        clock(saver, name, "checkpoints")
    for name in (
        "find_stage", "record_stage", "link_stages", "save_route", "open_review", "load_review",
        "load_grading", "load_submission", "find_document", "save_grade", "load_route",
    ):  # fmt: skip
        clock(Store, name, "store")
    for node in nodes.__all__:
        clock(nodes, node, "own code")


def clock(owner: Any, name: str, account: str) -> None:
    """Add the processor time of `owner.name` to `account`; what an account inside it takes is taken out."""
    original: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(original)
    def timed(*arguments: Any, **keywords: Any) -> Any:
        with charge(account):
            return original(*arguments, **keywords)

    @functools.wraps(original)
    async def timed_coroutine(*arguments: Any, **keywords: Any) -> Any:
        # These nodes wait for nobody, so that nothing else runs on their thread meanwhile.
        with charge(account):
            return await original(*arguments, **keywords)

    setattr(owner, name, timed_coroutine if inspect.iscoroutinefunction(original) else timed)


@contextmanager
def charge(account: str) -> Iterator[None]:
    """Charge this thread's processor time to `account`, less what is charged inside."""
    outer = getattr(INSIDE, "seconds", 0.0)
    INSIDE.seconds = 0.0
    started = time.thread_time()
    try:
        yield
    finally:
        total = time.thread_time() - started
        SPENT[account] = SPENT.get(account, 0.0) + total - INSIDE.seconds
        INSIDE.seconds = outer + total


def resident_mib() -> float:
    """Return the highest resident memory so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
