"""Repeat a recorded run from its programs and its seed, and set the outcome beside the record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.compare.correctness import run_cases
from pipeline.compare.oracle import Oracle
from pipeline.errors import GraderError
from pipeline.execute.artifacts import Artifacts
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.references import Draw
from pipeline.types import BuildResult, CaseResult, RunResult, Task, Verdict

__all__ = ["ReplayedCase", "replay_run"]


@dataclass(frozen=True, slots=True)
class ReplayedCase:
    """One case and draw, then and now.

    Attributes:
        recorded: What the run recorded.
        replayed: What came of it now; None if it was not reached.
    """

    recorded: CaseResult
    replayed: CaseResult | None

    @property
    def differences(self) -> tuple[str, ...]:
        """What is not as recorded: ``outputs`` (their bits), ``verdict``, ``message``; none if all is."""
        if self.replayed is None:
            return ("not reached",)
        pairs = {
            "outputs": (self.recorded.outputs_hash, self.replayed.outputs_hash),
            "verdict": (self.recorded.verdict, self.replayed.verdict),
            "message": (self.recorded.message, self.replayed.message),
        }
        return tuple(name for name, (then, now) in pairs.items() if then != now)


def replay_run(
    task: Task,
    build: BuildResult,
    recorded: RunResult,
    executor: EmulatorExecutor,
    *,
    artifacts: Artifacts,
    names: Collection[str] = (),
    on_case: Callable[[CaseResult, Draw, Sequence[np.ndarray]], None] | None = None,
) -> list[ReplayedCase]:
    """Draw the inputs of `recorded` again, execute the programs, and return each case then and now.

    Nothing of the submission runs: its programs are data.

    Args:
        task: As it was when the run was made.
        build: The programs that were run.
        recorded: The run, with its seed.
        executor: What executes now, in workers of its own.
        artifacts: Where the programs lie.
        names: Cases to repeat; empty for all.
        on_case: See `run_cases`.

    Raises:
        GraderError: If the reference or this machine fails now.
    """
    chosen = [case for case in task.cases if not names or case.name in names]
    oracle = Oracle(executor.computers, recorded.battery_seed)
    narrowed = task.model_copy(update={"cases": tuple(chosen)})
    # A program that no chosen case has the shape of would be loaded and decoded for nothing.
    programs = tuple(
        program for program in build.programs if any(case.axes == program.axes for case in chosen)
    )
    again = run_cases(
        narrowed,
        build.model_copy(update={"programs": programs}),
        executor,
        oracle,
        artifacts=artifacts,
        on_case=on_case,
    )
    if again.verdict is Verdict.INFRASTRUCTURE and again.fault is not None:
        raise GraderError(again.fault)
    found = {(result.case, result.seed): result for result in again.cases}
    return [
        ReplayedCase(result, found.get((result.case, result.seed)))
        for result in recorded.cases
        if not names or result.case in names
    ]
