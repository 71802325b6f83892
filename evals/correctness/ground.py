"""Where the suite grades: the real executor in its sandbox, draws that solutions of a task share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pipeline.checks.check import Evidence
from pipeline.checks.inspection import inspect_submission
from pipeline.compare.cases import judge_case
from pipeline.compare.correctness import run_cases
from pipeline.compare.oracle import Oracle
from pipeline.errors import GraderError
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.references import Draw
from pipeline.execute.sandbox import choose_level
from pipeline.library.rubrics import load_rubric
from pipeline.library.submissions import admit_code
from pipeline.routing.policy import closed_gates
from pipeline.types import BuildResult, Case, CaseResult, Fault, Inspection, Submission, Task, Verdict

__all__ = ["Built", "Ground", "Outcome", "judge", "open_ground", "say_refusal"]

#: Seeds whose draws are kept: the one graded on, that of other draws, and two on which survivors are tried.
_ORACLES: Final = 4
#: Of draws remembered per seed: more than those of any one task.
_CACHE_BYTES: Final = 256 << 20


class _Shelf:
    """Artifacts in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def save_artifact(self, data: bytes, media_type: str) -> str:
        name = hashlib.sha256(data).hexdigest()
        self._kept[name] = data
        return name

    def load_artifact(self, sha256: str) -> bytes:
        return self._kept[sha256]


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A submission and what its build came to; `result` is None where admission turned it away."""

    task: Task
    submission: Submission
    result: BuildResult | None
    shelf: _Shelf


@dataclass(frozen=True, slots=True)
class Outcome:
    """What grading a submission came to: `refusal` is None where nothing stands between it and its grade."""

    verdict: Verdict
    refusal: str | None


@dataclass(slots=True)
class Ground:
    """Builds and grades as a grading does, sandbox included, and keeps nothing."""

    executor: EmulatorExecutor
    _oracles: dict[str, Oracle] = field(default_factory=dict)

    def build(self, task: Task, code: str) -> Built:
        """Admit and build `code`."""
        shelf = _Shelf()
        submission = admit_code(task, code.encode())
        if submission.refusal is not None:
            return Built(task, submission, None, shelf)
        target, toolchain = task.targets[0], task.toolchain[0]
        result = self.executor.build(
            task, submission.code, target=target, toolchain=toolchain, artifacts=shelf
        )
        return Built(task, submission, result, shelf)

    def grade(self, built: Built, seed: str) -> Outcome:
        """Run what was built on inputs drawn from `seed`, and let every check speak."""
        build, task = built.result, built.task
        run = profile = None
        if build is not None and build.verdict is None:
            run = run_cases(task, build, self.executor, self.oracle(seed), artifacts=built.shelf)
            profile = self.executor.profile(task, build, target=task.targets[0], artifacts=built.shelf)
        inspection = inspect_submission(Evidence(task, built.submission, build, run, profile))
        refusal = say_refusal(task, inspection)
        failed = next((c for c in run.cases if c.verdict is not Verdict.CORRECT), None) if run else None
        if refusal is not None and failed is not None:
            refusal += f", case {failed.case!r}: {failed.message}"
        return Outcome(inspection.verdict, refusal)

    def draw(self, task: Task, case: Case, number: int, seed: str) -> Draw:
        """Return a draw.

        Raises:
            GraderError: If the reference is at fault.
        """
        draw = self.oracle(seed).draw(task, case, number)
        if isinstance(draw, Fault):
            raise GraderError(draw)
        return draw

    def oracle(self, seed: str) -> Oracle:
        """Return the oracle of a seed; those of the latest few are kept, with the draws they remember."""
        oracle = self._oracles.pop(seed, None)
        if oracle is None:
            oracle = Oracle(self.executor.computers, seed, cache_bytes=_CACHE_BYTES)
        self._oracles[seed] = oracle
        while len(self._oracles) > _ORACLES:
            del self._oracles[next(iter(self._oracles))]
        return oracle


def say_refusal(task: Task, inspection: Inspection) -> str | None:
    """Return why a submission is not accepted as right: its verdict, or the gates that its checks close."""
    if inspection.verdict is not Verdict.CORRECT:
        fault = f": {inspection.fault.message}" if inspection.fault else ""
        return f"{inspection.verdict.value}{fault}"
    gates = closed_gates(inspection, load_rubric(task.rubric))
    return "; ".join(f"{report.check}: {report.reason}" for report in gates) or None


def judge(task: Task, case: Case, number: int, outputs: Sequence[np.ndarray], draw: Draw) -> CaseResult:
    """Return what the comparator says of `outputs`."""
    return judge_case(task, case, number, outputs, draw)


@contextmanager
def open_ground(workers: int = 2) -> Iterator[Ground]:
    """Open an executor in the strongest sandbox that this machine offers, and close it again."""
    executor = EmulatorExecutor(choose_level(), workers=workers)
    try:
        yield Ground(executor)
    finally:
        executor.close()
