"""The check protocol: one deterministic question about one submission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pipeline.types import BuildResult, CheckReport, ProfileResult, RunResult, Submission, Task

__all__ = ["Check", "Evidence"]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What a check may look at; a stage that did not happen is None. Equal to itself only."""

    task: Task
    submission: Submission
    build: BuildResult | None = None
    run: RunResult | None = None
    profile: ProfileResult | None = None


class Check(Protocol):
    """One file under checks/, listed in `pipeline.checks.CHECKS`."""

    @property
    def id(self) -> str:
        """Stable identifier, as rubrics name it: ``check:<id>``."""

    @property
    def title(self) -> str:
        """What a reader calls it."""

    @property
    def version(self) -> int:
        """Raised whenever the check can answer differently; part of the fingerprint."""

    def inspect(self, evidence: Evidence) -> CheckReport:
        """Answer from `evidence` alone; never raises for what a submission did."""
