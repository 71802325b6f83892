"""Ask a model a question: remembered, shared, permitted, paid for, limited, recorded and repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Protocol

from pipeline.errors import GraderError
from pipeline.judge.calls.books import Books
from pipeline.judge.calls.clock import Clock, Deadline
from pipeline.judge.calls.estimates import Estimate, estimate_call
from pipeline.judge.calls.line import Line, LineClosed
from pipeline.judge.calls.question import Question, check_permission, check_prices
from pipeline.judge.calls.retries import repeat_calls
from pipeline.judge.calls.spending import Spending
from pipeline.judge.providers import open_provider
from pipeline.judge.providers.provider import Provider, ProviderError
from pipeline.store import Store
from pipeline.types import Completion, Fault, JudgeRole, JudgeSetup

__all__ = ["Caller", "LiveCaller", "Question"]

#: What of a role decides whom it reaches, and whether that provider takes it; a panel of two roles that
#: differ in the rest only is two roles over one line.
_REACH = ("provider", "called", "base_url", "model", "temperature", "key_variable", "key_file")


class Caller(Protocol):
    """Gets questions answered."""

    @property
    def spending(self) -> Spending | None:
        """What was asked and paid so far; None where nothing is asked at once."""

    @property
    def stopped(self) -> Fault | None:
        """Why nothing can be asked any more in this run, or None."""

    async def ask(self, question: Question) -> Completion:
        """Return the answer to `question`; one that is stored is never bought again.

        Raises:
            ProviderError: If none came; repeating is over.
            JudgmentDeferred: If it has to wait: a cap on cost is reached, nobody can be asked any more in
                this run, or the question is put off.
        """

    async def fetch(self) -> bool:
        """Get the answers to what was put off; return whether there is anything new to go on with."""

    async def aclose(self) -> None:
        """Let go of connections; the caller may be used again, also in another event loop."""


class LiveCaller:
    """Asks now.

    An answer that is stored is returned at no cost, and equal questions asked at once are one call. Each
    attempt of a call sets money aside, waits for its slot, and writes its intent to the disk before
    anything is sent; its end and its answer are on the disk before `ask` returns. So a kill pays again for
    the calls that were under way, at most, and the ledger names them.

    One event loop at a time may use it; several may one after another.
    """

    def __init__(
        self,
        setup: JudgeSetup,
        store: Store,
        *,
        open_provider: Callable[[JudgeRole], Provider] = open_provider,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        """Ask within the caps, permissions and deadlines of `setup`, and keep everything in `store`.

        Raises:
            GraderError: If there is a cap and a model without a price (``price_unknown``).
        """
        check_prices(setup)
        self._setup = setup
        self._store = store
        self._open_provider = open_provider
        self._clock = clock if clock is not None else Clock()
        self._random = random if random is not None else Random()
        self._books = Books(setup, store, self._clock)
        self._lines: dict[tuple[object, ...], Line] = {}
        self._unusable: dict[tuple[object, ...], Fault] = {}
        self._flights: dict[str, asyncio.Future[Completion | Exception | None]] = {}

    @property
    def stopped(self) -> Fault | None:
        """Why the run should end: a cap is reached, a key is wrong, or a provider is out; else None."""
        faults = [self._books.budget.stopped, *self._unusable.values()]
        faults += [line.fault for line in self._lines.values()]
        return next((fault for fault in faults if fault is not None), None)

    @property
    def spending(self) -> Spending:
        """What was spent so far."""
        return replace(self._books.spending)

    async def ask(self, question: Question) -> Completion:
        """Return the answer to `question`: stored, shared or bought.

        Raises:
            ProviderError: If none came; repeating is over.
            SpendingStopped: If a cap on cost is reached.
            LineClosed: If its model is not asked any more in this run.
            StoreError: If the store can keep nothing more.
        """
        loop = asyncio.get_running_loop()
        while (flight := self._flights.get(question.key)) is not None and flight.get_loop() is loop:
            outcome = await asyncio.shield(flight)
            # None: whoever asked was cancelled, and somebody else has to ask.
            if outcome is not None:
                self._books.spending.shared += 1
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome
        known = self._store.ledger.find_answer(question.key)
        if known is not None:
            self._books.spending.remembered += 1
            return known
        flight = self._flights[question.key] = loop.create_future()
        outcome = None
        try:
            outcome = await self._buy(question)
            return outcome
        except Exception as error:
            outcome = error
            raise
        finally:
            # A loop that was torn down may end its calls after the next one has begun the same.
            if self._flights.get(question.key) is flight:
                del self._flights[question.key]
            flight.set_result(outcome)

    async def fetch(self) -> bool:
        """Nothing: every question is asked at once."""
        return False

    async def aclose(self) -> None:
        """Let go of connections and of the thread that waits for commits; asking again brings both back."""
        self._books.close()
        for line in self._lines.values():
            await line.provider.aclose()

    async def _buy(self, question: Question) -> Completion:
        check_permission(question.role, self._setup)
        line = self._find_line(question.role)
        line.check_open()
        deadline = Deadline(self._clock, self._setup.deadline_seconds)
        longest_wait = self._setup.retry_after_seconds
        repeated = repeat_calls(
            deadline, longest_wait, self._clock, self._random, has_answered=lambda: line.has_answered
        )
        estimate = estimate_call(question.request, line.model)
        try:
            completion: Completion = await repeated(self._attempt, question, line, estimate, deadline)
        except ProviderError as error:
            raise line.conclude(error, deadline, longest_wait) from error
        line.note_answer()
        # Outside its slot: a commit is not the provider's time.
        await self._books.settle()
        return completion

    async def _attempt(
        self, question: Question, line: Line, estimate: Estimate, deadline: Deadline
    ) -> Completion:
        """Wait for money and a slot, then make one call."""
        arrived = self._clock.now()
        reservation = await self._books.budget.reserve(estimate.cost)
        try:
            async with line.throttle.slot(estimate.input_tokens + estimate.output_tokens) as slot:
                deadline.excuse(self._clock.now() - arrived)
                # Whoever was in line while the key turned out wrong sends nothing, and uses nothing.
                slot.used = 0
                line.check_open()
                slot.used = None
                deadline.attempts += 1
                return await self._books.make_call(question, line, slot, reservation, deadline)
        finally:
            self._books.budget.settle(reservation, 0)

    def _find_line(self, role: JudgeRole) -> Line:
        key = tuple(getattr(role, name) for name in _REACH)
        if key in self._unusable:
            raise LineClosed(self._unusable[key])
        line = self._lines.get(key)
        if line is None:
            try:
                line = Line(role, self._open_provider, self._clock)
            except GraderError as error:
                self._unusable[key] = error.fault
                raise ProviderError(error.fault, stops_run=True) from error
            self._lines[key] = line
        return line
