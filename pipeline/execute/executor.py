"""The executor protocol: the one seam between grading and whatever runs kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from pipeline.execute.artifacts import Artifacts
from pipeline.execute.study_frames import StudyReply
from pipeline.types import BuildResult, Fault, Observation, ProfileResult, ProgramSummary, Task, Verdict

__all__ = ["Execution", "Executor", "Run"]


class Run(NamedTuple):
    """One program, and the input sets to run it on, each in the order of the task's inputs."""

    program: ProgramSummary
    inputs: Sequence[Sequence[np.ndarray]]


@dataclass(frozen=True, slots=True)
class Execution:
    """Outcome of running one program on several input sets.

    Attributes:
        outputs: Arrays per input set, in the order of the task's outputs; shorter than the input sets when
            one of them failed.
        verdict: None, or why it stopped.
        fault: Given with every verdict.
        observations: Per entry of `outputs`; empty where nothing observes.
    """

    outputs: tuple[tuple[np.ndarray, ...], ...]
    verdict: Verdict | None = None
    fault: Fault | None = None
    observations: tuple[tuple[Observation, ...], ...] = ()


class Executor(Protocol):
    """Builds, runs and profiles submissions.

    A result is data, whatever the submission did: an executor raises only for a fault of its own.
    """

    @property
    def id(self) -> str:
        """Name and version, e.g. ``emulator 1``; part of every fingerprint."""

    @property
    def isolation(self) -> str:
        """Sandbox level in use: ``bubblewrap``, ``namespaces``, ``landlock`` or ``limits``."""

    def build(
        self, task: Task, code: str, *, target: str, toolchain: str, artifacts: Artifacts
    ) -> BuildResult:
        """Trace `code` for every shape of `task`; encoded programs go to `artifacts`."""

    def run(self, task: Task, runs: Sequence[Run], *, artifacts: Artifacts) -> list[Execution]:
        """Execute programs of a build; returns one execution per run, in their order."""

    def study(
        self,
        task: Task,
        program: ProgramSummary,
        inputs: Sequence[np.ndarray],
        expected: Sequence[np.ndarray],
        *,
        artifacts: Artifacts,
    ) -> StudyReply:
        """Say where a program loses precision on one draw; it decides nothing, so it may be absent."""

    def profile(self, task: Task, build: BuildResult, *, target: str, artifacts: Artifacts) -> ProfileResult:
        """Return counts and modelled bounds of the largest scored shape."""

    def close(self) -> None:
        """End every process it started."""
