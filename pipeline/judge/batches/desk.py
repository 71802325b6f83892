"""Hand questions over in batches, wait, and bring the answers home."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from pipeline.judge.batches.adoption import find_batch
from pipeline.judge.batches.collection import collect, give_up
from pipeline.judge.calls.budget import Budget, Reservation, SpendingStopped
from pipeline.judge.calls.caller import Question
from pipeline.judge.calls.estimates import estimate_call
from pipeline.judge.providers.models import find_model
from pipeline.judge.providers.provider import BatchProvider, ProviderError
from pipeline.store import Ledger, ProviderBatchState
from pipeline.types import Call, JudgeSetup, ProviderBatch

__all__ = ["BatchDesk", "Waiting"]

#: Both providers take more; smaller batches come back sooner and lose less when one is refused.
_BATCH_REQUESTS: Final = 5_000
_BATCH_BYTES: Final = 64 << 20
#: A request that brought nothing is sent once more, then its submission goes to a person.
_TRIES: Final = 2
#: Events after which nothing more is expected of a batch.
_DONE: Final = frozenset({"refused", "collected"})
#: Longest wait after an error of the provider's, in seconds.
_LONGEST_PAUSE: Final = 300.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """How far a run over batches has come.

    Attributes:
        answered: Questions that are settled, with or without an answer.
        total: Questions of this run.
        batches: Batches that the provider is working on.
    """

    answered: int
    total: int
    batches: int


class BatchDesk:
    """Takes the questions of one run to their providers and back.

    Args:
        setup: Limits, and how often a provider is asked how far it is.
        providers: By the name that roles call them.
        ledger: Where intents, answers and costs are kept.
        budget: What may be spent.
        sleep: Waits for so many seconds.
    """

    def __init__(
        self,
        setup: JudgeSetup,
        providers: Mapping[str, BatchProvider],
        ledger: Ledger,
        budget: Budget,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._setup = setup
        self._providers = providers
        self._ledger = ledger
        self._budget = budget
        self._sleep = sleep
        self._reservations: dict[str, list[Reservation]] = {}

    async def work_off(
        self, questions: Sequence[Question], *, on_progress: Callable[[Waiting], None] | None = None
    ) -> None:
        """Return once every question is answered, or was sent twice for nothing.

        Batches of earlier runs are adopted and collected first. The process may be killed at any point; the
        same questions then go on from there.

        Raises:
            SpendingStopped: If a cap left some unsent; what was sent is collected first.
            ProviderError: If a provider takes no batches at all (a wrong key, an unknown model).
            StoreError: If the store can no longer keep answers.
        """
        wanted = {question.key: question for question in questions}
        stopped: SpendingStopped | None = None
        pause = self._setup.batch_poll_seconds
        while True:
            moved = False
            try:
                moved = await self._look_after_batches()
                unsent = [wanted[key] for key in self._list_unsent(wanted)]
                if unsent and stopped is None:
                    sent, stopped = await self._send(unsent)
                    moved = moved or sent
                pause = self._setup.batch_poll_seconds
            except ProviderError as error:
                if error.stops_run or not error.retryable:
                    raise
                pause = min(max(2 * pause, error.retry_after or 0.0), _LONGEST_PAUSE)
            underway = [
                state for state in self._list_open() if not wanted.keys().isdisjoint(state.batch.keys)
            ]
            left = self._list_unsent(wanted)
            if on_progress is not None:
                waiting = sum(len(wanted.keys() & set(state.batch.keys)) for state in underway)
                on_progress(Waiting(len(wanted) - waiting - len(left), len(wanted), len(underway)))
            if not underway and (not left or stopped is not None):
                break
            if not moved:
                await self._sleep(pause)
        if stopped is not None:
            raise stopped

    def _list_open(self) -> list[ProviderBatchState]:
        return [
            state
            for state in self._ledger.list_provider_batches()
            if not any(event.event in _DONE for event in state.events)
        ]

    def _list_unsent(self, wanted: Iterable[str]) -> list[str]:
        """Return the keys that have no answer, are in no open batch, and may be sent (again)."""
        underway = {key for state in self._list_open() for key in state.batch.keys}
        return [
            key
            for key in wanted
            if key not in underway
            and self._ledger.find_answer(key) is None
            and not is_hopeless(self._ledger, key)
        ]

    async def _look_after_batches(self) -> bool:
        """Adopt and collect what can be; return whether anything came of it."""
        moved = False
        states = self._ledger.list_provider_batches()
        claimed = {state.provider_id for state in states if state.provider_id is not None}
        for state in self._list_open():
            provider = self._providers.get(state.batch.provider)
            if provider is None:
                continue  # Of a run with another setup, which will look after it.
            provider_id = state.provider_id or await self._adopt(state.batch, provider, claimed)
            if provider_id is None:
                continue
            claimed.add(provider_id)
            standing = await provider.poll(provider_id)
            if not standing.ended:
                continue
            event = "expired" if standing.expired else "ended"
            self._ledger.note_batch(state.batch.id, event, provider_id)  # type: ignore[arg-type]
            cost = await collect(state.batch, provider_id, provider, self._ledger)
            self._release(state.batch.id, cost)
            moved = True
        return moved

    async def _adopt(self, batch: ProviderBatch, provider: BatchProvider, claimed: set[str]) -> str | None:
        """Return the provider's name of a batch that nobody noted, or None while it is unknown."""
        sighting = await find_batch(batch, provider, claimed)
        if sighting.found is not None:
            self._ledger.note_batch(batch.id, "adopted", sighting.found.provider_id)
            return sighting.found.provider_id
        # What was accepted a moment ago may not be listed yet.
        age = datetime.now(UTC) - batch.created_at
        if sighting.absent and age > timedelta(seconds=self._setup.batch_poll_seconds):
            give_up(batch, self._ledger, "the provider has no such batch")
            self._release(batch.id, 0)
        return None

    async def _send(self, questions: Sequence[Question]) -> tuple[bool, SpendingStopped | None]:
        """Send `questions` in batches, as far as the budget reaches.

        Returns:
            Whether any were sent, and which cap no more will ever fit under.
        """
        any_sent = False
        groups: dict[tuple[str, str], list[Question]] = defaultdict(list)
        for question in questions:
            groups[question.role.called, question.role.model].append(question)
        for group in groups.values():
            for chunk in _cut(group):
                sent, stopped = [], None
                reservations: list[Reservation] = []
                for question in chunk:
                    amount = _estimate(question)
                    try:
                        reservation = self._budget.reserve_now(amount)
                    except SpendingStopped as error:
                        stopped = error
                        break
                    if reservation is None:
                        break
                    reservations.append(reservation)
                    sent.append(question)
                if sent:
                    await self._send_batch(sent, reservations)
                    any_sent = True
                if stopped is not None:
                    return any_sent, stopped
        return any_sent, None

    async def _send_batch(self, questions: Sequence[Question], reservations: list[Reservation]) -> None:
        role = questions[0].role
        started = datetime.now(UTC)
        batch = ProviderBatch(
            id=f"pb-{secrets.token_hex(8)}",
            provider=role.called,
            model=role.model,
            keys=tuple(question.key for question in questions),
            created_at=started,
        )
        self._ledger.intend_batch(batch, [_call(question, batch, started) for question in questions])
        for reservation in reservations:
            self._budget.record(reservation, started)
        self._reservations[batch.id] = reservations
        requests = {batch.custom_id(place): question.request for place, question in enumerate(questions)}
        try:
            accepted = await self._providers[role.called].submit(batch.id, requests)
        except ProviderError as error:
            if not error.maybe_charged:
                give_up(batch, self._ledger, error.fault.message)
                self._release(batch.id, 0)
            raise
        self._ledger.note_batch(batch.id, "sent", accepted.provider_id)

    def _release(self, batch_id: str, cost: int) -> None:
        """Settle what was set aside for a batch with what it cost, in micro-dollars."""
        for number, reservation in enumerate(self._reservations.pop(batch_id, [])):
            self._budget.settle(reservation, cost if number == 0 else 0)


def is_hopeless(ledger: Ledger, key: str) -> bool:
    """Whether the request with this key was sent in batches as often as it may be, for nothing."""
    ends = ledger.list_batch_ends(key)
    sent = [end for end in ends if end.code != "not_accepted"]
    return any(end.outcome == "failed" for end in sent) or len(sent) >= _TRIES


def _estimate(question: Question) -> int:
    return estimate_call(question.request, find_model(question.role), batch=True).cost


def _call(question: Question, batch: ProviderBatch, started: datetime) -> Call:
    return Call(
        id=f"c-{secrets.token_hex(8)}",
        key=question.key,
        grading_id=question.grading_id,
        submission_id=question.submission_id,
        criteria=question.criteria,
        role=question.role_name,
        provider=question.role.called,
        model=question.role.model,
        batch_id=batch.id,
        started_at=started,
        estimated_cost=_estimate(question),
    )


def _cut(questions: Sequence[Question]) -> Iterable[list[Question]]:
    """Yield parts of `questions` that a provider takes in one batch."""
    part: list[Question] = []
    size = 0
    for question in questions:
        texts = (*question.request.system, *(message.text for message in question.request.messages))
        length = sum(len(text.encode(errors="replace")) for text in texts)
        if part and (len(part) >= _BATCH_REQUESTS or size + length > _BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(question)
        size += length
    if part:
        yield part
