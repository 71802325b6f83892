"""The executor protocol: the one seam between grading and whatever runs kernels."""

from __future__ import annotations

from typing import Protocol

from pipeline.execute.artifacts import Artifacts
from pipeline.types import BuildResult, ProfileResult, RunResult, Task

__all__ = ["Executor"]


class Executor(Protocol):
    """Builds, runs and profiles submissions.

    A result is data, whatever the submission did: an executor raises only for a fault of its own.
    """

    @property
    def id(self) -> str:
        """Name and version, e.g. ``emulator 1``; part of every fingerprint."""

    @property
    def isolation(self) -> str:
        """Sandbox level in use: ``bubblewrap``, ``namespaces`` or ``limits``."""

    def build(
        self, task: Task, code: str, *, target: str, toolchain: str, artifacts: Artifacts
    ) -> BuildResult:
        """Trace `code` for every shape of `task`; encoded programs go to `artifacts`."""

    def run(self, task: Task, build: BuildResult, *, artifacts: Artifacts) -> RunResult:
        """Execute the programs of `build` on every case and seed, and compare with the reference."""

    def profile(self, task: Task, build: BuildResult, *, artifacts: Artifacts) -> ProfileResult:
        """Return counts and modelled bounds of the scored shapes."""

    def close(self) -> None:
        """End every process it started."""
