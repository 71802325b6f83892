"""Judge one case: all outputs of one draw against the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.compare.comparator import compare_output
from pipeline.types import Case, CaseResult, Observation, Task, Verdict

__all__ = ["judge_case"]


def judge_case(
    task: Task,
    case: Case,
    seed: int,
    outputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    observations: tuple[Observation, ...] = (),
) -> CaseResult:
    """Compare every output of draw number `seed` of `case` with the reference.

    Args:
        task: Names, dtypes and tolerances.
        case: The shape and distribution.
        seed: Number of the draw.
        outputs: What the kernel returned, in the order of the task's outputs; any shapes and dtypes.
        expected: Float64 arrays of the task's shapes, in the same order.
        observations: What was observed in computing them.

    Returns:
        ``correct`` when every output is; else ``incorrect`` with the first failing output's message.
    """
    comparisons = [
        compare_output(spec, got, wanted, task.numerics)
        for spec, got, wanted in zip(task.outputs, outputs, expected, strict=False)
    ]
    failed = next((comparison for comparison in comparisons if not comparison.passed), None)
    if len(outputs) != len(task.outputs):
        message = f"the kernel returned {len(outputs)} outputs, expected {len(task.outputs)}"
    elif failed is not None:
        message = failed.message
    else:
        message = "; ".join(comparison.message for comparison in comparisons)
    passed = failed is None and len(outputs) == len(task.outputs)
    return CaseResult(
        case=case.name,
        kind=case.kind,
        axes=case.axes,
        seed=seed,
        verdict=Verdict.CORRECT if passed else Verdict.INCORRECT,
        message=message,
        errors=tuple(comparison.error for comparison in comparisons if comparison.error is not None),
        observations=observations,
    )
