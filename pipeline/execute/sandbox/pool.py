"""Several sandboxes for several threads."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from pipeline.execute.sandbox.outcome import Level, Limits, Outcome
from pipeline.execute.sandbox.sandbox import Sandbox

__all__ = ["SandboxPool"]


class SandboxPool:
    """`size` equal sandboxes; each runs one job at a time. Safe to use from several threads.

    A sandbox starts when its first job comes, so an idle pool costs nothing.
    """

    def __init__(
        self, size: int, level: Level, preload: tuple[str, ...] = (), *, import_paths: tuple[Path, ...] = ()
    ) -> None:
        if size < 1:
            raise ValueError(f"a pool needs at least one sandbox, got {size}")
        self._sandboxes = tuple(Sandbox(level, preload, import_paths=import_paths) for _ in range(size))
        # Last in, first out: the sandbox whose memory is warm comes back first.
        self._idle: queue.LifoQueue[Sandbox] = queue.LifoQueue()
        for sandbox in self._sandboxes:
            self._idle.put(sandbox)

    @contextmanager
    def acquire(self) -> Iterator[Sandbox]:
        """Lend one sandbox, waiting until one is idle."""
        sandbox = self._idle.get()
        try:
            yield sandbox
        finally:
            self._idle.put(sandbox)

    def run(self, job: str, payload: bytes, limits: Limits) -> Outcome:
        """Run one job on the first idle sandbox; see `Sandbox.run`."""
        with self.acquire() as sandbox:
            return sandbox.run(job, payload, limits)

    def close(self) -> None:
        """End every process of the pool; jobs that run are killed with them."""
        for sandbox in self._sandboxes:
            sandbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
