"""The ledger of calls to models: what was asked, what came back, and what it cost.

A call is two rows. The first says that it is about to be sent and is committed before it is; the second says
what became of it. So a call without a second row may have been paid, whatever killed the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from pipeline.store.errors import StoreError
from pipeline.store.ledger_rows import (
    Asked,
    call_commands,
    end_commands,
    event_commands,
    provider_batch_commands,
)
from pipeline.store.records import (
    BatchEvent,
    CostLine,
    DoubtfulCall,
    ProviderBatchEvent,
    ProviderBatchState,
)
from pipeline.store.transport import Command, Row, Transport
from pipeline.types import Call, CallEnd, Completion, ProviderBatch, Usage

__all__ = ["CostGroup", "Ledger", "Write"]

#: What costs can be listed by. ``day`` is the UTC day on which a call started.
CostGroup = Literal["day", "provider", "model", "role", "submission", "criterion", "grading"]


class Write(Protocol):
    """How the parts of a store write: refused where it is read-only."""

    def __call__(self, commands: Sequence[Command], *, wait: bool = False) -> None:
        """Queue `commands`; with `wait`, return once they are committed."""


class Ledger:
    """The calls of one store; any number of threads may use it, as they may the store.

    Every write raises StoreError when the store is read-only or closed, and when a text holds a lone
    surrogate, a time has no time zone, or an amount is negative or absurd; nothing of that call is written.
    """

    def __init__(self, transport: Transport, write: Write) -> None:
        """Read through `transport` and write through `write`, the store's own."""
        self._transport = transport
        self._write = write
        self._live: dict[str, Asked] = {}

    def begin_calls(self, calls: Sequence[Call], *, wait: bool = True) -> None:
        """Keep `calls` before they are sent; with `wait`, committed on return."""
        if not calls:
            return
        self._write(call_commands(calls), wait=wait)
        # An end comes soon, from this process, and needs no question to the database.
        self._live.update((call.id, Asked(call.key, call.provider, call.model)) for call in calls)

    def end_calls(self, ends: Sequence[tuple[CallEnd, Completion | None]], *, wait: bool = True) -> None:
        """Keep what became of calls, each with the answer that came; with `wait`, committed on return.

        End and answer are committed together or not at all. The first end of a call stays, and so does the
        first answer of a key.

        Raises:
            StoreError: If a call never began.
        """
        if not ends:
            return
        self._write(end_commands(ends, self._find_asked([end.call_id for end, _ in ends])), wait=wait)
        for end, _ in ends:
            self._live.pop(end.call_id, None)

    def find_answer(self, key: str) -> Completion | None:
        """Return the first answer to the request with that content key, committed or not, or None."""
        row = self._transport.find("answers", [key])
        return Completion.model_validate_json(row[-1]) if row is not None else None

    def spent(self, since: datetime | None = None) -> int:
        """Return what calls that started at or after `since` (default: ever) cost, in micro-dollars.

        A call without an end counts with its estimate.

        Raises:
            StoreError: If `since` has no time zone.
        """
        if since is not None and since.tzinfo is None:
            raise StoreError("no_time_zone", "a time to count from needs a time zone")
        return int(self._select("spent", since)[0][0])

    def open_calls(self) -> list[Call]:
        """Return calls without an end, oldest first.

        They were in flight when a process died and may be paid twice, or they are in flight now, here or in
        another process, or wait in a provider batch.
        """
        return [Call.model_validate_json(body) for (body,) in self._select("open_calls")]

    def list_costs(self, by: CostGroup) -> list[CostLine]:
        """Return what calls took, one line per value of `by`, in the order of the values.

        The sums over all lines are the same whatever `by` is, but for the counts of calls by criterion: a
        call that asks about several counts once for each. Its cost and tokens are split evenly, and what does
        not divide goes, one by one, to the criteria that it names first. One that names none stands under
        ``""``.
        """
        found = self._select("costs_by_criterion") if by == "criterion" else self._select("costs", by)
        return [CostLine(**dict(zip(CostLine.model_fields, row, strict=True))) for row in found]

    # Provider batches

    def intend_batch(self, batch: ProviderBatch, calls: Sequence[Call]) -> None:
        """Keep a batch and its calls before it is sent, committed together on return.

        Args:
            batch: Lists the key of each call, in the order of `calls`, none twice.
            calls: With the batch's id.

        Raises:
            StoreError: If the calls are not those of the batch.
        """
        self._write(provider_batch_commands(batch, calls), wait=True)

    def note_batch(
        self,
        batch_id: str,
        event: BatchEvent,
        provider_id: str | None = None,
        message: str = "",
        *,
        wait: bool = True,
    ) -> None:
        """Keep what became of a batch; with `wait`, committed on return.

        Raises:
            StoreError: If there is no such batch.
        """
        commands = event_commands(batch_id, event, provider_id, message)
        if self._transport.find("provider_batches", [batch_id]) is None:
            raise StoreError("unknown_batch", f"there is no provider batch {batch_id}")
        self._write(commands, wait=wait)

    def list_provider_batches(self) -> list[ProviderBatchState]:
        """Return every provider batch with what became of it, oldest first."""
        events: dict[str, list[ProviderBatchEvent]] = {}
        batches = [ProviderBatch.model_validate_json(body) for (body,) in self._select("provider_batches")]
        for batch_id, event, provider_id, message, at in self._select("provider_batch_events"):
            events.setdefault(batch_id, []).append(
                ProviderBatchEvent(
                    event=event, provider_id=provider_id, message=message, at=at.astimezone(UTC)
                )
            )
        return [_state_of(batch, events.get(batch.id, [])) for batch in batches]

    def list_calls_of_batch(self, batch_id: str) -> list[Call]:
        """Return the calls of a provider batch, each at its place; none of an unknown batch."""
        row = self._transport.find("provider_batches", [batch_id])
        if row is None:
            return []
        found = [
            Call.model_validate_json(body) for (body,) in self._select("calls_of_provider_batch", batch_id)
        ]
        calls = {call.key: call for call in found}
        return [calls[key] for key in ProviderBatch.model_validate_json(row[-1]).keys]

    def list_batch_ends(self, key: str) -> list[CallEnd]:
        """Return what became of the calls with that content key in provider batches, oldest first."""
        return [_read_end(row) for row in self._select("batch_ends", key)]

    def list_doubtful(self) -> list[DoubtfulCall]:
        """Return the calls that may have been paid without use, oldest first.

        Those are calls whose answer was lost, and calls that were under way when a process died and were
        asked again.
        """
        return [
            DoubtfulCall(**dict(zip(DoubtfulCall.model_fields, row, strict=True)))
            for row in self._select("doubtful_calls")
        ]

    def _select(self, query: str, *parameters: Any) -> list[Row]:
        return self._transport.select(query, parameters)

    def _find_asked(self, call_ids: Sequence[str]) -> dict[str, Asked]:
        asked = {name: known for name in call_ids if (known := self._live.get(name)) is not None}
        others = [name for name in call_ids if name not in asked]
        if others:
            asked |= {name: Asked(*values) for name, *values in self._select("calls_by_id", others)}
        for name in others:
            if name not in asked:
                raise StoreError("unknown_call", f"there is no call {name}: its beginning was never kept")
        return asked


def _read_end(row: Row) -> CallEnd:
    call_id, outcome, code, message, seconds, read, cache_read, cache_write, written, cost = row
    usage = Usage(
        input_tokens=read,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        output_tokens=written,
    )
    return CallEnd(
        call_id=call_id, outcome=outcome, code=code, message=message, seconds=seconds, usage=usage, cost=cost
    )


def _state_of(batch: ProviderBatch, events: Sequence[ProviderBatchEvent]) -> ProviderBatchState:
    stated = [event.provider_id for event in events if event.provider_id is not None]
    return ProviderBatchState(batch=batch, provider_id=stated[-1] if stated else None, events=tuple(events))
