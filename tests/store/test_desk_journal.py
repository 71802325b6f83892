"""A person's work at the desk survives the loss of the database, of its owner, and of the journal."""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from pathlib import Path

import pytest

from pipeline.store import Store, StoreError, open_store
from pipeline.store.journal import Journal
from pipeline.store.local import journal_path
from pipeline.types import DeskEvent, Flagged, Planted, Unblinded
from tests.store.desk_examples import claimed, committed, draft, event, finished
from tests.store.examples import database, decision, grading, review, save_waiting, submission
from tests.store.processes import everything_heard, heard, started, tell

_BROUGHT_BACK = "were missing and were brought back from the journal"


def journal_kinds(path: Path) -> list[str]:
    return [json.loads(line)["kind"] for line in journal_path(path).read_text().splitlines()]


def lose(path: Path) -> None:
    path.unlink()
    path.with_name(path.name + ".wal").unlink(missing_ok=True)


def test_a_persons_work_is_in_the_journal_and_the_desks_own_is_not(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        save_waiting(store, "a")
        flagged = event("flag", Flagged(reason="odd"), of="a")
        unblinded = event("unblind", Unblinded(reason="a complaint"), of="a", actor="lea")
        for one in (claimed("a"), committed("a"), flagged, finished("a"), unblinded):
            store.desk.record([one])
            store.desk.record([one])
        assert journal_kinds(path) == ["desk"] * 3


def test_a_lost_database_costs_no_work_and_brings_its_reviews_back(tmp_path: Path) -> None:
    path = database(tmp_path)
    work = [committed("a"), finished("a"), event("gold", Planted(levels={"clarity": 2}), of="b", actor="lea")]
    with open_store(path) as store:
        save_waiting(store, "a", "b")
        store.desk.record([claimed("a"), *work])
    lose(path)
    with open_store(path) as store:
        assert store.notices == [f"3 events of the review desk, on r-a, r-b, {_BROUGHT_BACK}"]
        assert [one for _, one in store.desk.list_events()] == work
        assert [store.load_review(name).review for name in ("r-a", "r-b")] == [review("a"), review("b")]
        store.desk.record(work)
        assert [one for _, one in store.desk.list_events()] == work
        save_waiting(store, "a")
        assert [item.review.id for _, item in store.desk.list_items()] == ["r-a"]
    with open_store(path) as store:
        assert store.notices == []


def test_work_that_reached_only_the_journal_is_brought_back(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        save_waiting(store, "a")
        store.desk.record([claimed("a")])
        for suffix in ("", ".wal"):
            # In a process of its own: closing a second descriptor here would end DuckDB's lock.
            source = path.with_name(path.name + suffix)
            subprocess.run(["cp", str(source), str(tmp_path / f"before{suffix}")], check=True)
        store.desk.record([committed("a")])
    journal_path(path).rename(journal_path(tmp_path / "before"))
    with open_store(tmp_path / "before") as store:
        assert store.notices == [f"1 events of the review desk, on r-a, {_BROUGHT_BACK}"]
        assert store.desk.list_events_of("r-a") == [claimed("a"), committed("a")]


def test_work_is_journalled_on_return_even_if_nobody_waits(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        save_waiting(store, "a")
        store.desk.record([committed("a")], wait=False)
        assert [entry.body["event"]["id"] for entry in Journal(journal_path(path)).entries] == [
            "e-committed-a"
        ]


def test_a_lost_journal_is_written_again_from_the_database(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        save_waiting(store, "a")
        store.desk.record([claimed("a"), committed("a"), finished("a")])
        store.decide(decision("a"))
    journal_path(path).unlink()
    with open_store(path) as store:
        assert store.notices == [
            "the journal lacks 3 entries that the database has seen: 1 decisions and 2 events of the review "
            "desk were written to it again from the database"
        ]
    lose(path)
    with open_store(path) as store:
        assert [one for _, one in store.desk.list_events()] == [committed("a"), finished("a")]
        assert store.load_review("r-a").decision == decision("a")


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_loses_no_assessment_that_was_acknowledged(tmp_path: Path, seed: int) -> None:
    path = database(tmp_path)
    with started("commit_until_killed", path) as process:
        heard(process)
        time.sleep(random.Random(seed).uniform(0.0, 0.3))
        process.kill()
        said = everything_heard(process)
    last = max((line["committed"] for line in said), default=0)
    with open_store(path) as store:
        for number in range(last + 1):
            assert store.desk.list_events_of(f"r-{number}") == [claimed(f"{number}"), committed(f"{number}")]


@pytest.mark.parametrize("end", ["in good order", "by a kill"])
def test_what_a_client_kept_is_there_when_it_takes_over_from_the_owner(tmp_path: Path, end: str) -> None:
    path = database(tmp_path)
    with started("hold", path) as owner:
        heard(owner)
        with open_store(path) as store:
            save_waiting(store, "a")
            store.desk.record([claimed("a")], wait=False)
            store.desk.record([committed("a")], wait=False)
            store.desk.save_draft(draft("a", 1), wait=False)
            if end == "by a kill":
                owner.kill()
            else:
                tell(owner)
            owner.wait()
            store.desk.record([committed("a"), finished("a")])
            assert store.is_owner
            kept = [claimed("a"), committed("a"), finished("a")]
            assert [one for _, one in store.desk.list_events()] == kept
            assert store.desk.find_draft("r-a", 0, "ada") == draft("a", 1)


def test_of_many_threads_with_one_id_each_content_but_one_is_refused(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        save_waiting(store, "a")
        refused: list[str] = []

        def commit(note: str) -> None:
            try:
                store.desk.record([committed("a", note=note)])
            except StoreError as error:
                refused.append(error.fault.code)

        threads = [threading.Thread(target=commit, args=(f"note {number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert refused == ["event_conflict"] * 7
        assert len(store.desk.list_events()) == 1
        assert len(Journal(journal_path(path)).entries) == 1


def test_threads_that_record_and_decide_at_once_leave_a_whole_journal(tmp_path: Path) -> None:
    path = database(tmp_path)
    names = [str(number) for number in range(12)]
    with open_store(path) as store:
        save_waiting(store, *names)
        threads = [threading.Thread(target=store.desk.record, args=([committed(name)],)) for name in names]
        threads += [threading.Thread(target=store.decide, args=(decision(name),)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    journal = Journal(journal_path(path))
    assert journal.notices == []
    assert sorted(entry.kind for entry in journal.entries) == ["decision"] * 12 + ["desk"] * 12
    lose(path)
    with open_store(path) as store:
        assert store.desk.list_decided_ids() == {f"r-{name}" for name in names}
        assert {one.review_id for _, one in store.desk.list_events()} == {f"r-{name}" for name in names}


def test_an_audit_is_an_audit_when_it_is_brought_back(tmp_path: Path) -> None:
    path = database(tmp_path)
    drawn = review("a").model_copy(update={"kind": "audit", "probability": 0.05})
    with open_store(path) as store:
        store.save_submissions([submission("a")])
        store.save_gradings([grading("a")])
        store.open_review(drawn)
        store.desk.record([committed("a")])
    lose(path)
    with open_store(path) as store:
        assert store.load_review("r-a").review == drawn
        store.save_submissions([submission("a")])
        store.save_gradings([grading("a")])
        assert store.load_summary("g-a").state == "open"


def read_back(store: Store) -> list[DeskEvent]:
    return [one for _, one in store.desk.list_events()]


def test_a_changed_line_of_work_is_named_and_written_again(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        save_waiting(store, "a")
        store.desk.record([committed("a"), finished("a")])
    lines = journal_path(path).read_text().splitlines()
    lines[0] = lines[0].replace('"reads well"', '"reads badly"')
    journal_path(path).write_text("\n".join(lines) + "\n")
    with open_store(path) as store:
        broken, restored = store.notices
        assert "the hash chain is broken at line 1" in broken
        assert "1 events of the review desk were written to it again from the database" in restored
        assert read_back(store) == [committed("a"), finished("a")]
