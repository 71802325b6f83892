"""How many calls may be under way to one model: learned from what the provider answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pipeline.judge.calls.buckets import TokenBucket
from pipeline.judge.calls.clock import Clock

__all__ = ["Slot", "Throttle"]

#: A round of shares adds up to one, save for a rounding error.
_SLACK = 1e-9


@dataclass(eq=False, slots=True)
class Slot:
    """Permission for one call that is under way.

    Attributes:
        tokens: What was taken from the token bucket for it.
        round: How often the limit had been cut when it began.
        used: Tokens that it turned out to use; None while nobody knows, which counts as all of them.
    """

    tokens: int
    round: int
    used: int | None = None


class Throttle:
    """Limits calls to one model: concurrency that adapts, requests and tokens per minute, a common pause.

    The limit starts at `start`. While every slot is in use, each answer raises it: by one until the
    provider first asks for less (so it doubles per round), and by one per round from then on, up to
    `maximum`. When the provider asks for less the limit becomes half of what is under way, once per round,
    and never less than one: calls that began before the cut say nothing about the time after it.

    Whoever comes first goes first. A cancelled wait gives up its place and leaks nothing. The state
    outlives an event loop; several loops may use it one after another, not at once.
    """

    def __init__(
        self,
        *,
        start: int,
        maximum: int,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        clock: Clock,
    ) -> None:
        """Start at `start` calls under way; None stands for no limit per minute."""
        self._clock = clock
        self._maximum = float(max(1, maximum))
        self._limit = float(max(1, min(start, maximum)))
        self._requests = TokenBucket(requests_per_minute, clock.now) if requests_per_minute else None
        self._tokens = TokenBucket(tokens_per_minute, clock.now) if tokens_per_minute else None
        self._slots: set[Slot] = set()
        self._round = 0
        self._paused_until = clock.now()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        self._left = asyncio.Event()

    @property
    def limit(self) -> int:
        """Calls that may be under way at once, at the moment."""
        return int(self._limit + _SLACK)

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Slot]:
        """Wait for permission to make a call of about `tokens` tokens, and hold it."""
        slot = await self._enter(tokens)
        try:
            yield slot
        finally:
            self._leave(slot)

    def note_answer(self, slot: Slot) -> None:
        """Raise the limit if an answer came while every slot was in use."""
        if slot.round != self._round or len(self._slots) < self.limit:
            return
        growth = 1.0 if self._round == 0 else 1.0 / self.limit
        self._limit = min(self._limit + growth, self._maximum)

    def note_refusal(self, slot: Slot, retry_after: float | None) -> None:
        """Cut the limit because the provider asks for less; nobody sends before `retry_after` seconds."""
        if retry_after is not None:
            self._paused_until = max(self._paused_until, self._clock.now() + retry_after)
        if slot.round == self._round:
            self._round += 1
            # Of what is under way, not of the limit: a limit that nothing filled would take many cuts to
            # matter.
            self._limit = max(1.0, min(self._limit, len(self._slots)) / 2)

    async def _enter(self, tokens: int) -> Slot:
        self._adopt_loop()
        async with self._turn:
            while True:
                seconds = self._seconds_to_wait(tokens)
                if seconds > 0:
                    await self._clock.sleep(seconds)
                elif len(self._slots) >= self.limit:
                    self._left.clear()
                    await self._left.wait()
                else:
                    break
            slot = Slot(tokens, self._round)
            self._slots.add(slot)
            if self._requests is not None:
                self._requests.take(1)
            if self._tokens is not None:
                self._tokens.take(tokens)
            return slot

    def _leave(self, slot: Slot) -> None:
        if slot not in self._slots:
            return
        self._slots.remove(slot)
        if self._tokens is not None and slot.used is not None:
            self._tokens.give_back(slot.tokens - slot.used)
        self._left.set()

    def _seconds_to_wait(self, tokens: int) -> float:
        waits = [self._paused_until - self._clock.now()]
        if self._requests is not None:
            waits.append(self._requests.seconds_until(1))
        if self._tokens is not None:
            waits.append(self._tokens.seconds_until(tokens))
        return max(0.0, *waits)

    def _adopt_loop(self) -> None:
        """Take the running loop for ours: of an earlier one nothing is under way any more."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._turn = asyncio.Lock()
            self._left = asyncio.Event()
            self._slots.clear()
