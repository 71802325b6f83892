"""One call, written down before it is sent and after it has ended."""

from __future__ import annotations

import itertools
import secrets
from typing import Literal

from pipeline.judge.calls.budget import Budget, Reservation
from pipeline.judge.calls.clock import Clock, Deadline
from pipeline.judge.calls.line import Line
from pipeline.judge.calls.question import Question
from pipeline.judge.calls.spending import Spending
from pipeline.judge.calls.throttle import Slot
from pipeline.judge.providers.provider import ProviderError
from pipeline.store import Store, StoreError
from pipeline.store.settling import Settling
from pipeline.types import Call, CallEnd, Completion, Fault, JudgeSetup, Owner, Usage

__all__ = ["UNSTORABLE", "Books"]

_NOTHING = Usage()
#: Codes of the store for values that no column takes, as opposed to a store that takes nothing more.
UNSTORABLE = ("bad_amount", "bad_text", "bad_rows")


class Books:
    """Makes calls and accounts for them.

    Attributes:
        budget: What may still be spent.
        spending: What was.
    """

    def __init__(self, setup: JudgeSetup, store: Store, clock: Clock) -> None:
        """Keep the caps of `setup`, and calls in `store`."""
        self.budget = Budget(setup, store.ledger, clock)
        self.spending = Spending()
        self._store = store
        self._clock = clock
        self._longest_wait = setup.retry_after_seconds
        self._name = secrets.token_hex(12)
        self._numbers = itertools.count(1)
        self._settling: Settling | None = None

    async def make_call(
        self, question: Question, line: Line, slot: Slot, reservation: Reservation, deadline: Deadline
    ) -> Completion:
        """Send `question` once: its intent is on the disk before it is sent, its answer is on its way there.

        Raises:
            ProviderError: If no answer came.
            StoreError: If the store can keep nothing more.
        """
        call = Call(
            id=f"c-{self._name}-{next(self._numbers)}",
            key=question.key,
            grading_id=question.grading_id,
            submission_id=question.submission_id,
            criteria=question.criteria,
            role=question.role_name,
            provider=line.name,
            model=line.model.id,
            started_at=self._clock.today(),
            estimated_cost=reservation.amount,
        )
        self._store.ledger.begin_calls([call], wait=False)
        self.budget.record(reservation, call.started_at)
        entry = _Entry(self, call, line, slot, reservation)
        sent = False
        try:
            await self.settle()
            sent = True
            entry.restart()
            completion = await line.provider.complete(question.request, timeout=deadline.rest)
        except ProviderError as error:
            if error.throttled:
                asked = error.retry_after
                # Nobody is made to wait for what the call itself will not wait for.
                pause = asked if asked is not None and asked <= self._longest_wait else None
                line.throttle.note_refusal(slot, pause)
            entry.close("lost" if error.maybe_charged else "failed", error.fault.code, error.fault.message)
            raise
        except Exception as error:
            if not sent:
                entry.close("failed", "not_sent", "the store could not keep its intent")
                raise
            # Not every way in which an answer can be odd is known; one of them is no reason to end a run.
            entry.close("lost", "unexpected", type(error).__name__)
            raise ProviderError(_name_unexpected(line, error), maybe_charged=True) from error
        except BaseException:
            entry.close("lost" if sent else "failed", "cancelled", "the grader was stopped meanwhile")
            raise
        line.throttle.note_answer(slot)
        try:
            entry.close("answered", completion=completion)
        except StoreError as error:
            if error.fault.code not in UNSTORABLE:
                raise
            entry.close("lost", "unstorable_answer", error.fault.message)
            raise ProviderError(_name_unstorable(line, error.fault), maybe_charged=True) from error
        return completion

    async def settle(self) -> None:
        """Return once everything written so far is on the disk.

        Raises:
            StoreError: If it could not be.
        """
        if self._settling is None:
            self._settling = Settling(self._store)
        await self._settling.settle()

    def close(self) -> None:
        """End the thread that waits for commits; the next call starts another."""
        settling, self._settling = self._settling, None
        if settling is not None:
            settling.close()


class _Entry:
    """A call that is under way."""

    def __init__(self, books: Books, call: Call, line: Line, slot: Slot, reservation: Reservation) -> None:
        self._books = books
        self._call = call
        self._line = line
        self._slot = slot
        self._reservation = reservation
        self._started = books._clock.now()

    def restart(self) -> None:
        """Measure from now: writing the intent is not the provider's time."""
        self._started = self._books._clock.now()

    def close(
        self,
        outcome: Literal["answered", "failed", "lost"],
        code: str = "",
        message: str = "",
        completion: Completion | None = None,
    ) -> None:
        """Queue the end row, and replace what was set aside by what it cost."""
        price = self._line.model.price
        usage = completion.usage if completion is not None else _NOTHING
        cost = 0
        if outcome == "lost":
            cost = self._call.estimated_cost
        elif price is not None:
            cost = price.cost(usage)
            if completion is not None and completion.text and not usage.output_tokens:
                # Whoever sends text and counts none of it may charge for it all the same.
                cost = max(cost, self._call.estimated_cost)
        end = CallEnd(
            call_id=self._call.id,
            outcome=outcome,
            code=code,
            message=message,
            seconds=self._books._clock.now() - self._started,
            usage=usage,
            cost=cost,
        )
        # Both or neither: the budget takes what the ledger has as known to it.
        self._books._store.ledger.end_calls([(end, completion)], wait=False)
        self._books.budget.settle(self._reservation, cost)
        if outcome != "lost":
            used = (
                usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens
            )
            # No call takes more than the model holds, whatever is counted: a debt of a billion tokens would
            # let nothing pass for days.
            self._slot.used = min(used, self._line.model.context_tokens)
        self._books.spending.add_call(outcome, usage, cost, priced=price is not None)


def _name_unstorable(line: Line, cause: Fault) -> Fault:
    return Fault(
        owner=Owner.JUDGE,
        code="unstorable_answer",
        message=f"{line.name} gave an answer that cannot be kept: {cause.message}",
        remedy="a person grades this submission",
    )


def _name_unexpected(line: Line, error: Exception) -> Fault:
    return Fault(
        owner=Owner.GRADER,
        code="unexpected_answer",
        # The text of an error that nobody foresaw may hold anything, a key included.
        message=f"{line.name} brought the grader to an error that nobody foresaw: {type(error).__name__}",
        remedy="report it; a person grades this submission",
    )
