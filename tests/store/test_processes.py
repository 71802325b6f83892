"""Several processes on one database, and what a kill at any moment costs."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.store import StoreError, open_store
from tests.store.examples import batch, database, decision, save_waiting, stage, submission
from tests.store.processes import everything_heard, heard, started, tell


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_loses_nothing_that_was_flushed(tmp_path: Path, seed: int) -> None:
    path = database(tmp_path)
    with started("write_until_killed", path) as process:
        heard(process)
        time.sleep(random.Random(seed).uniform(0.0, 0.3))
        process.kill()
        said = everything_heard(process)
    flushed = max((line["flushed"] for line in said), default=7)
    with open_store(path) as store:
        assert store.notices == []
        for number in range(flushed):
            assert store.load_submission(f"s-{number:06}") == submission(f"{number:06}")
            assert store.find_stage("run", f"k-{number:06}") == stage(f"{number:06}")


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_loses_no_decision(tmp_path: Path, seed: int) -> None:
    path = database(tmp_path)
    with started("decide_until_killed", path) as process:
        heard(process)
        time.sleep(random.Random(100 + seed).uniform(0.0, 0.3))
        process.kill()
        said = everything_heard(process)
    decided = max((line["decided"] for line in said), default=0)
    with open_store(path) as store:
        for number in range(decided + 1):
            assert store.load_review(f"r-{number}").decision == decision(str(number))


def test_a_decision_that_reached_only_the_journal_is_brought_back(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        save_waiting(store, "a")
        store.flush()
        # Between the journal and the table, as a kill at that moment leaves it.
        for suffix in ("", ".wal"):
            source = path.with_name(path.name + suffix)
            # In a process of its own: closing a second descriptor here would end DuckDB's lock.
            subprocess.run(["cp", str(source), str(tmp_path / f"before{suffix}")], check=True)
        store.decide(decision("a"))
    path.with_name(path.name + ".journal.jsonl").rename(tmp_path / "before.journal.jsonl")
    with open_store(tmp_path / "before") as store:
        assert store.notices == [
            "the decision of ada on r-a was missing and was brought back from the journal"
        ]
        assert store.list_decided() == ["g-a"]


def test_a_second_process_reads_and_writes_while_the_first_holds_the_file(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("hold", path) as owner:
        assert heard(owner) == {"owner": True}
        with open_store(path) as store:
            assert not store.is_owner
            save_waiting(store, "a")
            with started("grade_one", path) as third:
                assert heard(third) == {"owner": False, "state": "graded"}
            assert store.load_summary("g-other").state == "graded"
            assert [state.review.id for state in store.list_reviews()] == ["r-a"]


def test_show_works_while_a_batch_writes(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("write_until_killed", path) as writer:
        heard(writer)
        with open_store(path, read_only=True) as store:
            counts = [store.count_stages() for _ in range(20)]
    assert counts == sorted(counts)
    assert counts[0] >= 7


@pytest.mark.parametrize("end", ["in good order", "by a kill"])
def test_a_client_takes_over_when_the_owner_ends(tmp_path: Path, end: str) -> None:
    path = database(tmp_path)
    with started("hold", path) as owner:
        heard(owner)
        with open_store(path) as store:
            store.open_batch(batch("one", "a"))
            save_waiting(store, "a")
            store.record_stage(stage("not flushed"))
            if end == "by a kill":
                owner.kill()
            else:
                tell(owner)
            owner.wait()
            assert store.find_stage("run", "k-not flushed") == stage("not flushed")
            assert store.is_owner
            store.decide(decision("a"))
            store.close_batch("b-one")
            assert store.list_decided() == ["g-a"]


def test_of_several_clients_one_becomes_the_owner_and_serves_the_others(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("hold", path) as owner:
        heard(owner)
        with open_store(path) as one, open_store(path) as two, open_store(path) as three:
            owner.kill()
            owner.wait()
            for number, store in enumerate((one, two, three)):
                save_waiting(store, str(number))
            assert [store.is_owner for store in (one, two, three)] == [True, False, False]
            assert len(three.list_reviews()) == 3


def test_what_a_client_wrote_survives_the_kill_of_the_owner_that_took_it(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("hold", path) as owner:
        heard(owner)
        with open_store(path) as store:
            for number in range(100):
                store.record_stage(stage(str(number)))
            owner.kill()
            owner.wait()
            store.flush()
            assert store.count_stages() == 100


def test_a_forked_child_of_a_dead_owner_does_not_keep_the_database(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("hold_and_leave_a_child", path) as owner:
        child = heard(owner)["child"]
        try:
            with open_store(path) as store:
                assert not store.is_owner
                tell(owner)
                owner.wait()
                assert store.load_submission("s-a") == submission("a")
                assert store.is_owner
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_reader_of_a_frozen_owner_gets_the_snapshot_and_its_age(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("hold_and_freeze", path) as owner:
        heard(owner)
        snapshot = path.with_name(path.name + ".snapshot")
        an_hour_and_a_half_ago = time.time() - 5400
        os.utime(snapshot, (an_hour_and_a_half_ago, an_hour_and_a_half_ago))
        with open_store(path, read_only=True, patience=0.2) as store:
            assert store.notices == [
                f"grades.duckdb: process {owner.pid} holds the database and has not answered for 0.2 s: "
                "reading the snapshot of 1 hour ago"
            ]
            assert [state.review.id for state in store.list_reviews()] == ["r-old"]
            assert store.load_submission("s-old") == submission("old")
            with pytest.raises(StoreError, match="opened for reading only"):
                store.decide(decision("old"))
        with pytest.raises(StoreError, match=f"process {owner.pid} holds the database and has not answered"):
            open_store(path, patience=0.2)


def test_a_reader_of_a_frozen_owner_without_a_snapshot_is_told_so(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("hold_and_freeze", path) as owner:
        heard(owner)
        path.with_name(path.name + ".snapshot").unlink()
        with pytest.raises(StoreError, match="there is no snapshot to read instead"):
            open_store(path, read_only=True, patience=0.2)


def test_a_database_open_in_another_program_is_read_from_its_snapshot(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        store.open_batch(batch("one", "a"))
        save_waiting(store, "a")
        store.close_batch("b-one")
        store.snapshot()
    with another_program(path):
        with pytest.raises(StoreError, match="another program has the database open"):
            open_store(path)
        with open_store(path, read_only=True) as store:
            assert "another program has the database open" in store.notices[0]
            assert len(store.list_reviews()) == 1
            assert store.is_batch_closed("b-one")
            assert not store.is_batch_closed("b-two")


@contextmanager
def another_program(path: Path) -> Iterator[None]:
    """Something that opens the database without asking us, like DuckDB's own shell."""
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.readline()"
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def test_a_refused_write_is_one_line_and_costs_nothing_that_was_flushed(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("fill_the_disk", path) as process:
        first, later = everything_heard(process)
    assert first["fault"].startswith(f"{path}: ")
    assert "the disk or its quota is full" in first["fault"]
    assert later["code"] == "disk_full"
    with open_store(path) as store:
        assert store.notices == []
        assert first["flushed"] > 0
        for number in range(first["flushed"]):
            assert store.load_submission(f"s-{number}") == submission(str(number))
