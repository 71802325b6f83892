"""The seam between the typed store and whoever holds the database file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

__all__ = ["Command", "Execute", "Insert", "Row", "Transport"]

#: One row; values are str, int, float, bool, bytes, datetime, lists of these, or None.
Row = Sequence[Any]


class Insert(msgspec.Struct, frozen=True, tag="insert", array_like=True):
    """Rows for one table; those whose key is already there are ignored, or replace it."""

    table: str
    rows: list[Row]
    replace: bool = False


class Execute(msgspec.Struct, frozen=True, tag="execute", array_like=True):
    """A named statement of `pipeline.store.queries.STATEMENTS`."""

    statement: str
    parameters: list[Any]


Command = Insert | Execute


class Transport(Protocol):
    """The few primitives that every typed method of the store is made of.

    Names of tables, queries and statements are ours; only parameters and rows carry data. Every primitive may
    be repeated after a lost connection without harm.
    """

    @property
    def is_owner(self) -> bool:
        """Whether this process holds the database file."""

    def select(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a named query; it sees every earlier write, committed or not."""

    def find(self, table: str, key: Sequence[Any]) -> Row | None:
        """Return the row of `table` under `key` (the newest where a key may repeat), or None."""

    def write(self, commands: Sequence[Command], *, wait: bool = False) -> None:
        """Do all of `commands` or none, after every earlier write; with `wait`, return once committed."""

    def flush(self) -> None:
        """Return once every earlier write is committed."""

    def decide(self, decision: str) -> None:
        """Journal and store a decision (JSON of `pipeline.types.Decision`).

        Raises:
            StoreError: If the review is unknown or already decided otherwise.
        """

    def record(self, events: Sequence[str], *, wait: bool = True) -> None:
        """Store events of the review desk (JSON of `pipeline.types.DeskEvent`), journalling a person's work.

        Known ids are ignored. Committed on return with `wait`, and always where another process is the owner.

        Raises:
            StoreError: If an id is known with another content, or a person's work is on an unknown review.
        """

    def vouch(self, kind: str, key: str, record: str) -> None:
        """Journal a small record (JSON) and store it as the newest of its kind and key; committed on return.

        The very same one again is ignored.
        """

    def close_batch(self, batch_id: str) -> None:
        """Commit everything and journal the batch's row counts and hashes.

        Raises:
            StoreError: If the batch is unknown.
        """

    def is_batch_closed(self, batch_id: str) -> bool:
        """Whether the batch was closed and all of its rows are still there."""

    def snapshot(self) -> str:
        """Publish a copy of the database for readers, and return its path."""

    def list_notices(self) -> list[str]:
        """Return what opening found, one line each."""

    def close(self) -> None:
        """Commit everything and let go of the database."""
