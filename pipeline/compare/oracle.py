"""The oracle: inputs and float64 answers, drawn once per case and seed and kept while they are needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from pipeline.execute.references import Draw, draw_reference
from pipeline.execute.sandbox import SandboxPool
from pipeline.types import Case, Fault, Task

__all__ = ["Oracle"]

_CACHE_BYTES: Final = 512 << 20


class Oracle:
    """Draws references in confined workers and remembers the latest of them.

    Args:
        workers: Where references run.
        cache_bytes: How much is remembered; the least recently used goes first.
    """

    def __init__(self, workers: SandboxPool, *, cache_bytes: int = _CACHE_BYTES) -> None:
        self._workers = workers
        self._cache_bytes = cache_bytes
        self._draws: OrderedDict[tuple[str, str, int], Draw] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    def draw(self, task: Task, case: Case, seed: int) -> Draw | Fault:
        """Return draw number `seed` of `case`, or the task's fault."""
        key = (task.content_hash(), case.name, seed)
        with self._lock:
            if key in self._draws:
                self._draws.move_to_end(key)
                return self._draws[key]
        draw = draw_reference(self._workers, task, case, seed)
        if isinstance(draw, Draw):
            self._remember(key, draw)
        return draw

    def _remember(self, key: tuple[str, str, int], draw: Draw) -> None:
        with self._lock:
            if key in self._draws or draw.nbytes > self._cache_bytes:
                return
            self._draws[key] = draw
            self._held += draw.nbytes
            while self._held > self._cache_bytes:
                _, dropped = self._draws.popitem(last=False)
                self._held -= dropped.nbytes
