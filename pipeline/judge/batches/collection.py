"""Bring the answers of an ended batch home: whatever came is kept, whatever did not is named."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pipeline.judge.batches.attempts import NOT_ACCEPTED
from pipeline.judge.calls.books import UNSTORABLE
from pipeline.judge.providers.models import Price, find_price
from pipeline.judge.providers.provider import BatchProvider, ProviderError
from pipeline.store import Ledger, StoreError
from pipeline.types import Call, CallEnd, Completion, ProviderBatch, Usage

__all__ = ["Collected", "collect", "give_up", "write_off"]

#: Ends that are committed together.
_GROUP: Final = 500

_End = tuple[CallEnd, Completion | None]


@dataclass(frozen=True, slots=True)
class Collected:
    """What came of a batch.

    Attributes:
        cost: What it cost, in micro-dollars.
        refusal: Why every further request would fail alike, if a line says so (no credit, a wrong key).
    """

    cost: int
    refusal: ProviderError | None = None


async def collect(
    batch: ProviderBatch, provider_id: str, provider: BatchProvider, ledger: Ledger
) -> Collected:
    """Keep every answer of an ended batch and say of every other line that it is lost.

    May be repeated after a crash half-way, or after results that broke off: what is kept stays as it is.

    Raises:
        ProviderError: If the results cannot be read to their end; what came of them is kept.
    """
    calls = {batch.custom_id(place): call for place, call in enumerate(ledger.list_calls_of_batch(batch.id))}
    asked = {call.id: call for call in calls.values()}
    price = find_price(batch.provider, batch.model)
    ends: list[_End] = []
    cost = 0
    strangers = 0
    refusal: ProviderError | None = None
    try:
        async with aclosing(provider.results(provider_id)) as results:
            async for custom_id, result in results:
                # Of two lines with one name the first counts, and a line that nobody asked for not at all.
                call = calls.pop(custom_id, None)
                if call is None:
                    strangers += 1
                    continue
                if isinstance(result, ProviderError) and result.stops_run:
                    refusal = result
                end = _end(call, result, price)
                cost += end.cost
                ends.append((end, result if isinstance(result, Completion) else None))
                if len(ends) >= _GROUP:
                    _keep(ends, asked, ledger)
                    ends = []
    except ProviderError:
        _keep(ends, asked, ledger)
        raise
    ends += [(_lose(call), None) for call in calls.values()]
    _keep(ends, asked, ledger)
    said = f"{len(calls)} lines missing" if calls else ""
    if strangers:
        said = ", ".join(filter(None, (said, f"{strangers} lines that were not asked for")))
    ledger.note_batch(batch.id, "collected", provider_id, said)
    return Collected(cost, refusal)


def give_up(batch: ProviderBatch, ledger: Ledger, reason: str) -> None:
    """Keep that a batch was never accepted: its calls cost nothing and may be sent again."""
    calls = ledger.list_calls_of_batch(batch.id)
    ledger.end_calls([(_state(call, "failed", NOT_ACCEPTED, reason), None) for call in calls])
    ledger.note_batch(batch.id, "refused", None, reason)


def write_off(batch: ProviderBatch, provider_id: str, ledger: Ledger, reason: str) -> int:
    """Keep that nothing more can be had of a batch that may have been paid.

    Returns:
        What it may have cost, in micro-dollars.
    """
    calls = ledger.list_calls_of_batch(batch.id)
    ends = [_state(call, "lost", "batch_gone", reason, cost=call.estimated_cost) for call in calls]
    ledger.end_calls([(end, None) for end in ends])
    ledger.note_batch(batch.id, "collected", provider_id, reason)
    return sum(end.cost for end in ends)


def _keep(ends: list[_End], asked: Mapping[str, Call], ledger: Ledger) -> None:
    """Commit `ends`; an answer that no column takes is lost, and costs the others nothing."""
    try:
        ledger.end_calls(ends)
        return
    except StoreError as error:
        if error.fault.code not in UNSTORABLE:
            raise
    for end, answer in ends:
        try:
            ledger.end_calls([(end, answer)])
        except StoreError as error:
            if error.fault.code not in UNSTORABLE:
                raise
            call = asked[end.call_id]
            lost = _state(call, "lost", "unstorable_answer", error.fault.message, cost=call.estimated_cost)
            ledger.end_calls([(lost, None)])


def _end(call: Call, result: Completion | ProviderError, price: Price | None) -> CallEnd:
    if isinstance(result, Completion):
        cost = price.cost(result.usage, batch=True) if price is not None else 0
        return _state(call, "answered", usage=result.usage, cost=cost)
    if result.stops_run:
        # Nobody looked at the request, and it is no reason to doubt it: a run that can pay sends it again.
        return _state(call, "failed", NOT_ACCEPTED, result.fault.message)
    # Providers charge for answers: also for one that arrives spoilt, but not for a line without any.
    cost = call.estimated_cost if result.maybe_charged else 0
    outcome = "lost" if result.retryable else "failed"
    return _state(call, outcome, result.fault.code, result.fault.message, cost=cost)


def _lose(call: Call) -> CallEnd:
    return _state(call, "lost", "batch_line_missing", "the batch ended without this line")


def _state(
    call: Call, outcome: str, code: str = "", message: str = "", *, usage: Usage | None = None, cost: int = 0
) -> CallEnd:
    values: Mapping[str, object] = {
        "call_id": call.id,
        "outcome": outcome,
        "code": code,
        "message": message,
        "seconds": max(0.0, (datetime.now(UTC) - call.started_at).total_seconds()),
        "usage": usage if usage is not None else Usage(),
        "cost": cost,
    }
    return CallEnd.model_validate(values)
