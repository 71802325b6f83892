"""Run every case of a task and compare each output with the oracle."""

from __future__ import annotations

from typing import Final

from pipeline.compare.cases import judge_case
from pipeline.compare.oracle import Oracle
from pipeline.execute.artifacts import Artifacts
from pipeline.execute.executor import Executor
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
VERSION: Final = 1


def run_cases(
    task: Task, build: BuildResult, executor: Executor, oracle: Oracle, *, artifacts: Artifacts
) -> RunResult:
    """Execute the programs of `build` on every case and seed of `task`.

    Every case is run even after one has failed: an author learns more from all of them.
    """
    results: list[CaseResult] = []
    for program in build.programs:
        cases = [case for case in task.cases if case.axes == program.axes]
        outcome = _run_shape(task, program, cases, executor, oracle, artifacts)
        if isinstance(outcome, Fault):
            return RunResult(
                verdict=Verdict.INFRASTRUCTURE,
                fault=outcome,
                cases=tuple(results),
                executor=executor.id,
                sandbox=executor.isolation,
            )
        results += outcome
    if len(results) < len(task.cases):
        # No case must ever pass by not being run.
        return RunResult(
            verdict=Verdict.INFRASTRUCTURE,
            fault=Fault(
                owner=Owner.GRADER,
                code="cases_missing",
                message=f"only {len(results)} of {len(task.cases)} cases were run",
                remedy="grade again; if it comes back, report it with the submission",
            ),
            cases=tuple(results),
            executor=executor.id,
            sandbox=executor.isolation,
        )
    failed = next((result for result in results if result.verdict is not Verdict.CORRECT), None)
    return RunResult(
        verdict=failed.verdict if failed else Verdict.CORRECT,
        fault=failed.fault if failed else None,
        cases=tuple(results),
        executor=executor.id,
        sandbox=executor.isolation,
    )


def _run_shape(
    task: Task,
    program: ProgramSummary,
    cases: list[Case],
    executor: Executor,
    oracle: Oracle,
    artifacts: Artifacts,
) -> list[CaseResult] | Fault:
    draws: list[tuple[Case, int, Draw]] = []
    for case in cases:
        for seed in range(case.seeds):
            draw = oracle.draw(task, case, seed)
            if isinstance(draw, Fault):
                return draw
            draws.append((case, seed, draw))
    execution = executor.run(task, program, [draw.inputs for _, _, draw in draws], artifacts=artifacts)
    if execution.verdict is Verdict.INFRASTRUCTURE and execution.fault is not None:
        return execution.fault
    results = [
        judge_case(task, case, seed, outputs, draw.expected)
        for (case, seed, draw), outputs in zip(draws, execution.outputs, strict=False)
    ]
    if execution.verdict is not None and execution.fault is not None:
        case, seed, _ = draws[len(results)]
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
