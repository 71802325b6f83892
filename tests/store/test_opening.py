"""Opening: what is made, what is refused, and in which words."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from pipeline.store import StoreError, open_store
from pipeline.store.errors import explain
from pipeline.store.schema import migrate, newest_version
from pipeline.store.server import choose_socket
from pipeline.store.tables import TABLES
from tests.store.examples import database, save_waiting, submission
from tests.store.processes import started


def refused(path: Path, *, read_only: bool = False) -> str:
    with pytest.raises(StoreError) as refusal:
        open_store(path, read_only=read_only)
    message = str(refusal.value)
    assert "\n" not in message
    assert str(path) in message
    assert refusal.value.fault.owner == "environment"
    return message


def test_a_writer_makes_the_database_and_a_reader_does_not(tmp_path: Path) -> None:
    path = database(tmp_path)
    assert "there is no database" in refused(path, read_only=True)
    assert list(tmp_path.iterdir()) == []
    with open_store(path) as store:
        assert store.is_owner
        assert store.notices == []
    assert path.exists()


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    with open_store(database(tmp_path)) as store:
        save_waiting(store, "a")
        first = store.canonical_hash()
    with open_store(database(tmp_path)) as store:
        assert store.notices == []
        assert store.canonical_hash() == first


def test_a_reader_without_an_owner_reads_the_database_itself_and_may_not_write(tmp_path: Path) -> None:
    with open_store(database(tmp_path)) as store:
        save_waiting(store, "a")
    with open_store(database(tmp_path), read_only=True) as store:
        assert len(store.list_reviews()) == 1
        with pytest.raises(StoreError, match="opened for reading only"):
            store.save_submissions([submission("b")])
        with pytest.raises(StoreError, match="opened for reading only"):
            store.close_batch("b-one")


def test_a_writer_is_served_by_a_reader_that_came_first(tmp_path: Path) -> None:
    with open_store(database(tmp_path)):
        pass
    with open_store(database(tmp_path), read_only=True) as reader, open_store(database(tmp_path)) as writer:
        save_waiting(writer, "a")
        assert len(reader.list_reviews()) == 1


def test_a_link_leads_to_the_same_owner_as_the_file_itself(tmp_path: Path) -> None:
    link = tmp_path / "link.duckdb"
    link.symlink_to(database(tmp_path))
    with open_store(database(tmp_path)) as owner, open_store(link) as client:
        assert client.path == owner.path
        assert not client.is_owner


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    assert "this is a folder" in refused(tmp_path)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_device_or_pipe_is_no_database_and_left_alone(tmp_path: Path, read_only: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match="not a database"), open_store(pipe, read_only=read_only):
        pass
    assert pipe.is_fifo()
    assert [found.name for found in tmp_path.iterdir()] == ["pipe"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert "there is no folder" in refused(tmp_path / "missing" / "grades.duckdb")


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = database(tmp_path)
    path.write_text("hello\n" * 4096)
    assert "this is not a DuckDB database" in refused(path)
    assert path.read_text() == "hello\n" * 4096


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    database(tmp_path).touch()
    with open_store(database(tmp_path)) as store:
        assert store.list_reviews() == []


def test_a_database_of_a_newer_release_is_refused_by_its_number(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path):
        pass
    with duckdb.connect(str(path)) as other:
        other.execute("INSERT INTO migrations (number, name) VALUES (999, '999_future.sql')")
    message = refused(path)
    assert f"the database has schema 999, this release knows schemas up to {newest_version()}" in message


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = database(tmp_path)
    with duckdb.connect(str(path)) as other:
        other.execute("CREATE TABLE theirs (a INTEGER)")
    assert "belongs to another program" in refused(path)
    with duckdb.connect(str(path)) as other:
        assert other.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("theirs",)]


def test_a_refused_opening_leaves_the_database_free_for_the_next(tmp_path: Path) -> None:
    path = database(tmp_path)
    path.write_text("hello\n" * 4096)
    refused(path)
    path.unlink()
    with open_store(path) as store:
        assert store.is_owner


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become an unprivileged user")
def test_a_folder_that_may_not_be_written_is_named_and_its_snapshot_can_be_read(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        save_waiting(store, "a")
        store.snapshot()
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    code = (
        "import os, sys; from pathlib import Path; from pipeline.store import open_store, StoreError\n"
        "path = Path(sys.argv[1])\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: open_store(path)\n"
        "except StoreError as error: print(error)\n"
        "with open_store(path, read_only=True) as store: print(store.notices[0], len(store.list_reviews()))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    first, second = ran.stdout.splitlines()
    assert f"the folder {tmp_path} may not be written to" in first
    assert "permission denied: reading the snapshot of" in second
    assert second.endswith(" ago 1")


def test_migrations_build_every_table_that_rows_are_written_to(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        migrate(connection, tmp_path)
        migrate(connection, tmp_path)
        assert connection.execute("SELECT number FROM migrations").fetchall() == [
            (number,) for number in range(1, newest_version() + 1)
        ]
        found: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in connection.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
            " AND table_name IN (SELECT table_name FROM duckdb_tables()) ORDER BY table_name, column_index"
        ).fetchall():
            found.setdefault(table, []).append((column, kind))
    for table in TABLES.values():
        there = dict(found.pop(table.name))
        assert there.keys() - {"created_at", "seq"} == table.columns.keys(), table.name
        assert "seq" in there or not table.repeats, table.name
        for column, kind in table.columns.items():
            assert there[column].replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ") == kind, column
    assert found.keys() == {"migrations"}


def test_the_socket_lies_in_a_short_folder_of_our_own_whatever_the_database_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 120) / "grades.duckdb"
    deep.parent.mkdir()
    address = choose_socket(deep)
    assert len(os.fsencode(address)) < 108
    assert address.parent.stat().st_mode & 0o777 == 0o700
    with open_store(deep) as owner, open_store(deep) as client:
        assert (owner.is_owner, client.is_owner) == (True, False)
    long = tmp_path / ("r" * 120)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert len(os.fsencode(choose_socket(deep))) < 108


def test_a_socket_folder_that_others_may_enter_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = choose_socket(database(tmp_path)).parent
    assert folder.parent == tmp_path
    folder.chmod(0o777)
    assert choose_socket(database(tmp_path)).parent.parent != tmp_path


def test_a_leftover_socket_is_no_obstacle(tmp_path: Path) -> None:
    path = database(tmp_path)
    choose_socket(Path(os.path.realpath(path))).touch()
    with open_store(path) as owner, open_store(path) as client:
        assert (owner.is_owner, client.is_owner) == (True, False)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EDQUOT])
def test_a_full_disk_is_said_in_one_line_whoever_notices_it(number: int) -> None:
    expected = (
        "x: the disk or its quota is full: rows since the last commit are not stored "
        "(free some space and run the same command again)"
    )
    assert str(explain(OSError(number, os.strerror(number)), Path("x"))) == expected
    told = duckdb.IOException(f'IO Error: Could not write file "x": {os.strerror(number)}')
    assert str(explain(told, Path("x"))) == expected


@pytest.mark.parametrize("seed", range(5))
def test_a_kill_while_the_database_is_being_made_leaves_one_that_opens(tmp_path: Path, seed: int) -> None:
    path = database(tmp_path)
    with started("hold", path) as process:
        while not path.with_name(path.name + ".lock").exists():
            time.sleep(0.001)
        time.sleep(random.Random(seed).uniform(0.0, 0.15))
        process.kill()
        process.wait()
    with open_store(path) as store:
        assert store.notices == []
        save_waiting(store, "a")
