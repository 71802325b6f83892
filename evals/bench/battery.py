"""What does the battery cost beside the shapes that are scored?

For each task, executes its first good solution in the machine on every draw of every case, and compares the
processor time of all that is not scored (the task's other cases and the battery) with that of one execution
of the scored shapes. Decoding and preparing a program counts on both sides. Run:

    python evals/bench/battery.py [TASK]...
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections import defaultdict

import numpy as np

from pipeline.compare.oracle import Oracle
from pipeline.emulator.frontend import InputSpec, trace
from pipeline.emulator.machine import Machine
from pipeline.emulator.program import decode, encode
from pipeline.execute.references import Draw
from pipeline.execute.sandbox import SandboxPool, choose_level
from pipeline.execute.shapes import tensors_at
from pipeline.library.roots import tasks_root
from pipeline.library.tasks import load_tasks
from pipeline.types import CaseKind, Task, Verdict

ROUNDS = 3
LIMIT = 4.0
SEED = "5eed" * 8


def trace_shapes(task: Task) -> list[tuple[dict[str, int], bytes]]:
    """Return every shape of `task` and the program of its first good solution there."""
    code = next(s.code for s in task.solutions if s.expected is Verdict.CORRECT)
    shapes: list[dict[str, int]] = []
    for case in task.cases:
        if case.axes not in shapes:
            shapes.append(case.axes)
    return [
        (
            axes,
            encode(
                trace(
                    code,
                    "kernel.py",
                    task.entry,
                    [InputSpec(spec.name, spec.shape, spec.dtype) for spec in tensors_at(task.inputs, axes)],
                    target=task.targets[0],
                    version=task.toolchain[0],
                    instruction_limit=task.limits.instructions,
                )
            ),
        )
        for axes in shapes
    ]


def time_kinds(task: Task, oracle: Oracle) -> tuple[dict[CaseKind, float], dict[CaseKind, int]]:
    """Return processor seconds and draws per kind of case, each program prepared once per kind."""
    programs = trace_shapes(task)
    seconds: dict[CaseKind, float] = defaultdict(float)
    draws: dict[CaseKind, int] = defaultdict(int)
    for axes, program in programs:
        for kind in CaseKind:
            inputs = []
            for case in task.cases:
                for seed in range(case.seeds if case.kind is kind and case.axes == axes else 0):
                    drawn = oracle.draw(task, case, seed)
                    assert isinstance(drawn, Draw), drawn
                    inputs.append(list(drawn.inputs))
            if inputs:
                draws[kind] += len(inputs)
                seconds[kind] += min(time_program(program, inputs) for _ in range(ROUNDS))
    return seconds, draws


def time_program(program: bytes, inputs: list[list[np.ndarray]]) -> float:
    """Return processor seconds of preparing a program and running it on every input set."""
    started = time.process_time()
    machine = Machine(decode(program))
    for arrays in inputs:
        machine.run(arrays)
    return time.process_time() - started


def main() -> None:
    """Print a line per task."""
    tasks = load_tasks(tasks_root())
    chosen = sys.argv[1:] or list(tasks)
    print(
        f"{'task':20s} {'scored':>10s} {'check':>10s} {'hidden':>10s} {'battery':>10s}  not scored / scored"
    )
    worst = 0.0
    with SandboxPool(1, choose_level(allow_unsandboxed=True), ("pipeline.execute.jobs.reference",)) as pool:
        for name in chosen:
            seconds, draws = time_kinds(tasks[name], Oracle(pool, SEED))
            others = sum(value for kind, value in seconds.items() if kind is not CaseKind.SCORED)
            ratio = others / seconds[CaseKind.SCORED]
            worst = max(worst, ratio)
            order = (CaseKind.SCORED, CaseKind.CHECK, CaseKind.HIDDEN, CaseKind.BATTERY)
            cells = " ".join(f"{1e3 * seconds[kind]:7.1f} ms" for kind in order)
            print(f"{name:20s} {cells}  {ratio:.2f} ({draws[CaseKind.BATTERY]} battery draws)")
    print(f"largest ratio {worst:.2f} (limit {LIMIT:.2f})")


if __name__ == "__main__":
    main()
