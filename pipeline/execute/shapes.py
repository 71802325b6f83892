"""The tensors of a task at concrete shapes."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.execute.frames import Tensor
from pipeline.library.formulas import evaluate_formula, evaluate_shape
from pipeline.types import Case, CaseKind, Task, TensorSpec

__all__ = ["hidden_shapes", "largest_scored_case", "listed_shapes", "tensors_at"]


def tensors_at(specs: tuple[TensorSpec, ...], axes: dict[str, int]) -> tuple[Tensor, ...]:
    """Return `specs` with their symbolic shapes evaluated at `axes`."""
    return tuple(Tensor(spec.name, evaluate_shape(spec.shape, axes), spec.dtype) for spec in specs)


def listed_shapes(task: Task) -> list[dict[str, int]]:
    """Return the axes of the cases that authors may see, each once."""
    return _distinct(case.axes for case in task.cases if case.kind is not CaseKind.HIDDEN)


def hidden_shapes(task: Task) -> list[dict[str, int]]:
    """Return the axes that only hidden cases have, each once."""
    listed = listed_shapes(task)
    return _distinct(case.axes for case in task.cases if case.axes not in listed)


def largest_scored_case(task: Task) -> Case:
    """Return the scored case with the most work; the profile is taken on it."""
    scored = [case for case in task.cases if case.kind is CaseKind.SCORED]
    return max(scored, key=lambda case: evaluate_formula(task.work.flops, case.axes))


def _distinct(shapes: Iterable[dict[str, int]]) -> list[dict[str, int]]:
    distinct: list[dict[str, int]] = []
    for axes in shapes:
        if axes not in distinct:
            distinct.append(axes)
    return distinct
