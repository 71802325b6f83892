"""How calls to models become rows."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.store.errors import StoreError
from pipeline.store.records import BatchEvent
from pipeline.store.storable import checked, require_zone, to_json
from pipeline.store.transport import Command, Row
from pipeline.types import Call, CallEnd, Completion, ProviderBatch

__all__ = ["Asked", "call_commands", "end_commands", "event_commands", "provider_batch_commands"]

#: More tokens, or micro-dollars (a million dollars), than any call has. A server that reports more is broken,
#: and a number that no column holds would cost everybody whose rows are committed with it.
_MOST = 10**12


class Asked(NamedTuple):
    """What the end of a call has to know of its beginning."""

    key: str
    provider: str
    model: str


def call_commands(calls: Iterable[Call]) -> list[Command]:
    """Return what stores `calls`.

    Raises:
        StoreError: If one cannot be stored.
    """
    return checked("calls", [_call_row(call) for call in calls])


def end_commands(ends: Sequence[tuple[CallEnd, Completion | None]], asked: dict[str, Asked]) -> list[Command]:
    """Return what stores `ends` and the answers that came with them; `asked` has every call by its id.

    Raises:
        StoreError: If one cannot be stored.
    """
    answers = [
        (*asked[end.call_id], end.call_id, to_json(answer)) for end, answer in ends if answer is not None
    ]
    return checked("call_ends", [_end_row(end) for end, _ in ends]) + checked("answers", answers)


def provider_batch_commands(batch: ProviderBatch, calls: Sequence[Call]) -> list[Command]:
    """Return what stores `batch` with its calls.

    Raises:
        StoreError: If one cannot be stored, or the calls are not those of the batch.
    """
    if [call.key for call in calls] != list(batch.keys) or {call.batch_id for call in calls} - {batch.id}:
        raise StoreError("other_calls", f"the calls given with {batch.id} are not those that it lists")
    if len(set(batch.keys)) < len(batch.keys):
        raise StoreError("asked_twice", f"{batch.id} asks the same twice", remedy="ask each key once")
    require_zone(batch.created_at, f"{batch.id}: the time of its making")
    row = (batch.id, batch.provider, batch.model, batch.created_at, to_json(batch))
    return checked("provider_batches", [row]) + call_commands(calls)


def event_commands(batch_id: str, event: BatchEvent, provider_id: str | None, message: str) -> list[Command]:
    """Return what notes `event` of a provider batch.

    Raises:
        StoreError: If it cannot be stored.
    """
    row = (f"pe-{secrets.token_hex(8)}", batch_id, event, provider_id, message)
    return checked("provider_batch_events", [row])


def _call_row(call: Call) -> Row:
    require_zone(call.started_at, f"{call.id}: the time of its start")
    _check_amounts(call.id, estimated_cost=call.estimated_cost)
    return (
        call.id,
        call.key,
        call.grading_id,
        call.submission_id,
        call.criteria,
        call.role,
        call.provider,
        call.model,
        call.batch_id,
        call.started_at,
        call.estimated_cost,
        to_json(call),
    )


def _end_row(end: CallEnd) -> Row:
    usage = end.usage
    tokens = (
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
    )
    _check_amounts(end.call_id, cost=end.cost, **usage.model_dump())
    return (end.call_id, end.outcome, end.code, end.message, end.seconds, *tokens, end.cost)


def _check_amounts(call_id: str, **amounts: int) -> None:
    for name, amount in amounts.items():
        if not 0 <= amount <= _MOST:
            raise StoreError(
                "bad_amount", f"{call_id}: {name} is {amount}, which is not between 0 and {_MOST}"
            )
