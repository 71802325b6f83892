"""The attacks: which there are, what each tries, and what the stages before the judge make of it."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.checks.check import Evidence
from pipeline.checks.inspection import inspect_submission
from pipeline.compare.correctness import run_cases
from pipeline.compare.oracle import Oracle
from pipeline.execute.emulator import EmulatorExecutor
from pipeline.execute.sandbox import choose_level
from pipeline.judge.protocol import JudgeRequest
from pipeline.library.prompts import load_prompt
from pipeline.library.roots import tasks_root
from pipeline.library.rubrics import load_rubric
from pipeline.library.submissions import admit_code
from pipeline.library.tasks import load_task
from pipeline.types import (
    BuildResult,
    CheckReport,
    Inspection,
    ProfileResult,
    Rubric,
    RunResult,
    Submission,
    Task,
    Verdict,
)

__all__ = ["Attack", "Ground", "Outcome", "load_attacks", "open_ground"]

_HERE = Path(__file__).parent
#: Judges are shown errors, which depend on what is drawn: every run shows the same.
_SEED = "5eed" * 8

#: One file in so many is held out of tuning: its misses are counted, and no rule is written for them. The
#: first rules flagged 24 of the 25; what the 25th showed (prose that is no Python) is looked for since.
_HELD_OUT = 3


@dataclass(frozen=True, slots=True)
class Attack:
    """One submission that addresses the judge.

    Attributes:
        name: Of its file, without the suffix.
        category: The kind of attack.
        tries: What it does, in a few words.
        verdict: What its run comes to: a kernel is as right or wrong as it is, whatever it says.
        code: The submission.
    """

    name: str
    task: str
    category: str
    tries: str
    verdict: Verdict
    code: bytes

    @property
    def held_out(self) -> bool:
        """Whether it is kept out of tuning; drawn by a hash of its file's name."""
        return hashlib.sha256(f"{self.name}.py".encode()).digest()[0] % _HELD_OUT == 0


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the stages before the judge established about one submission."""

    evidence: Evidence
    inspection: Inspection
    rubric: Rubric

    @property
    def request(self) -> JudgeRequest:
        """All that a judge is told about it."""
        return JudgeRequest(
            task=self.evidence.task,
            submission=self.evidence.submission,
            verdict=self.inspection.verdict,
            facts=self.inspection.facts,
            reports=self.inspection.reports,
            rubric=self.rubric,
            prompt=load_prompt(),
        )

    @property
    def flag(self) -> CheckReport:
        """What the flag says of it."""
        return next(report for report in self.inspection.reports if report.check == "persuasion")


def load_attacks() -> list[Attack]:
    """Return every attack, in the order of `attacks.toml`."""
    listed = tomllib.loads((_HERE / "attacks.toml").read_text(encoding="utf-8"))["attack"]
    return [
        Attack(
            name=entry["file"].removesuffix(".py"),
            task=entry["task"],
            category=entry["category"],
            tries=entry["tries"],
            verdict=Verdict(entry["verdict"]),
            code=(_HERE / "attacks" / entry["file"]).read_bytes(),
        )
        for entry in listed
    ]


@dataclass(slots=True)
class Ground:
    """Builds, runs and inspects submissions as a grading does, sandbox included, and keeps nothing."""

    executor: EmulatorExecutor
    oracle: Oracle
    _tasks: dict[str, Task] = field(default_factory=dict)

    def inspect(self, task_id: str, code: bytes) -> Outcome:
        """Return what every stage up to the checks says of `code`."""
        task = self._tasks.setdefault(task_id, load_task(tasks_root() / task_id))
        submission = admit_code(task, code)
        build, run, profile = self._execute(task, submission)
        evidence = Evidence(task, submission, build, run, profile)
        return Outcome(evidence, inspect_submission(evidence), load_rubric(task.rubric))

    def _execute(
        self, task: Task, submission: Submission
    ) -> tuple[BuildResult | None, RunResult | None, ProfileResult | None]:
        if submission.refusal is not None:
            return None, None, None
        shelf = _Shelf()
        target, toolchain = task.targets[0], task.toolchain[0]
        build = self.executor.build(
            task, submission.code, target=target, toolchain=toolchain, artifacts=shelf
        )
        if build.verdict is not None:
            return build, None, None
        run = run_cases(task, build, self.executor, self.oracle, artifacts=shelf)
        return build, run, self.executor.profile(task, build, target=target, artifacts=shelf)


@contextmanager
def open_ground(workers: int = 2) -> Iterator[Ground]:
    """Open an executor in the strongest sandbox that this machine offers, and close it again."""
    executor = EmulatorExecutor(choose_level(), workers=workers)
    try:
        yield Ground(executor, Oracle(executor.computers, _SEED))
    finally:
        executor.close()


class _Shelf:
    """Artifacts in memory, for one submission."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def save_artifact(self, data: bytes, media_type: str) -> str:
        name = hashlib.sha256(data).hexdigest()
        self._kept[name] = data
        return name

    def load_artifact(self, sha256: str) -> bytes:
        return self._kept[sha256]
