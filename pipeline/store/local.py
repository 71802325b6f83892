"""The transport of the process that owns the database file."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.store.connection import connect
from pipeline.store.desk_rows import event_body, event_commands, record_body, record_commands
from pipeline.store.errors import StoreError, explain
from pipeline.store.journal import Journal
from pipeline.store.lanes import Lanes
from pipeline.store.presence import Presence
from pipeline.store.queries import QUERIES
from pipeline.store.reader import Reader
from pipeline.store.recovery import count_rows, decision_body, mark, recover
from pipeline.store.rows import decision_commands
from pipeline.store.schema import create, migrate
from pipeline.store.snapshot import publish_snapshot
from pipeline.store.tables import TABLES
from pipeline.store.transport import Command, Row
from pipeline.types import Decision, DeskEvent, Review

__all__ = ["LocalTransport", "journal_path"]

_CACHED_ROWS = 512


def journal_path(path: Path) -> Path:
    """Return where the journal of the database at `path` lies."""
    return path.with_name(path.name + ".journal.jsonl")


class LocalTransport:
    """DuckDB, the writer thread and the journal of one database, for any number of threads."""

    def __init__(self, path: Path) -> None:
        """Open the database at `path`, bring its schema up to date and compare it with its journal.

        Raises:
            StoreError: If it cannot be opened, belongs to a newer release, or is damaged.
        """
        self._path = path
        create(path)
        self._connection = connect(path)
        self._journaling = threading.Lock()
        self._recording = threading.Lock()
        self._cache: OrderedDict[tuple[str, tuple[Any, ...]], Row] = OrderedDict()
        self._cache_lock = threading.Lock()
        try:
            migrate(self._connection, path)
            self._journal = Journal(journal_path(path))
            self._reader = Reader(self._connection, path)
            self._lanes = Lanes(self._connection, path)
            self._recovery = recover(self._journal, self._reader, self._lanes)
            self._presence = Presence(self._reader, self._lanes)
        except BaseException:
            self._connection.close()
            raise

    @property
    def is_owner(self) -> bool:
        """Always: this is the owner."""
        return True

    def select(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Commit what the query would miss, then run it."""
        named = QUERIES[query]
        first = parameters[0] if named.keyed else None
        self._lanes.settle(named.tables, first)
        return self._reader.select(query, parameters)

    def find(self, table: str, key: Sequence[Any]) -> Row | None:
        """Look in memory, among the rows on their way to the disk, then in the table."""
        place = (table, tuple(key))
        if TABLES[table].sparse and not self._presence.may_hold(*place):
            return None
        with self._cache_lock:
            if (cached := self._cache.get(place)) is not None:
                self._cache.move_to_end(place)
                return cached
        row = self._lanes.find(*place)
        if row is None:
            row = self._reader.find(table, key)
        if row is not None and TABLES[table].cached:
            with self._cache_lock:
                self._cache[place] = row
                if len(self._cache) > _CACHED_ROWS:
                    self._cache.popitem(last=False)
        return row

    def write(self, commands: Sequence[Command], *, wait: bool = False) -> None:
        """Queue `commands` for the next group."""
        ticket = self._lanes.submit(commands)
        # Not before: whoever learns the keys meanwhile would miss rows that are neither noted nor submitted.
        self._presence.note(commands)
        if wait:
            self._lanes.wait(ticket)

    def flush(self) -> None:
        """Wait for the writers."""
        self._lanes.wait()

    def decide(self, decision: str) -> None:
        """Journal the decision, then store it; the same decision again is no second one."""
        made = Decision.model_validate_json(decision)
        with self._journaling:
            row = self.find("reviews", [made.review_id])
            if row is None:
                raise StoreError("unknown_review", f"there is no review {made.review_id}")
            if earlier := self.find("decisions", [made.review_id]):
                known = Decision.model_validate_json(earlier[-1])
                if known == made:
                    return
                raise StoreError(
                    "already_decided",
                    f"{made.review_id} was already decided by {known.reviewer} on "
                    f"{known.decided_at:%Y-%m-%d %H:%M}; a decision is never overwritten",
                )
            self._lanes.settle(("reviews",), made.review_id)
            review = Review.model_validate_json(row[-1])
            entry = self._journal.append("decision", decision_body(review, made))
            self.write([*decision_commands(made), mark(entry)], wait=True)

    def record(self, events: Sequence[str], *, wait: bool = True) -> None:
        """Journal a person's work, then store the events; those that are known are not stored again."""
        made = [DeskEvent.model_validate_json(event) for event in events]
        # Not the lock of decisions: nobody at the desk waits while a batch is closed or a copy is made.
        with self._recording:
            new = self._sift(made)
            reviews = {event.id: self._review_of(event) for event in new if event.is_journalled}
            commands: list[Command] = []
            for event in new:
                commands += event_commands(event)
                if event.is_journalled:
                    commands.append(mark(self._journal.append("desk", event_body(event, reviews[event.id]))))
            if commands:
                self.write(commands)
        # Also where nothing is new: what was known may still be on its way.
        if wait or any(event.is_journalled for event in made):
            self._lanes.wait_for_people()

    def vouch(self, kind: str, key: str, record: str) -> None:
        """Journal the record, then store it."""
        commands = record_commands(kind, key, record)
        with self._recording:
            known = self.find("desk_records", [kind, key])
            if known is None or known[-1] != record:
                entry = self._journal.append("record", record_body(kind, key, record))
                self.write([*commands, mark(entry)])
        # Also where nothing is new: what was known may still be on its way.
        self._lanes.wait_for_people()

    def _sift(self, events: Sequence[DeskEvent]) -> list[DeskEvent]:
        """Return those of `events` that are not known, each once; refuse one that contradicts a known one."""
        new: dict[str, DeskEvent] = {}
        for event in events:
            known = new.get(event.id)
            if known is None and (row := self.find("desk_events", [event.id])) is not None:
                known = DeskEvent.model_validate_json(row[-1])
            if known is None:
                new[event.id] = event
            elif known != event:
                raise StoreError(
                    "event_conflict",
                    f"event {event.id} is known already with another content: {known.action.kind} by "
                    f"{known.actor} on {known.review_id}; an event is never overwritten",
                )
        return list(new.values())

    def _review_of(self, event: DeskEvent) -> Review:
        self._lanes.settle(("reviews",), event.review_id)
        row = self.find("reviews", [event.review_id])
        if row is None:
            raise StoreError("unknown_review", f"there is no review {event.review_id}")
        return Review.model_validate_json(row[-1])

    def close_batch(self, batch_id: str) -> None:
        """Commit, then journal what the batch came to, then mark the entry as whole."""
        with self._journaling:
            self.flush()
            if self._reader.find("batches", [batch_id]) is None:
                raise StoreError("unknown_batch", f"there is no batch {batch_id}")
            results = {row[0]: list(row[1:]) for row in self._reader.select("closing_of_batch", [batch_id])}
            names = [row[0] for row in self._reader.select("gradings_of_batch", [batch_id])]
            body = {
                "batch_id": batch_id,
                "counts": count_rows(self._reader, names),
                "gradings": results,
                "hash": _combine(results),
            }
            last = self._recovery.closed.get(batch_id)
            if last is None or last.body != body or batch_id in self._recovery.incomplete:
                last = self._journal.append("batch", body)
                self._recovery.closed[batch_id] = last
            self.write([mark(last)], wait=True)
            self._recovery.incomplete.discard(batch_id)

    def is_batch_closed(self, batch_id: str) -> bool:
        """Whether the journal has its closing and the tables have its rows."""
        return batch_id in self._recovery.closed and batch_id not in self._recovery.incomplete

    def snapshot(self) -> str:
        """Commit everything and publish a copy."""
        with self._journaling:
            self.flush()
            return str(publish_snapshot(self._reader, self._path))

    def list_notices(self) -> list[str]:
        """Return what opening found."""
        return list(self._recovery.notices)

    def close(self) -> None:
        """Commit what is left and close the file."""
        try:
            self._lanes.close()
            # DuckDB may leave its log behind, where damage goes unseen; in the file blocks have checksums.
            self._connection.execute("CHECKPOINT")
        except duckdb.Error as error:
            raise explain(error, self._path) from error
        finally:
            self._reader.close()
            self._connection.close()


def _combine(results: dict[str, list[str]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(results):
        digest.update("\t".join([name, *results[name]]).encode() + b"\n")
    return digest.hexdigest()
