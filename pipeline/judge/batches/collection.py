"""Bring the answers of an ended batch home: whatever came is kept, whatever did not is named."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from pipeline.judge.providers.models import Price, find_price
from pipeline.judge.providers.provider import BatchProvider, ProviderError
from pipeline.store import Ledger
from pipeline.types import Call, CallEnd, Completion, ProviderBatch, Usage

__all__ = ["collect", "give_up"]

#: Ends that are committed together.
_GROUP: Final = 500

_End = tuple[CallEnd, Completion | None]


async def collect(batch: ProviderBatch, provider_id: str, provider: BatchProvider, ledger: Ledger) -> int:
    """Keep every answer of an ended batch and say of every other line that it is lost.

    May be repeated after a crash half-way: what is kept stays as it is.

    Returns:
        What the batch cost, in micro-dollars.

    Raises:
        ProviderError: If the results cannot be read to their end.
    """
    calls = {batch.custom_id(place): call for place, call in enumerate(ledger.list_calls_of_batch(batch.id))}
    price = find_price(batch.provider, batch.model)
    ends: list[_End] = []
    cost = 0
    strangers = 0
    async for custom_id, result in provider.results(provider_id):
        # Of two lines with one name the first counts, and a line that nobody asked for not at all.
        call = calls.pop(custom_id, None)
        if call is None:
            strangers += 1
            continue
        end = _end(call, result, price)
        cost += end.cost
        ends.append((end, result if isinstance(result, Completion) else None))
        if len(ends) >= _GROUP:
            ledger.end_calls(ends)
            ends = []
    ends += [(_lose(call), None) for call in calls.values()]
    ledger.end_calls(ends)
    said = f"{len(calls)} lines missing" if calls else ""
    if strangers:
        said = ", ".join(filter(None, (said, f"{strangers} lines that were not asked for")))
    ledger.note_batch(batch.id, "collected", provider_id, said)
    return cost


def give_up(batch: ProviderBatch, ledger: Ledger, reason: str) -> None:
    """Keep that a batch was never accepted: its calls cost nothing and may be sent again."""
    calls = ledger.list_calls_of_batch(batch.id)
    ledger.end_calls(
        [
            (_state(call, "failed", "not_accepted", reason, Usage(), 0), None)
            for call in calls
        ]
    )  # fmt: skip
    ledger.note_batch(batch.id, "refused", None, reason)


def _end(call: Call, result: Completion | ProviderError, price: Price | None) -> CallEnd:
    if isinstance(result, Completion):
        cost = price.cost(result.usage, batch=True) if price is not None else 0
        return _state(call, "answered", "", "", result.usage, cost)
    outcome = "lost" if result.retryable else "failed"
    return _state(call, outcome, result.fault.code, result.fault.message, Usage(), 0)


def _lose(call: Call) -> CallEnd:
    """A line that never came back: providers charge for answers, so it cost nothing."""
    return _state(call, "lost", "batch_line_missing", "the batch ended without this line", Usage(), 0)


def _state(call: Call, outcome: str, code: str, message: str, usage: Usage, cost: int) -> CallEnd:
    values: Mapping[str, object] = {
        "call_id": call.id,
        "outcome": outcome,
        "code": code,
        "message": message,
        "seconds": max(0.0, (datetime.now(UTC) - call.started_at).total_seconds()),
        "usage": usage,
        "cost": cost,
    }
    return CallEnd.model_validate(values)
