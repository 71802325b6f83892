"""Study one run of a kernel: its error beside that of other arithmetics, and where it arises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.compare.oracle import Oracle
from pipeline.compare.pictures import picture_errors
from pipeline.execute.artifacts import Artifacts
from pipeline.execute.executor import Executor
from pipeline.execute.references import Draw
from pipeline.types import (
    Case,
    CaseKind,
    CaseResult,
    LineError,
    OutputError,
    Pattern,
    ProgramSummary,
    Study,
    Task,
    Verdict,
)

__all__ = ["Specimen", "choose_specimen", "study_specimen"]

#: A line beyond the third is not worth an author's time.
_LINES = 3


class Specimen(NamedTuple):
    """One run with outputs that can be studied."""

    program: ProgramSummary
    case: Case
    draw: Draw
    outputs: Sequence[np.ndarray]
    result: CaseResult


def choose_specimen(specimens: Sequence[Specimen]) -> Specimen | None:
    """Return the run that says most about the arithmetic; None where no output was finite.

    A wrong one before right ones, then small shapes before the scored ones, which take longer, then ordinary
    values before patterns; never a hidden case, of which authors must not learn.
    """
    fit = [s for s in specimens if s.case.kind is not CaseKind.HIDDEN and _is_measured(s.result)]
    return min(fit, key=_rank, default=None)


def study_specimen(
    task: Task, specimen: Specimen, executor: Executor, oracle: Oracle, *, artifacts: Artifacts
) -> Study | None:
    """Return the study of one run; None where the task's reference cannot be run in other arithmetics."""
    program, case, draw, outputs, result = specimen
    error = max(result.errors, key=_usage)
    spec = next(spec for spec in task.outputs if spec.name == error.output)
    output = task.outputs.index(spec)
    others = oracle.draw(task, case, result.seed, study=True)
    if not isinstance(others, Draw):
        return None
    reply = executor.study(task, program, draw.inputs, draw.expected, artifacts=artifacts)
    limits = oracle.limits(task, case, result.seed, draw)[output]

    def measured(name: str) -> float:
        errors = others.arithmetic.get(name, ())
        return errors[output] if output < len(errors) else math.nan

    return Study(
        case=case.name,
        output=error.output,
        rel_l2=error.rel_l2,
        float32_rel_l2=measured("float32"),
        bfloat16_rel_l2=measured("bfloat16"),
        gpu_rel_l2=measured("gpu"),
        exact_rel_l2=reply.exact_rel_l2[output] if output < len(reply.exact_rel_l2) else None,
        targets=reply.targets,
        lines=tuple(
            LineError(line=loss.line, operation=loss.operation, rel_l2=loss.rel_l2, share=loss.share)
            for loss in reply.lines[:_LINES]
        ),
        picture=picture_errors(spec, outputs[output], draw.expected[output], limits),
    )


def _is_measured(result: CaseResult) -> bool:
    return bool(result.errors) and all(math.isfinite(error.rel_l2) for error in result.errors)


def _rank(specimen: Specimen) -> tuple[bool, bool, bool]:
    return (
        specimen.result.verdict is Verdict.CORRECT,
        specimen.case.kind is CaseKind.SCORED,
        specimen.case.pattern is not Pattern.DRAWN,
    )


def _usage(error: OutputError) -> float:
    """Return how much of its tolerance the error of an output uses up."""
    limit = error.tolerance.rel_l2 if error.tolerance is not None else 0.0
    return error.rel_l2 / limit if limit > 0 else (math.inf if error.rel_l2 > 0 else 0.0)
