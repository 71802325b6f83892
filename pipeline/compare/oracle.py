"""The oracle: inputs, float64 answers and limits, made once per case and seed and kept while needed."""

from __future__ import annotations

import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from pipeline.compare.cases import derive_limits
from pipeline.compare.tolerance import Limits
from pipeline.execute.references import Draw, draw_reference
from pipeline.execute.sandbox import SandboxPool
from pipeline.types import Case, Fault, Task

__all__ = ["SEED_PATTERN", "Oracle"]

#: A secret seed: 16 bytes in hexadecimal.
SEED_PATTERN: Final = re.compile(r"[0-9a-f]{32}")

Value = TypeVar("Value")

_SEED_BYTES: Final = 16
_CACHE_BYTES: Final = 512 << 20


class Oracle:
    """Draws references in confined workers and remembers the latest of them.

    Args:
        workers: Where references run.
        seed: The secret that all inputs are drawn from, as 32 hexadecimal digits; None to draw one. A replay
            gives that of the run it repeats.
        cache_bytes: How much is remembered of draws, and of limits; the least recently used goes first.

    Raises:
        ValueError: If `seed` is no such number.
    """

    def __init__(
        self, workers: SandboxPool, seed: str | None = None, *, cache_bytes: int = _CACHE_BYTES
    ) -> None:
        self.seed: Final = secrets.token_hex(_SEED_BYTES) if seed is None else seed.lower()
        if not SEED_PATTERN.fullmatch(self.seed):
            raise ValueError(f"a seed is {2 * _SEED_BYTES} hexadecimal digits")
        self._workers = workers
        self._draws = _Memory[Draw](cache_bytes)
        self._limits = _Memory[tuple[Limits, ...]](cache_bytes)

    def draw(self, task: Task, case: Case, seed: int, *, study: bool = False) -> Draw | Fault:
        """Return draw number `seed` of `case`, with other arithmetics for a study, or the task's fault."""
        key = (task.content_hash(), case.name, seed, study)
        known = self._draws.recall(key)
        if known is not None:
            return known
        draw = draw_reference(self._workers, task, case, seed, self.seed, study=study)
        if isinstance(draw, Draw):
            self._draws.keep(key, draw, draw.nbytes)
        return draw

    def limits(self, task: Task, case: Case, seed: int, draw: Draw) -> tuple[Limits, ...]:
        """Return what outputs are held to for `draw`, which is draw number `seed` of `case`."""
        key = (task.content_hash(), case.name, seed)
        known = self._limits.recall(key)
        if known is not None:
            return known
        limits = derive_limits(task, draw)
        size = sum(limit.elementwise.nbytes + limit.row_rel_l2.nbytes for limit in limits)
        self._limits.keep(key, limits, size)
        return limits


class _Memory(Generic[Value]):
    """What was used last, up to a number of bytes; threads share it."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    def recall(self, key: Hashable) -> Value | None:
        """Return what is kept under `key`, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: Hashable, value: Value, size: int) -> None:
        """Keep `value` of `size` bytes, and let go of what was not used for longest."""
        with self._lock:
            if key in self._kept or size > self._capacity:
                return
            self._kept[key] = value, size
            self._held += size
            while self._held > self._capacity:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._held -= dropped
