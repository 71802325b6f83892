"""Judge one case: all outputs of one draw against the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.compare.comparator import Comparison, compare_output
from pipeline.compare.tolerance import Limits, derive_tolerance
from pipeline.execute.references import Draw
from pipeline.types import Case, CaseResult, Observation, Task, Verdict

__all__ = ["derive_limits", "judge_case"]


def judge_case(
    task: Task,
    case: Case,
    seed: int,
    outputs: Sequence[np.ndarray],
    draw: Draw,
    observations: tuple[Observation, ...] = (),
    *,
    limits: tuple[Limits, ...] = (),
) -> CaseResult:
    """Compare every output of draw number `seed` of `case` with the reference.

    Args:
        task: Names, dtypes and what it says of tolerances.
        case: The shape and distribution.
        seed: Number of the draw.
        outputs: What the kernel returned, in the order of the task's outputs; any shapes and dtypes.
        draw: What it should have returned, and how far honest executions are from that.
        observations: What was observed in computing them.
        limits: What `derive_limits` says of the draw, where that is known already.

    Returns:
        ``correct`` when every output is; else ``incorrect`` with the first failing output's message.
    """
    comparisons = [
        compare_output(spec, got, wanted, limit)
        for spec, got, wanted, limit in zip(
            task.outputs, outputs, draw.expected, limits or derive_limits(task, draw), strict=False
        )
    ]
    comparisons = [
        comparison if comparison.passed else _name_copy(comparison, task, got, draw)
        for comparison, got in zip(comparisons, outputs, strict=False)
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


def derive_limits(task: Task, draw: Draw) -> tuple[Limits, ...]:
    """Return what each output of a draw is held to; without an error analysis, one rounding is all."""
    return tuple(
        derive_tolerance(
            spec,
            wanted,
            draw.spread[place] if draw.spread else np.zeros(wanted.shape, np.float32),
            draw.noise[place] if draw.noise else (),
            task.numerics,
            draw.derivation,
        )
        for place, (spec, wanted) in enumerate(zip(task.outputs, draw.expected, strict=True))
    )


def _name_copy(comparison: Comparison, task: Task, got: np.ndarray, draw: Draw) -> Comparison:
    """Say of a wrong output that it is an input, or one repeated in every row, where it is."""
    if comparison.error is None:
        return comparison
    for spec, values in zip(task.inputs, draw.inputs, strict=False):
        if values.shape not in (got.shape, got.shape[-1:]) or values.dtype.kind in "iub":
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            same = np.array_equal(got, np.broadcast_to(values.astype(got.dtype), got.shape), equal_nan=True)
        if same:
            rows = "" if values.shape == got.shape else " in every row"
            told = f"it is input '{spec.name}' unchanged{rows}: what is computed never reaches the output"
            # Where it differs from what it should be says nothing then.
            message = comparison.message.removesuffix(f"; {comparison.error.pattern}")
            error = comparison.error.model_copy(update={"pattern": told})
            return Comparison(False, f"{message}; {told}", error)
    return comparison
