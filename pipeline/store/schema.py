"""The schema and its migrations: ordered, each applied once, recorded in the database."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import duckdb

from pipeline.store.connection import connect
from pipeline.store.errors import StoreError, explain

__all__ = ["create", "migrate", "newest_version"]

_NAME = re.compile(r"(\d{3})_\w+\.sql")


def _migrations() -> list[tuple[int, str, str]]:
    found = []
    for entry in files("pipeline.store.migrations").iterdir():
        if match := _NAME.fullmatch(entry.name):
            found.append((int(match[1]), entry.name, entry.read_text(encoding="utf-8")))
    return sorted(found)


def newest_version() -> int:
    """Return the number of the newest migration that this release knows."""
    return _migrations()[-1][0]


def create(path: Path) -> None:
    """Make a database at `path` in one step, if there is none or an empty file.

    DuckDB makes the file first and fills it then; a kill in between would leave a file that nothing opens.

    Raises:
        StoreError: If it cannot be made.
    """
    if path.exists() and path.stat().st_size > 0:
        return
    draft = path.with_name(path.name + ".part")
    log = path.with_name(path.name + ".wal")
    try:
        for leftover in (draft, draft.with_name(draft.name + ".wal")):
            leftover.unlink(missing_ok=True)
        if log.exists():
            # The log of a database that is gone: it fits no other.
            log.replace(log.with_name(log.name + ".lost"))
        with connect(draft) as connection:
            migrate(connection, path)
            connection.execute("CHECKPOINT")
        draft.replace(path)
    except (duckdb.Error, OSError) as error:
        raise explain(error, path) from error


def migrate(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Bring the database at `path` to this release's schema, one transaction per migration.

    Raises:
        StoreError: If the database was written by a newer release, or holds tables of another program.
    """
    known = _migrations()
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if tables and "migrations" not in tables:
        raise StoreError(
            "foreign_database",
            "this database belongs to another program: it has tables but no grading schema",
            where=str(path),
            remedy="give another path for the database",
        )
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name VARCHAR NOT NULL,"
        " applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
    )
    done = {number for (number,) in connection.execute("SELECT number FROM migrations").fetchall()}
    newest = max(done, default=0)
    if newest > known[-1][0]:
        raise StoreError(
            "newer_schema",
            f"the database has schema {newest}, this release knows schemas up to {known[-1][0]}",
            where=str(path),
            remedy="use the release that wrote it, or a newer one",
        )
    for number, name, script in known:
        if number in done:
            continue
        connection.execute("BEGIN")
        try:
            connection.execute(script)
            connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", [number, name])
        except duckdb.Error:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
