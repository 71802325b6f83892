"""Keys that are known to be absent are absent, whoever asks and whatever is written meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import StageRecord, Store, open_store
from pipeline.store.reader import Reader
from tests.store.examples import stage


def record(number: int) -> StageRecord:
    return stage(f"n{number}")


def test_what_earlier_processes_kept_is_found(tmp_path: Path) -> None:
    with open_store(tmp_path / "g.duckdb") as store:
        store.record_stage(record(1))
    with open_store(tmp_path / "g.duckdb") as store:
        assert store.find_stage(record(1).stage, record(1).key) == record(1)
        assert store.find_stage(record(2).stage, record(2).key) is None


def test_what_is_written_after_the_first_question_is_found(tmp_path: Path) -> None:
    with open_store(tmp_path / "g.duckdb") as store:
        assert store.find_stage(record(1).stage, record(1).key) is None
        store.record_stage(record(1))
        assert store.find_stage(record(1).stage, record(1).key) == record(1)


def test_whoever_asks_while_the_keys_are_being_read_waits_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path / "g.duckdb") as store:
        store.record_stage(record(1))
    reading, go_on = threading.Event(), threading.Event()
    original = Reader.list_keys

    def read_slowly(reader: Reader, table: str) -> list[object]:
        reading.set()
        assert go_on.wait(10)
        return original(reader, table)

    monkeypatch.setattr(Reader, "list_keys", read_slowly)
    with open_store(tmp_path / "g.duckdb") as store:
        found: dict[str, Any] = {}
        first = ask_beside(store, found, "first")
        assert reading.wait(10)
        second = ask_beside(store, found, "second")
        # Written while the keys are read: neither among them nor forgotten.
        store.record_stage(record(2))
        second.join(0.2)
        assert "second" not in found, "no answer can be certain yet"
        go_on.set()
        first.join(10)
        second.join(10)
        assert found == {"first": record(1), "second": record(1)}
        assert store.find_stage(record(2).stage, record(2).key) == record(2)


def ask_beside(store: Store, found: dict[str, Any], name: str) -> threading.Thread:
    def ask() -> None:
        found[name] = store.find_stage(record(1).stage, record(1).key)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread
