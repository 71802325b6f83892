"""The good solutions of the shipped tasks are as general as the statements ask; the starters start well."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.emulator import legality
from pipeline.emulator.frontend import InputSpec, KernelError, trace
from pipeline.emulator.program import Program
from pipeline.library.formulas import evaluate_shape
from pipeline.library.tasks import load_task
from pipeline.types import Solution, Task, Verdict

ROOT = Path(__file__).parents[2] / "data" / "tasks"
TASKS = {folder.name: load_task(folder) for folder in sorted(ROOT.iterdir()) if folder.is_dir()}
GOOD = [
    (task, solution)
    for task in TASKS.values()
    for solution in task.solutions
    if solution.expected is Verdict.CORRECT
]
every_good_solution = pytest.mark.parametrize(
    ("task", "solution"), GOOD, ids=[f"{task.id}-{solution.name}" for task, solution in GOOD]
)


def trace_code(task: Task, code: str, axes: dict[str, int], target: str, version: str) -> Program:
    inputs = [InputSpec(spec.name, evaluate_shape(spec.shape, axes), spec.dtype) for spec in task.inputs]
    limit = task.limits.instructions
    return trace(
        code, "kernel.py", task.entry, inputs, target=target, version=version, instruction_limit=limit
    )


def errors_of(
    task: Task, solution: Solution, axes: dict[str, int], target: str, version: str
) -> list[legality.Violation]:
    program = trace_code(task, solution.code, axes, target, version)
    return [violation for violation in legality.check(program) if violation.severity == "error"]


@every_good_solution
@pytest.mark.parametrize("bound", ["minimum", "maximum"])
def test_it_is_legal_at_the_bounds_of_every_axis(task: Task, solution: Solution, bound: str) -> None:
    axes = {axis: getattr(constraint, bound) for axis, constraint in task.axes.items()}
    assert errors_of(task, solution, axes, task.targets[0], task.toolchain[0]) == []


@every_good_solution
def test_it_is_legal_on_every_target_and_version_that_the_task_names(task: Task, solution: Solution) -> None:
    axes = task.cases[0].axes
    for target in task.targets:
        for version in task.toolchain:
            assert errors_of(task, solution, axes, target, version) == []


@pytest.mark.parametrize("name", TASKS)
def test_a_starter_is_accepted_and_only_lacks_the_work(name: str) -> None:
    task = TASKS[name]
    with pytest.raises(KernelError) as refused:
        trace_code(task, task.starter, task.cases[0].axes, task.targets[0], task.toolchain[0])
    assert refused.value.kind == "no_device_work"
