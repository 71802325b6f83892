"""Judge values as if a kernel had returned them, on draws and by limits as grading uses them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pipeline.compare.cases import judge_case
from pipeline.compare.oracle import Oracle
from pipeline.emulator.dtypes import dtype_named
from pipeline.execute.references import Draw
from pipeline.library.tasks import load_task
from pipeline.types import Case, Task, Verdict

ROOT = Path(__file__).parents[2] / "data" / "tasks"


def load(id: str) -> Task:
    return load_task(ROOT / id)


def case_named(task: Task, name: str) -> Case:
    return next(case for case in task.cases if case.name == name)


def answer(task: Task, inputs: dict[str, np.ndarray], axes: dict[str, int]) -> np.ndarray:
    """What the task's reference gives for float64 `inputs` as its only output."""
    namespace: dict[str, Any] = {}
    exec(compile(task.reference, "reference.py", "exec"), namespace)
    (values,) = namespace["reference"](inputs, axes).values()
    return np.asarray(values)


def draw(oracle: Oracle, task: Task, case: Case) -> tuple[Draw, dict[str, np.ndarray]]:
    """A draw as grading uses it, and its inputs by name, in their declared dtypes."""
    drawn = oracle.draw(task, case, 0)
    assert isinstance(drawn, Draw), drawn
    return drawn, {spec.name: values for spec, values in zip(task.inputs, drawn.inputs, strict=True)}


def passes(task: Task, case: Case, drawn: Draw, values: np.ndarray) -> bool:
    """Whether `values`, rounded to the output's dtype, are right."""
    (spec,) = task.outputs
    result = judge_case(task, case, 0, [values.astype(dtype_named(spec.dtype).storage)], drawn)
    return result.verdict is Verdict.CORRECT
