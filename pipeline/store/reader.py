"""Reading a DuckDB file from many threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from pipeline.store.errors import StoreError, explain
from pipeline.store.queries import QUERIES
from pipeline.store.tables import TABLES
from pipeline.store.transport import Row

__all__ = ["Reader"]


class Reader:
    """Named queries on one open database; a connection refuses a second thread, so calls use cursors."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[duckdb.DuckDBPyConnection] = []

    def select(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of the named query."""
        return self._fetch(QUERIES[query].sql, parameters)

    def find(self, table: str, key: Sequence[Any]) -> Row | None:
        """Return the committed row of `table` under `key`, or None."""
        looked_in, wanted = TABLES[table], tuple(key)
        rows = self._fetch(looked_in.lookup, [wanted[looked_in.key.index(looked_in.looked_up_by)]])
        return next((row for row in rows if looked_in.key_of(row) == wanted), None)

    def list_keys(self, table: str) -> list[object]:
        """Return, of every committed row of `table`, the value that it is looked up by."""
        return [row[0] for row in self._fetch(TABLES[table].list_keys, [])]

    def _fetch(self, sql: str, parameters: Sequence[Any]) -> list[Row]:
        try:
            with self.cursor() as cursor:
                rows: list[Row] = list(cursor.execute(sql, list(parameters)).fetchall())
                return rows
        except duckdb.ConnectionException as error:
            raise StoreError("closed", "the store is closed", where=str(self._path)) from error
        except duckdb.Error as error:
            raise explain(error, self._path) from error

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Lend a cursor of this database to the calling thread."""
        with self._lock:
            cursor = self._idle.pop() if self._idle else self._connection.cursor()
        try:
            yield cursor
        finally:
            with self._lock:
                self._idle.append(cursor)

    def close(self) -> None:
        """Let go of every idle cursor."""
        with self._lock:
            for cursor in self._idle:
                cursor.close()
            self._idle.clear()
