"""Run every case of a task and compare each output with the oracle."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from pipeline.compare.cases import judge_case
from pipeline.compare.oracle import Oracle
from pipeline.compare.study import Specimen, choose_specimen, study_specimen
from pipeline.execute.artifacts import Artifacts
from pipeline.execute.executor import Execution, Executor, Run
from pipeline.execute.references import Draw
from pipeline.types import (
    BuildResult,
    Case,
    CaseResult,
    Fault,
    Owner,
    ProgramSummary,
    RunResult,
    Task,
    Verdict,
)

__all__ = ["VERSION", "run_cases"]

#: Raised whenever the comparison can answer differently; part of every fingerprint.
VERSION: Final = 2


class _Draws(NamedTuple):
    """What one program is run on."""

    program: ProgramSummary
    draws: list[tuple[Case, int, Draw]]


def run_cases(
    task: Task,
    build: BuildResult,
    executor: Executor,
    oracle: Oracle,
    *,
    artifacts: Artifacts,
    study: bool = False,
    on_case: Callable[[CaseResult, Draw, Sequence[np.ndarray]], None] | None = None,
) -> RunResult:
    """Execute the programs of `build` on every case and seed of `task`.

    Every shape is run even after one has failed: an author learns more from all of them.

    Args:
        task: Its cases, names, dtypes and limits.
        build: The programs, one per shape.
        executor: What executes them.
        oracle: What draws inputs and answers; its seed is recorded.
        artifacts: Where the programs lie.
        study: Whether one of the runs is studied; that decides nothing.
        on_case: Told of every case that gave outputs, with its draw and the outputs.
    """

    specimens: list[Specimen] = []

    def conclude(verdict: Verdict, fault: Fault | None, cases: Sequence[CaseResult] = ()) -> RunResult:
        chosen = choose_specimen(specimens) if study and verdict is not Verdict.INFRASTRUCTURE else None
        return RunResult(
            verdict=verdict,
            fault=fault,
            cases=tuple(cases),
            executor=executor.id,
            sandbox=executor.isolation,
            battery_seed=oracle.seed,
            study=study_specimen(task, chosen, executor, oracle, artifacts=artifacts) if chosen else None,
        )

    planned = _draw_all(task, build, oracle)
    if isinstance(planned, Fault):
        return conclude(Verdict.INFRASTRUCTURE, planned)
    runs = [Run(plan.program, [draw.inputs for _, _, draw in plan.draws]) for plan in planned]
    results: list[CaseResult] = []
    for plan, execution in zip(planned, executor.run(task, runs, artifacts=artifacts), strict=True):
        if execution.verdict is Verdict.INFRASTRUCTURE:
            return conclude(Verdict.INFRASTRUCTURE, execution.fault, results)
        judged = _judge(task, plan, execution, oracle)
        results += judged
        for result, (case, _, draw), outputs in zip(judged, plan.draws, execution.outputs, strict=False):
            specimens.append(Specimen(plan.program, case, draw, outputs, result))
            if on_case is not None:
                on_case(result, draw, outputs)
    failed = next((result for result in results if result.verdict is not Verdict.CORRECT), None)
    if failed is not None:
        return conclude(failed.verdict, failed.fault, results)
    expected = sum(case.seeds for case in task.cases)
    if len(results) != expected:
        # No case must ever pass by not being run.
        fault = Fault(
            owner=Owner.GRADER,
            code="cases_missing",
            message=f"only {len(results)} of {expected} case runs took place",
            remedy="grade again; if it comes back, report it with the submission",
        )
        return conclude(Verdict.INFRASTRUCTURE, fault, results)
    return conclude(Verdict.CORRECT, None, results)


def _draw_all(task: Task, build: BuildResult, oracle: Oracle) -> list[_Draws] | Fault:
    planned: list[_Draws] = []
    for program in build.programs:
        plan = _Draws(program, [])
        for case in task.cases:
            for seed in range(case.seeds if case.axes == program.axes else 0):
                draw = oracle.draw(task, case, seed)
                if isinstance(draw, Fault):
                    return draw
                plan.draws.append((case, seed, draw))
        planned.append(plan)
    return planned


def _judge(task: Task, plan: _Draws, execution: Execution, oracle: Oracle) -> list[CaseResult]:
    observed = execution.observations or ((),) * len(execution.outputs)
    results = [
        judge_case(
            task, case, seed, outputs, draw, seen, limits=oracle.limits(task, case, seed, draw)
        ).model_copy(update={"outputs_hash": _hash_outputs(outputs)})
        for (case, seed, draw), outputs, seen in zip(plan.draws, execution.outputs, observed, strict=False)
    ]
    if execution.verdict is not None:
        case, seed, _ = plan.draws[len(results)]
        results.append(
            CaseResult(
                case=case.name,
                kind=case.kind,
                axes=case.axes,
                seed=seed,
                verdict=execution.verdict,
                message=str(execution.fault),
                fault=execution.fault,
            )
        )
    return results


def _hash_outputs(outputs: Sequence[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for values in outputs:
        digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
