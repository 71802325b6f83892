"""Snapshots: a whole copy of the database that any number of readers may open."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import duckdb

from pipeline.store.connection import connect
from pipeline.store.errors import StoreError, explain
from pipeline.store.reader import Reader
from pipeline.store.transport import Command, Row

__all__ = ["SnapshotTransport", "publish_snapshot", "snapshot_path"]


def snapshot_path(path: Path) -> Path:
    """Return where the snapshot of the database at `path` lies."""
    return path.with_name(path.name + ".snapshot")


def publish_snapshot(reader: Reader, path: Path) -> Path:
    """Copy the open database at `path` and put the copy in the place of the last one in one step.

    Raises:
        StoreError: If it cannot be written.
    """
    target = snapshot_path(path)
    draft = target.with_name(target.name + ".part")
    try:
        # A kill in the middle leaves one behind; only the owner publishes, so nobody else is writing it.
        for leftover in (draft, draft.with_name(draft.name + ".wal")):
            leftover.unlink(missing_ok=True)
        with reader.cursor() as cursor:
            row = cursor.execute("SELECT current_database()").fetchone()
            source = _quote(str(row[0]) if row else "", '"')
            cursor.execute(f"ATTACH {_quote(str(draft), chr(39))} AS snapshot_draft")
            try:
                cursor.execute(f"COPY FROM DATABASE {source} TO snapshot_draft")
            finally:
                cursor.execute("DETACH snapshot_draft")
        draft.replace(target)
    except (duckdb.Error, OSError) as error:
        raise explain(error, target) from error
    finally:
        draft.unlink(missing_ok=True)
    return target


def _quote(name: str, mark: str) -> str:
    # ATTACH and COPY take no parameters.
    return mark + name.replace(mark, mark * 2) + mark


class SnapshotTransport:
    """Reads the latest snapshot, for a reader that the owner does not answer."""

    def __init__(self, path: Path, why: str) -> None:
        """Open the snapshot of the database at `path`; `why` says in words why not the database itself.

        Raises:
            StoreError: If there is none, or it cannot be read.
        """
        self._path = snapshot_path(path)
        if not self._path.exists():
            raise StoreError(
                "no_snapshot",
                f"{why}, and there is no snapshot to read instead",
                where=str(path),
                remedy="try again when the other process has ended",
            )
        age = _in_words(max(0.0, time.time() - self._path.stat().st_mtime))
        self._notices = [f"{path.name}: {why}: reading the snapshot of {age} ago"]
        self._connection = connect(self._path, read_only=True)
        self._reader = Reader(self._connection, self._path)

    @property
    def is_owner(self) -> bool:
        """Never."""
        return False

    def select(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run the query on the snapshot."""
        return self._reader.select(query, parameters)

    def find(self, table: str, key: Sequence[Any]) -> Row | None:
        """Look in the snapshot."""
        return self._reader.find(table, key)

    def write(self, commands: Sequence[Command], *, wait: bool = False) -> None:
        """Refuse."""
        self._refuse()

    def flush(self) -> None:
        """Nothing is ever on its way."""

    def decide(self, decision: str) -> None:
        """Refuse."""
        self._refuse()

    def record(self, events: Sequence[str], *, wait: bool = True) -> None:
        """Refuse."""
        self._refuse()

    def vouch(self, kind: str, key: str, record: str) -> None:
        """Refuse."""
        self._refuse()

    def close_batch(self, batch_id: str) -> None:
        """Refuse."""
        self._refuse()

    def is_batch_closed(self, batch_id: str) -> bool:
        """Whether it was closed when the snapshot was made."""
        return bool(self.select("closings", [batch_id]))

    def snapshot(self) -> str:
        """Return the snapshot that is being read."""
        return str(self._path)

    def list_notices(self) -> list[str]:
        """Return the age of what is read, in words."""
        return list(self._notices)

    def close(self) -> None:
        """Close the snapshot."""
        self._reader.close()
        self._connection.close()

    def _refuse(self) -> NoReturn:
        raise StoreError("read_only", "a snapshot is only for reading", where=str(self._path))


def _in_words(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "a moment"
