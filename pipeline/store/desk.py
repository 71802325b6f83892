"""What the review desk keeps: events, drafts, activity, and small records such as accounts and settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from pipeline.store.ledger import Write
from pipeline.store.records import DeskItem
from pipeline.store.transport import Transport
from pipeline.types import Activity, DeskEvent, Frozen, SavedDraft

__all__ = ["DeskRecords"]

Record = TypeVar("Record", bound=Frozen)


class DeskRecords:
    """The desk's part of one store; any number of threads may use it, as they may the store."""

    def __init__(self, transport: Transport, write: Write) -> None:
        """Read through `transport` and write through `write`, the store's own."""
        self._transport = transport
        self._write = write

    # Events

    def record(self, events: Sequence[DeskEvent], *, wait: bool = True) -> None:
        """Keep `events`, in their order; with `wait`, committed on return.

        A person's work (`DeskEvent.is_human_work`) is in the journal before it is in the database, and on the
        disk when this returns, whatever `wait` says. An event whose id is known is ignored.

        Raises:
            StoreError: If the store is read-only or closed, or an id is known with another content.
        """
        raise NotImplementedError

    def list_events(self, after: int = 0) -> list[tuple[int, DeskEvent]]:
        """Return events with their number in the order they were kept, those numbered after `after`."""
        raise NotImplementedError

    def list_events_of(self, review_id: str) -> list[DeskEvent]:
        """Return the events of a review, in the order they were kept."""
        raise NotImplementedError

    def list_items(self, known: Iterable[str] = ()) -> list[DeskItem]:
        """Return what is in the queue or was, oldest first, but for reviews whose ids are `known`."""
        raise NotImplementedError

    def list_decided_ids(self) -> set[str]:
        """Return ids of all reviews that have a decision."""
        raise NotImplementedError

    # Drafts and activity

    def save_draft(self, draft: SavedDraft, *, wait: bool = True) -> None:
        """Keep a draft as the newest of its place and account."""
        raise NotImplementedError

    def find_draft(self, review_id: str, slot: int, account: str) -> SavedDraft | None:
        """Return the newest draft, or None."""
        raise NotImplementedError

    def add_activity(self, activity: Activity) -> None:
        """Keep a stretch of work."""
        raise NotImplementedError

    def list_activity(self, account: str | None = None, since: datetime | None = None) -> list[Activity]:
        """Return stretches of work, oldest first; of everybody, or of one account."""
        raise NotImplementedError

    # Small records: the newest under a key counts, the older ones stay

    def save_record(self, kind: str, key: str, record: Frozen, *, wait: bool = True) -> None:
        """Keep `record` as the newest of its kind and key, such as ``account`` and a name."""
        raise NotImplementedError

    def find_record(self, kind: str, key: str, model: type[Record]) -> Record | None:
        """Return the newest record of a kind and key, or None."""
        raise NotImplementedError

    def list_records(self, kind: str, model: type[Record]) -> list[Record]:
        """Return the newest record of every key of a kind, by key."""
        raise NotImplementedError
