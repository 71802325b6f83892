"""What the review desk keeps: events, drafts, activity, and small records such as accounts and settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pipeline.store.desk_rows import (
    activity_commands,
    draft_commands,
    event_commands,
    place_of_draft,
    record_commands,
)
from pipeline.store.ledger import Write
from pipeline.store.records import DeskItem, GradingSummary
from pipeline.store.rows import read_summary
from pipeline.store.storable import require_zone, to_json
from pipeline.store.transport import Row, Transport
from pipeline.types import Activity, DeskEvent, Frozen, Review, SavedDraft

__all__ = ["DeskRecords"]

Record = TypeVar("Record", bound=Frozen)


class DeskRecords:
    """The desk's part of one store; any number of threads may use it, as they may the store.

    Every write raises StoreError when the store is read-only or closed, and when a text holds a lone
    surrogate, a time has no time zone, or a number is absurd; nothing of that call is written.
    """

    def __init__(self, transport: Transport, write: Write, refuse_if_read_only: Callable[[], None]) -> None:
        """Read through `transport` and write through `write`, the store's own."""
        self._transport = transport
        self._write = write
        self._refuse_if_read_only = refuse_if_read_only

    # Events

    def record(self, events: Sequence[DeskEvent], *, wait: bool = True) -> None:
        """Keep `events`, in their order; with `wait`, committed on return.

        What `DeskEvent.is_journalled` names is in the journal before it is in the database, and on the
        disk when this returns, whatever `wait` says. An event whose id is known is ignored.

        Raises:
            StoreError: If the store is read-only or closed, an id is known with another content
                (``event_conflict``), or a person's work is on an unknown review; nothing is kept then.
        """
        self._refuse_if_read_only()
        for event in events:
            event_commands(event)
        if events:
            self._transport.record([to_json(event) for event in events], wait=wait)

    def flush(self) -> None:
        """Return once everything that people did so far is committed; what batches write is not waited for.

        Raises:
            StoreError: If it could not be.
        """
        self._transport.record([])

    def list_events(self, after: int = 0) -> list[tuple[int, DeskEvent]]:
        """Return events with their number in the order they were kept, those numbered after `after`."""
        return [
            (number, DeskEvent.model_validate_json(body))
            for number, body in self._select("desk_events", after)
        ]

    def list_events_of(self, review_id: str) -> list[DeskEvent]:
        """Return the events of a review, in the order they were kept."""
        found = self._select("desk_events_of_review", review_id)
        return [DeskEvent.model_validate_json(body) for (body,) in found]

    # The queue

    def list_items(self, after: int = 0) -> list[tuple[int, DeskItem]]:
        """Return what is in the queue or was, each with its number in the order it came, after `after`.

        A review whose grading was lost is left out.
        """
        return [(row[0], _read_item(row)) for row in self._select("desk_items", after)]

    def list_accepted(self, after: int = 0) -> list[tuple[int, GradingSummary]]:
        """Return gradings whose grade stands alone, each with its number in the order grades were kept.

        Those are the graded ones without any review, routed or audit, numbered after `after`.
        """
        return [(number, read_summary(row)) for number, *row in self._select("desk_accepted", after)]

    def list_authors(self, submission_ids: Collection[str]) -> dict[str, str]:
        """Return by submission the first author that it was declared to be of; nothing where nobody said."""
        found = self._select("declared_authors", sorted(submission_ids))
        return {row[0]: row[1] for row in found}

    def list_decided_ids(self) -> set[str]:
        """Return ids of all reviews that have a decision."""
        return {row[0] for row in self._select("desk_decided")}

    # Drafts and activity

    def save_draft(self, draft: SavedDraft, *, wait: bool = True) -> None:
        """Keep a draft as the newest of its place and account."""
        require_zone(draft.saved_at, f"the draft of {draft.account} on {draft.review_id}: its time")
        self._write(draft_commands(draft), wait=wait)

    def find_draft(self, review_id: str, slot: int, account: str) -> SavedDraft | None:
        """Return the draft that was kept last, committed or not, or None."""
        row = self._transport.find("desk_drafts", [place_of_draft(review_id, slot, account)])
        return SavedDraft.model_validate_json(row[-1]) if row is not None else None

    def add_activity(self, activity: Activity) -> None:
        """Keep a stretch of work; the very same one again is ignored."""
        self._write(activity_commands(activity))

    def list_activity(self, account: str | None = None, since: datetime | None = None) -> list[Activity]:
        """Return stretches of work that began at or after `since`, oldest first.

        Args:
            account: Whose; None for everybody's.
            since: Default: ever.
        """
        if since is not None:
            require_zone(since, "a time to list work from")
        found = self._select("desk_activity", account, since)
        return [Activity.model_validate_json(body) for (body,) in found]

    # Small records: the newest under a key counts, the older ones stay

    def save_record(self, kind: str, key: str, record: Frozen, *, wait: bool = True) -> None:
        """Keep `record` as the newest of its kind and key, such as ``account`` and a name."""
        self._write(record_commands(kind, key, to_json(record)), wait=wait)

    def vouch(self, kind: str, key: str, record: Frozen) -> None:
        """Keep `record` as `save_record` does, in the journal first: no loss of the database undoes it."""
        self._refuse_if_read_only()
        text = to_json(record)
        record_commands(kind, key, text)
        self._transport.vouch(kind, key, text)

    def find_record(self, kind: str, key: str, model: type[Record]) -> Record | None:
        """Return the newest record of a kind and key, committed or not, or None."""
        row = self._transport.find("desk_records", [kind, key])
        return model.model_validate_json(row[-1]) if row is not None else None

    def list_records(self, kind: str, model: type[Record]) -> list[Record]:
        """Return the newest record of every key of a kind, by key."""
        return [model.model_validate_json(body) for (body,) in self._select("desk_records", kind)]

    def _select(self, query: str, *parameters: Any) -> list[Row]:
        return self._transport.select(query, parameters)


def _read_item(row: Row) -> DeskItem:
    _, body, submission_id, task_id, origin, author, destination, verdict, rubric, confidence, decided = row
    return DeskItem(
        review=Review.model_validate_json(body),
        submission_id=submission_id,
        task_id=task_id,
        origin=origin or "",
        author=author or "",
        destination=destination,
        verdict=verdict,
        rubric=rubric or "",
        decided=decided,
        confidence=confidence,
    )
