"""The writer keeps groups whole, however often the same content is brought."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from pipeline.store import open_store
from pipeline.store.connection import connect
from pipeline.store.lanes import Lanes
from pipeline.store.tables import TABLES
from pipeline.store.transport import Insert
from pipeline.store.writer import Writer
from tests.store.examples import submission

BY_CONTENT = sorted(name for name, table in TABLES.items() if table.by_content)
ROWS = {
    "artifacts": ("aa" * 32, "text/plain", 1, b"x"),
    "documents": ("bb" * 32, "rubric", "clarity", "v1", "be clear"),
}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    path = tmp_path / "store.duckdb"
    open_store(path).close()
    with connect(path) as connection:
        yield connection


@pytest.mark.parametrize("table", BY_CONTENT)
def test_content_that_is_there_undoes_a_group_once_and_never_again(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone = []
    slow = Writer._insert
    monkeypatch.setattr(Writer, "_insert", lambda self, insert: (undone.append(insert), slow(self, insert)))
    same = Insert(table, [ROWS[table]])
    for _ in range(2):
        # A writer that begins knows nothing of what earlier ones brought.
        writer = Writer(database.cursor(), tmp_path)
        for _ in range(3):
            writer.wait(writer.submit([same]))
        writer.close()
    assert [insert.table for insert in undone] == [table]
    assert database.sql(f"SELECT count(*) FROM {table}").fetchall() == [(1,)]


def test_rows_beside_known_content_are_kept(database: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    writer = Writer(database.cursor(), tmp_path)
    known = Insert("artifacts", [ROWS["artifacts"]])
    writer.wait(writer.submit([known]))
    new = Insert("artifacts", [ROWS["artifacts"], ("cc" * 32, "text/plain", 1, b"y")])
    writer.wait(writer.submit([known, Insert("journal_marks", [("h", 1, "desk", "r")]), new]))
    writer.close()
    assert database.sql("SELECT sha256[:2] FROM artifacts ORDER BY 1").fetchall() == [("aa",), ("cc",)]
    assert database.sql("SELECT hash FROM journal_marks").fetchall() == [("h",)]


def test_people_do_not_wait_for_the_rows_of_a_batch(
    database: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_on, held = threading.Event(), Writer._commit

    def commit(self: Writer, group: object) -> object:
        if group.find("submissions", ("s-a",)):  # type: ignore[attr-defined]
            assert let_on.wait(60)
        return held(self, group)  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "_commit", commit)
    lanes = Lanes(database, tmp_path)
    made = submission("a")
    lanes.submit([Insert("submissions", [(made.id, made.task_id, None, made.model_dump_json())])])
    lanes.submit([Insert("desk_records", [("kind", "key", "{}")])])
    lanes.wait_for_people()
    assert database.sql("SELECT kind FROM desk_records").fetchall() == [("kind",)]
    assert database.sql("SELECT count(*) FROM submissions").fetchall() == [(0,)]
    let_on.set()
    lanes.wait()
    lanes.close()
    assert database.sql("SELECT id FROM submissions").fetchall() == [("s-a",)]
