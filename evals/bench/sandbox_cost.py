"""What confinement costs per submission: the same builds and runs in the sandbox and in this process.

    OPENBLAS_NUM_THREADS=1 python evals/bench/sandbox_cost.py [REPEATS]

Each repeat builds, runs and compares one good solution per shipped task, once through confined workers
and once by calling the same jobs directly, side by side. Prints the difference per submission, the first
apart. It has two parts: starting five jobs, which sandbox.py measures by itself, and moving inputs and
outputs between processes, into memory that a fresh process touches for the first time, which grows with
the task. Target: under 20 ms.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import statistics
import sys
import time
from typing import Any

from pipeline.compare.correctness import run_cases
from pipeline.compare.oracle import Oracle
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.sandbox import Limits, Outcome, Status, choose_level
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_tasks
from pipeline.types import Task


class Direct:
    """Runs jobs in this process, without any confinement."""

    def run(self, job: str, payload: bytes, limits: Limits) -> Outcome:
        """Return the outcome of calling `job` on `payload`."""
        module, _, function = job.partition(":")
        with contextlib.redirect_stdout(io.StringIO()):
            reply = getattr(importlib.import_module(module), function)(payload)
        return Outcome(status=Status.OK, reply=reply)

    def close(self) -> None:
        """End nothing."""


class Memory:
    """Artifacts in a dictionary."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def save_artifact(self, data: bytes, media_type: str) -> str:
        """Keep `data` under a running number."""
        name = str(len(self.held))
        self.held[name] = data
        return name

    def load_artifact(self, sha256: str) -> bytes:
        """Return what was kept."""
        return self.held[sha256]


def main() -> None:
    """Run the benchmark and print it."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    tasks = load_tasks(tasks_root())
    confined = EmulatorExecutor(choose_level(), workers=1)
    direct = EmulatorExecutor(choose_level(), workers=1)
    unconfined: Any = Direct()
    direct._tracers = direct._computers = unconfined
    oracle = Oracle(confined.computers)
    task = next(iter(tasks.values()))
    started = time.perf_counter()
    grade(confined, oracle, task)
    print(
        f"first submission, workers started and inputs drawn: {(time.perf_counter() - started) * 1e3:.0f} ms"
    )
    for task in tasks.values():
        grade(confined, oracle, task), grade(direct, oracle, task)
        costs = [grade(confined, oracle, task) - grade(direct, oracle, task) for _ in range(repeats)]
        print(f"  {task.id:20s} median {statistics.median(costs) * 1e3:6.1f} ms of n = {repeats}")
    print(f"confined at level {confined.isolation}; target under 20 ms per submission")
    confined.close()


def grade(executor: EmulatorExecutor, oracle: Oracle, task: Task) -> float:
    """Return the seconds that building and running the task's first good solution take."""
    code = next(solution.code for solution in task.solutions if solution.name.startswith("good"))
    artifacts = Memory()
    started = time.perf_counter()
    target, toolchain = task.targets[0], task.toolchain[0]
    built = executor.build(task, code, target=target, toolchain=toolchain, artifacts=artifacts)
    result = run_cases(task, built, executor, oracle, artifacts=artifacts)
    if result.verdict != "correct":
        raise SystemExit(f"{task.id}: {result.verdict}")
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
