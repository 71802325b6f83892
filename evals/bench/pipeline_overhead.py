"""What grading costs beyond building and running: all nodes, the rules judge, DuckDB.

    python evals/bench/pipeline_overhead.py [SUBMISSIONS]

Build and run return at once what they did for the first submission; everything else is the real thing. Prints
wall milliseconds per submission, the share of processor time that LangGraph, checkpoints, the store and our
own code take, and the memory at the start and the end. Target: under 15 ms at 1,000 submissions on 2 cores.
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
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.sandbox import probe_levels
from pipeline.graph import nodes
from pipeline.graph.batch import register
from pipeline.graph.services import Services, open_services
from pipeline.graph.threads import Planned, advance
from pipeline.library.submissions import admit_code
from pipeline.store import Store, open_store
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
    """Grade `count` submissions; return wall and processor seconds, and MiB before and after."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "bench.duckdb") as store:
        settings = Settings(allow_unsandboxed=not any(p.available for p in probe_levels()))
        with open_services(store, settings) as services:
            task = services.library.tasks[TASK]
            good = next(solution for solution in task.solutions if solution.name.startswith("good"))
            codes = [f"# {number}\n{good.code}" for number in range(count + 1)]
            warm, *planned = register([admit_code(task, code.encode()) for code in codes], services)
            advance([warm], services)
            results = answer_at_once(services, warm)
            store.flush()
            SPENT.clear()
            started, cpu, before = time.perf_counter(), time.process_time(), resident_mib()
            with results:
                advance(planned, services)
            store.flush()
            wall, spent = time.perf_counter() - started, time.process_time() - cpu
    return wall, spent, (before, resident_mib())


@contextmanager
def answer_at_once(services: Services, warm: Planned) -> Iterator[None]:
    """Let build and run return what they did for `warm`, without building or running anything."""
    work = services.begin(warm.grading, warm.submission)
    built, ran = work.result("build", BuildResult), work.result("run", RunResult)
    services.end(warm.grading.id)
    build, run = EmulatorExecutor.build, nodes.run_cases

    def build_at_once(*_: Any, **__: Any) -> BuildResult:
        return built

    def run_at_once(*_: Any, **__: Any) -> RunResult:
        return ran

    EmulatorExecutor.build, nodes.run_cases = build_at_once, run_at_once
    try:
        yield
    finally:
        EmulatorExecutor.build, nodes.run_cases = build, run


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
    """Return the resident memory of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)


if __name__ == "__main__":
    main()
