"""Hand questions over in batches, wait, and bring the answers home."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pipeline.errors import GraderError
from pipeline.judge.batches.adoption import SKEW, find_batch
from pipeline.judge.batches.attempts import is_hopeless
from pipeline.judge.batches.collection import collect, give_up, write_off
from pipeline.judge.calls.budget import Budget, Reservation, SpendingStopped
from pipeline.judge.calls.clock import Clock
from pipeline.judge.calls.estimates import estimate_call
from pipeline.judge.calls.question import Question
from pipeline.judge.providers.models import find_model
from pipeline.judge.providers.provider import BatchProvider, ProviderError
from pipeline.store import BatchEvent, Ledger, ProviderBatchState
from pipeline.types import Call, JudgeSetup, ProviderBatch

__all__ = ["BatchDesk", "Waiting"]

#: Both providers take more; smaller batches come back sooner and lose less when one is refused. Text that is
#: written as JSON takes up to six times its bytes, and the smaller limit (OpenAI's) is 200 MB.
_BATCH_REQUESTS: Final = 5_000
_BATCH_BYTES: Final = 32 << 20
#: Events after which nothing more is expected of a batch.
_DONE: Final = frozenset({"refused", "collected"})
#: Longest wait after an error of the provider's, unless it asks for a longer one; and the longest of these.
_LONGEST_PAUSE: Final = 300.0
_LONGEST_ASKED_PAUSE: Final = 3600.0
#: Errors in a row, of asking or of sending, after which the run ends: two hours, with the usual pauses.
_PATIENCE: Final = 24


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


@dataclass(slots=True)
class _Round:
    """What one look at the providers came to.

    Attributes:
        moved: Whether anything was collected, written off or sent.
        asking: An error in asking that may pass.
        sending: An error in sending that may pass.
        final: Why nothing more is to be sent in this run.
    """

    moved: bool = False
    asking: ProviderError | None = None
    sending: ProviderError | None = None
    final: GraderError | None = None


class BatchDesk:
    """Takes the questions of one run to their providers and back.

    Args:
        setup: Limits, and how often a provider is asked how far it is.
        providers: By the name that roles call them.
        ledger: Where intents, answers and costs are kept.
        budget: What may be spent.
        clock: What waiting goes by.
    """

    def __init__(
        self,
        setup: JudgeSetup,
        providers: Mapping[str, BatchProvider],
        ledger: Ledger,
        budget: Budget,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._setup = setup
        self._providers = providers
        self._ledger = ledger
        self._budget = budget
        self._clock = clock if clock is not None else Clock()
        self._reservations: dict[str, list[Reservation]] = {}
        self._absent_since: dict[str, float] = {}
        self._strangers: set[tuple[str, str]] = set()

    async def work_off(
        self, questions: Sequence[Question], *, on_progress: Callable[[Waiting], None] | None = None
    ) -> None:
        """Return once every question is answered, or was sent twice for nothing.

        Batches of earlier runs are adopted and collected first. The process may be killed at any point; the
        same questions then go on from there. Batches of other questions are collected when they have ended,
        and otherwise left alone.

        Raises:
            SpendingStopped: If a cap left some unsent; what was sent is collected first.
            ProviderError: If a provider takes no batches (an unknown model, no credit); what was sent is
                collected first, unless the provider does not even say how far it is.
            StoreError: If the store can no longer keep answers.
        """
        wanted = {question.key: question for question in questions}
        stopped: GraderError | None = None
        failed_asking = failed_sending = 0
        pause = self._setup.batch_poll_seconds
        while True:
            done = _Round()
            await self._look_after_batches(wanted.keys(), done)
            stopped = stopped or done.final
            unsent = [wanted[key] for key in self._list_unsent(wanted)]
            sent = False
            if unsent and stopped is None and done.asking is None:
                sent = await self._send(unsent, done)
                stopped = done.final
            failed_asking = failed_asking + 1 if done.asking is not None else 0
            # A batch that nobody knows to be accepted is neither a success nor a failure yet.
            failed_sending = failed_sending + 1 if done.sending is not None else 0 if sent else failed_sending
            error = done.asking or done.sending
            if error is not None:
                if max(failed_asking, failed_sending) >= _PATIENCE:
                    raise error
                pause = max(
                    min(2 * pause, _LONGEST_PAUSE),
                    min(error.retry_after or 0.0, _LONGEST_ASKED_PAUSE),
                )
            else:
                pause = self._setup.batch_poll_seconds
            underway = [
                state for state in self._list_open() if not wanted.keys().isdisjoint(state.batch.keys)
            ]
            left = self._list_unsent(wanted)
            if on_progress is not None:
                waiting = sum(len(wanted.keys() & set(state.batch.keys)) for state in underway)
                on_progress(Waiting(len(wanted) - waiting - len(left), len(wanted), len(underway)))
            if not underway and (not left or stopped is not None):
                break
            if error is not None or not done.moved:
                await self._clock.sleep(pause)
        if stopped is not None:
            raise stopped

    def _list_open(self) -> list[ProviderBatchState]:
        return [state for state in self._ledger.list_provider_batches() if _is_open(state)]

    def _list_unsent(self, wanted: Iterable[str]) -> list[str]:
        """Return the keys that have no answer, are in no open batch, and may be sent (again)."""
        states = self._ledger.list_provider_batches()
        underway = {key for state in states if _is_open(state) for key in state.batch.keys}
        # Most were never sent, and whether one was tried in vain is a question to the database.
        tried = {key for state in states for key in state.batch.keys}
        return [
            key
            for key in wanted
            if key not in underway
            and self._ledger.find_answer(key) is None
            and not (key in tried and is_hopeless(self._ledger, key))
        ]

    async def _look_after_batches(self, wanted: Collection[str], done: _Round) -> None:
        """Adopt and collect what can be.

        Raises:
            ProviderError: If a provider refuses to say anything about a batch of `wanted` keys.
        """
        states = self._ledger.list_provider_batches()
        claimed = {state.provider_id for state in states if state.provider_id is not None}
        refusal: ProviderError | None = None
        for state in self._list_open():
            provider = self._providers.get(state.batch.provider)
            if provider is None:
                continue  # Of a run with another setup, which will look after it.
            ours = not set(wanted).isdisjoint(state.batch.keys)
            try:
                await self._look_after(state, provider, claimed, done, ours=ours)
            except ProviderError as error:
                # What becomes of batches that this run does not need must not keep it from its own.
                if ours and error.retryable:
                    done.asking = error
                elif ours:
                    refusal = error
        if refusal is not None:
            raise refusal

    async def _look_after(
        self,
        state: ProviderBatchState,
        provider: BatchProvider,
        claimed: set[str],
        done: _Round,
        *,
        ours: bool,
    ) -> None:
        batch, provider_id = state.batch, state.provider_id
        if provider_id is None:
            # Another run may be about to send it; whoever needs its answers finds out.
            provider_id = await self._adopt(batch, provider, claimed) if ours else None
            if provider_id is None:
                return
            claimed.add(provider_id)
        try:
            standing = await provider.poll(provider_id)
        except ProviderError as error:
            if not error.stops_run or not await _is_unlisted(batch, provider_id, provider):
                raise
            self._write_off(batch, provider_id, f"{batch.provider} knows it no more", done)
            return
        if not standing.ended:
            return
        event: BatchEvent = "expired" if standing.expired else "ended"
        if not any(noted.event == event for noted in state.events):
            self._ledger.note_batch(batch.id, event, provider_id)
        try:
            collected = await collect(batch, provider_id, provider, self._ledger)
        except ProviderError as error:
            if error.fault.code == "batch_gone":
                self._write_off(batch, provider_id, error.fault.message, done)
                return
            if error.fault.code == "batch_refused":
                give_up(batch, self._ledger, error.fault.message)
                self._release(batch.id, 0)
                if ours:
                    done.final = error
                return
            raise
        self._release(batch.id, collected.cost)
        done.moved = True
        if ours and collected.refusal is not None:
            done.final = collected.refusal

    def _write_off(self, batch: ProviderBatch, provider_id: str, reason: str, done: _Round) -> None:
        self._release(batch.id, write_off(batch, provider_id, self._ledger, reason))
        done.moved = True

    async def _adopt(self, batch: ProviderBatch, provider: BatchProvider, claimed: set[str]) -> str | None:
        """Return the provider's name of a batch that nobody noted, or None while it is unknown."""
        sighting = await find_batch(batch, provider, claimed, self._strangers)
        if sighting.found is not None:
            self._ledger.note_batch(batch.id, "adopted", sighting.found.provider_id)
            return sighting.found.provider_id
        if not sighting.absent:
            self._absent_since.pop(batch.id, None)
            return None
        # What was accepted a moment ago, of a process that is dead by now, may not be listed yet.
        now = self._clock.now()
        if now - self._absent_since.setdefault(batch.id, now) >= self._setup.batch_poll_seconds:
            give_up(batch, self._ledger, "the provider has no such batch")
            self._release(batch.id, 0)
        return None

    async def _send(self, questions: Sequence[Question], done: _Round) -> bool:
        """Send `questions` in batches, as far as the budget reaches; return whether any were accepted."""
        accepted = False
        groups: dict[tuple[str, str], list[Question]] = defaultdict(list)
        for question in questions:
            groups[question.role.called, question.role.model].append(question)
        for group in groups.values():
            for chunk in _cut(group):
                affordable, reservations = self._reserve(chunk, done)
                if affordable:
                    try:
                        await self._send_batch(affordable, reservations)
                    except ProviderError as error:
                        if not error.retryable:
                            done.final = error
                            return accepted
                        done.sending = error
                        break
                    accepted = done.moved = True
                if len(affordable) < len(chunk):
                    return accepted
        return accepted

    def _reserve(
        self, questions: Sequence[Question], done: _Round
    ) -> tuple[list[Question], list[Reservation]]:
        """Set money aside for as many of `questions`, in their order, as there is some for."""
        affordable: list[Question] = []
        reservations: list[Reservation] = []
        for question in questions:
            try:
                reservation = self._budget.reserve_now(_estimate(question))
            except SpendingStopped as error:
                done.final = error
                break
            if reservation is None:
                break  # Until what is under way has cost less than was set aside for it.
            reservations.append(reservation)
            affordable.append(question)
        return affordable, reservations

    async def _send_batch(self, questions: Sequence[Question], reservations: list[Reservation]) -> None:
        role = questions[0].role
        started = self._clock.today()
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
            # A server that fails (500) may have failed after it had accepted: the list will tell.
            if not error.maybe_charged and error.fault.code != "provider_failed":
                give_up(batch, self._ledger, error.fault.message)
                self._release(batch.id, 0)
            raise
        self._ledger.note_batch(batch.id, "sent", accepted.provider_id)

    def _release(self, batch_id: str, cost: int) -> None:
        """Settle what was set aside for a batch with what it cost, in micro-dollars."""
        for number, reservation in enumerate(self._reservations.pop(batch_id, [])):
            self._budget.settle(reservation, cost if number == 0 else 0)


async def _is_unlisted(batch: ProviderBatch, provider_id: str, provider: BatchProvider) -> bool:
    """Whether the provider lists its batches and this is none of them; else the address may be wrong."""
    listed = await provider.list_batches(batch.created_at - SKEW)
    return all(candidate.provider_id != provider_id for candidate in listed)


def _is_open(state: ProviderBatchState) -> bool:
    return not any(event.event in _DONE for event in state.events)


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
        request = question.request
        texts = (*request.system, *(turn.text for turn in request.messages), json.dumps(dict(request.schema)))
        length = sum(len(text.encode(errors="replace")) for text in texts)
        if part and (len(part) >= _BATCH_REQUESTS or size + length > _BATCH_BYTES):
            yield part
            part, size = [], 0
        part.append(question)
        size += length
    if part:
        yield part
