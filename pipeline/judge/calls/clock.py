"""The time that limits, repeats and caps go by; tests put their own in its place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

__all__ = ["Clock", "Deadline"]


def _read_calendar() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """Where time comes from.

    Attributes:
        now: Seconds since some moment; they never run backwards.
        sleep: Waits for that many seconds.
        today: The calendar, in UTC.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    today: Callable[[], datetime] = _read_calendar


class Deadline:
    """How long one answer may still take, and how often it was tried.

    Time in our own line, for a slot or for money, is not the provider's and does not count: a long batch
    would otherwise fail the calls at the end of its line without ever sending them.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        """Start counting down `seconds`."""
        self._clock = clock
        self._seconds = seconds
        self._started = clock.now()
        self._in_line = 0.0
        self.attempts = 0

    @property
    def elapsed(self) -> float:
        """Seconds that count so far."""
        return self._clock.now() - self._started - self._in_line

    @property
    def rest(self) -> float:
        """Seconds that are left; none is 0."""
        return max(0.0, self._seconds - self.elapsed)

    def excuse(self, seconds: float) -> None:
        """Leave `seconds` that were spent in our own line out of the count."""
        self._in_line += seconds
