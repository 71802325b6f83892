"""Records that later decisions rest on survive the loss of the database, and of the journal."""

from __future__ import annotations

from pathlib import Path

from pipeline.store import open_store
from pipeline.store.local import journal_path
from pipeline.types import Frozen
from tests.store.examples import database
from tests.store.processes import heard, started
from tests.store.test_desk_journal import journal_kinds, lose


class Wish(Frozen):
    """A small record."""

    text: str


def test_a_record_that_is_vouched_for_outlives_the_database(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        store.desk.vouch("certificate", "c", Wish(text="first"))
        store.desk.vouch("certificate", "c", Wish(text="taken back"))
        store.desk.vouch("certificate", "c", Wish(text="taken back"))
        store.desk.save_record("setting", "s", Wish(text="lost with the database"))
        assert journal_kinds(path) == ["record"] * 2
    lose(path)
    with open_store(path) as store:
        assert store.notices == [
            "2 records (2 certificate) were missing and were brought back from the journal"
        ]
        assert store.desk.find_record("certificate", "c", Wish) == Wish(text="taken back")
        assert store.desk.find_record("setting", "s", Wish) is None
    with open_store(path) as store:
        assert store.notices == []


def test_what_was_taken_back_stays_so_when_an_older_copy_is_put_in_place(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        store.desk.vouch("certificate", "c", Wish(text="in force"))
        copy = store.snapshot()
        store.desk.vouch("certificate", "c", Wish(text="taken back"))
    lose(path)
    Path(copy).rename(path)
    with open_store(path) as store:
        assert store.desk.find_record("certificate", "c", Wish) == Wish(text="taken back")


def test_records_of_a_lost_journal_are_written_to_it_again(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        for text in ("in force", "taken back"):
            store.desk.vouch("certificate", "c", Wish(text=text))
    journal_path(path).unlink()
    with open_store(path) as store:
        assert "1 records were written to it again" in store.notices[0]
    lose(path)
    with open_store(path) as store:
        assert store.desk.find_record("certificate", "c", Wish) == Wish(text="taken back")


def test_a_client_vouches_through_the_owner(tmp_path: Path) -> None:
    path = database(tmp_path)
    with started("hold", path) as owner:
        heard(owner)
        with open_store(path) as store:
            assert not store.is_owner
            store.desk.vouch("certificate", "c", Wish(text="in force"))
        assert journal_kinds(path) == ["record"]
