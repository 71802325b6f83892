"""The tensors of a task at concrete shapes."""

from __future__ import annotations

from pipeline.execute.frames import Tensor
from pipeline.library.formulas import evaluate_formula, evaluate_shape
from pipeline.types import Case, CaseKind, Task, TensorSpec

__all__ = ["distinct_shapes", "is_hidden", "largest_scored_case", "tensors_at"]


def tensors_at(specs: tuple[TensorSpec, ...], axes: dict[str, int]) -> tuple[Tensor, ...]:
    """Return `specs` with their symbolic shapes evaluated at `axes`."""
    return tuple(Tensor(spec.name, evaluate_shape(spec.shape, axes), spec.dtype) for spec in specs)


def distinct_shapes(task: Task) -> list[dict[str, int]]:
    """Return the axes of the task's cases, each once; those that only hidden cases have come last.

    So a fault that any listed shape shows is met on a listed shape, where its author may see the sizes.
    """
    shapes: list[dict[str, int]] = []
    for case in sorted(task.cases, key=lambda case: case.kind is CaseKind.HIDDEN):
        if case.axes not in shapes:
            shapes.append(case.axes)
    return shapes


def is_hidden(task: Task, axes: dict[str, int]) -> bool:
    """Whether no listed case has the shape `axes`."""
    return all(case.kind is CaseKind.HIDDEN for case in task.cases if case.axes == axes)


def largest_scored_case(task: Task) -> Case:
    """Return the scored case with the most work; the profile is taken on it."""
    scored = [case for case in task.cases if case.kind is CaseKind.SCORED]
    return max(scored, key=lambda case: evaluate_formula(task.work.flops, case.axes))
