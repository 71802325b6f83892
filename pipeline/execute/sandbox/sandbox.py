"""One confined zygote and the jobs it forks, seen from the grader."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from pipeline.execute.sandbox.errors import SandboxError
from pipeline.execute.sandbox.outcome import Level, Limits, Outcome
from pipeline.execute.sandbox.process import Zygote, ZygoteEnded
from pipeline.execute.sandbox.view import describe_view

__all__ = ["Sandbox"]


class Sandbox:
    """Runs jobs one at a time, each in a child process of its own, confined at `level`.

    The zygote starts with the first job and is started again once if it dies. Safe to use from several
    threads, which then wait for each other.
    """

    def __init__(
        self, level: Level, preload: tuple[str, ...] = (), *, import_paths: tuple[Path, ...] = ()
    ) -> None:
        """Describe a sandbox; nothing starts yet.

        Args:
            level: How to confine jobs.
            preload: Modules that the zygote imports, so that jobs find them loaded.
            import_paths: Folders of further modules, visible to jobs and first on their ``sys.path``.
        """
        self.level = level
        self._preload = preload
        self._import_paths = import_paths
        self._lock = threading.Lock()
        self._zygote: Zygote | None = None
        self._closed = False

    def run(self, job: str, payload: bytes, limits: Limits) -> Outcome:
        """Run function `job` (``package.module:function``) on `payload` and return how it ended.

        Raises:
            SandboxError: If the job could not be confined or the zygote died twice.
        """
        with self._lock:
            for _ in range(2):
                try:
                    return self._start().run(job, payload, limits)
                except ZygoteEnded:
                    self._stop()
                except BaseException:
                    # Whatever interrupted it, the zygote may still be busy with this job.
                    self._stop()
                    raise
        raise SandboxError(
            f"the {self.level} sandbox ended twice during one job",
            "look for an out-of-memory kill in the system log; nki-grader doctor tests the sandbox",
        )

    def close(self) -> None:
        """End its processes; a job that runs is killed and its `run` raises."""
        self._closed = True
        zygote = self._zygote
        if zygote is not None:
            zygote.kill()
        with self._lock:
            self._stop()

    def _start(self) -> Zygote:
        if self._closed:
            raise SandboxError("the sandbox is closed")
        if self._zygote is None:
            self._zygote = Zygote(self.level, describe_view(self._import_paths), self._preload)
        return self._zygote

    def _stop(self) -> None:
        if self._zygote is not None:
            self._zygote.stop()
            self._zygote = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
