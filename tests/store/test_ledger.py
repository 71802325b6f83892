"""Calls to models: their beginnings, ends and answers, over both transports."""

from __future__ import annotations

import gzip
import shutil
import time
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from pipeline.store import Store, StoreError, open_store
from pipeline.store.tables import TABLES
from pipeline.types import Completion
from tests.store.calls import answer, answered, ask_snapshot, call, failed, lost, provider_batch
from tests.store.examples import NOON, database
from tests.store.processes import ROOT, heard, started

RELEASES = ROOT / "tests" / "fixtures" / "releases"


# Beginning and ending


def test_a_call_is_open_until_it_ends(store: Store) -> None:
    ledger = store.ledger
    ledger.begin_calls([call("a"), call("b")])
    assert ledger.open_calls() == [call("a"), call("b")]
    ledger.end_calls([(answered("a"), answer())])
    assert ledger.open_calls() == [call("b")]
    ledger.end_calls([(failed("b"), None)])
    assert ledger.open_calls() == []


def test_rows_that_are_not_committed_yet_are_seen(store: Store) -> None:
    ledger = store.ledger
    ledger.begin_calls([call("a")], wait=False)
    assert ledger.open_calls() == [call("a")]
    ledger.end_calls([(answered("a"), answer())], wait=False)
    assert ledger.find_answer("k-a") == answer()
    assert ledger.open_calls() == []
    assert ledger.spent() == 500


def test_no_calls_are_no_work(store: Store) -> None:
    store.ledger.begin_calls([])
    store.ledger.end_calls([])
    assert store.ledger.open_calls() == []
    assert store.ledger.list_costs("day") == []
    assert store.ledger.spent() == 0


def test_open_calls_come_oldest_first(store: Store) -> None:
    newer, older = call("a", started_at=NOON + timedelta(seconds=1)), call("b")
    store.ledger.begin_calls([newer, older])
    assert store.ledger.open_calls() == [older, newer]


def test_a_call_of_another_process_can_be_ended_with_its_answer_found_by_its_key(tmp_path: Path) -> None:
    with open_store(database(tmp_path)) as one, open_store(database(tmp_path)) as other:
        one.ledger.begin_calls([call("a"), call("b")], wait=False)
        other.ledger.end_calls([(answered("b"), answer("of b"))])
        assert one.ledger.find_answer("k-b") == answer("of b")
        assert one.ledger.find_answer("k-a") is None


def test_the_end_of_a_call_that_never_began_is_refused_and_nothing_of_the_group_is_kept(store: Store) -> None:
    store.ledger.begin_calls([call("a")])
    with pytest.raises(StoreError, match="there is no call c-b") as refusal:
        store.ledger.end_calls([(answered("a"), answer()), (answered("b"), answer())])
    assert refusal.value.fault.code == "unknown_call"
    assert store.ledger.open_calls() == [call("a")]
    assert store.ledger.find_answer("k-a") is None


def test_the_first_end_of_a_call_stays(store: Store) -> None:
    store.ledger.begin_calls([call("a")])
    store.ledger.end_calls([(lost("a", cost=900), None)])
    store.ledger.end_calls([(answered("a", cost=1), answer())])
    assert store.ledger.spent() == 900
    # It came late, but it was paid for.
    assert store.ledger.find_answer("k-a") == answer()


# The response memo


@pytest.mark.parametrize("committed_between", [False, True])
def test_the_first_answer_of_a_key_stays(store: Store, committed_between: bool) -> None:
    ledger = store.ledger
    assert ledger.find_answer("k-a") is None
    ledger.begin_calls([call("a"), call("again", key="k-a")])
    ledger.end_calls([(answered("a"), answer("first"))], wait=committed_between)
    ledger.end_calls([(answered("again"), answer("second"))], wait=committed_between)
    assert ledger.find_answer("k-a") == answer("first")
    store.flush()
    assert ledger.find_answer("k-a") == answer("first")
    assert ledger.spent() == 1000
    assert ask_snapshot(store, "SELECT call_id FROM answers") == [("c-a",)]


def test_of_two_answers_in_one_group_the_first_stays(store: Store) -> None:
    store.ledger.begin_calls([call("a"), call("again", key="k-a")])
    store.ledger.end_calls([(answered("a"), answer("first")), (answered("again"), answer("second"))])
    assert store.ledger.find_answer("k-a") == answer("first")


def test_a_group_with_a_known_key_keeps_all_its_other_ask_snapshot(store: Store) -> None:
    store.ledger.begin_calls([call("a")])
    store.ledger.end_calls([(answered("a", 1), answer("first"))])
    begun = [call("b", criteria=()), call("c", key="k-a", criteria=("x",)), call("d", criteria=("y", "z"))]
    store.ledger.begin_calls([call("a"), *begun], wait=False)
    store.ledger.end_calls([(answered(name, 1), answer(name)) for name in ("b", "c", "d")])
    assert store.ledger.find_answer("k-a") == answer("first")
    assert store.ledger.find_answer("k-d") == answer("d")
    assert ask_snapshot(store, "SELECT id, criteria FROM calls ORDER BY id") == [
        ("c-a", ["clarity", "tiling"]),
        ("c-b", []),
        ("c-c", ["x"]),
        ("c-d", ["y", "z"]),
    ]


def test_a_refused_or_empty_answer_is_an_answer_too(store: Store) -> None:
    declined = Completion(text="", stop="refusal", refusal="policy", model="m", usage=answer().usage)
    store.ledger.begin_calls([call("a")])
    store.ledger.end_calls([(answered("a"), declined)])
    assert store.ledger.find_answer("k-a") == declined


@pytest.mark.parametrize(("table", "key"), [("answers", "k-77"), ("calls", "c-77"), ("call_ends", "c-77")])
def test_a_row_of_the_ledger_is_found_through_an_index(tmp_path: Path, table: str, key: str) -> None:
    with open_store(database(tmp_path)) as store:
        # DuckDB prefers a scan while a table is tiny.
        many = [str(number) for number in range(3000)]
        opened, calls = provider_batch("one", *many)
        store.ledger.intend_batch(opened, calls)
        store.ledger.end_calls([(answered(name), answer(name)) for name in many])
        snapshot = store.snapshot()
    with duckdb.connect(str(snapshot), read_only=True) as reader:
        plan = reader.execute(f"EXPLAIN ANALYZE {TABLES[table].lookup}", [key]).fetchall()[0][1]
    assert "Index Scan" in plan


# Other stores


def test_a_ledger_that_was_opened_for_reading_is_read_and_not_written(tmp_path: Path) -> None:
    with open_store(database(tmp_path)) as store:
        store.ledger.begin_calls([call("a"), call("b")])
        store.ledger.end_calls([(answered("a"), answer())])
    with open_store(database(tmp_path), read_only=True) as store:
        ledger = store.ledger
        assert ledger.find_answer("k-a") == answer()
        assert ledger.open_calls() == [call("b")]
        assert ledger.spent() == 1400
        for write in (
            lambda: ledger.begin_calls([call("c")]),
            lambda: ledger.end_calls([(answered("b"), answer())]),
            lambda: ledger.intend_batch(*provider_batch("one", "c")),
        ):
            with pytest.raises(StoreError, match="opened for reading only"):
                write()
        assert ledger.open_calls() == [call("b")]


def wait_until_stopped(pid: int) -> None:
    """Wait for the signal that a process sends itself after its last word."""
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.001)


def test_the_ledger_can_be_read_from_the_snapshot_of_a_silent_owner(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        store.ledger.begin_calls([call("a")])
    with started("hold_and_freeze", path) as process:
        assert heard(process) == {"owner": True}
        wait_until_stopped(process.pid)
        with open_store(path, read_only=True, patience=0.2) as store:
            assert "reading the snapshot" in store.notices[0]
            assert store.ledger.open_calls() == [call("a")]
            assert store.ledger.spent() == 900


def test_a_closed_ledger_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError, match="the store is closed"):
        store.ledger.begin_calls([call("a")])
    with pytest.raises(StoreError, match="the store is closed"):
        store.ledger.find_answer("k-a")


def test_a_database_of_the_first_release_gets_a_ledger(tmp_path: Path) -> None:
    packed = next(iter(sorted(RELEASES.glob("*.duckdb.gz"))))
    with gzip.open(packed) as source, database(tmp_path).open("wb") as target:
        shutil.copyfileobj(source, target)
    with open_store(database(tmp_path)) as store:
        store.ledger.begin_calls([call("a")])
        store.ledger.end_calls([(answered("a"), answer())])
    with open_store(database(tmp_path)) as store:
        assert store.ledger.find_answer("k-a") == answer()
