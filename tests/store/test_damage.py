"""What opening says about a database that is not what it was."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import Store, StoreError, open_store
from tests.store.examples import batch, database, decision, save_waiting
from tests.store.processes import everything_heard, started


@dataclass
class Crashed:
    """A database whose process was killed, with how long its log was after each commit."""

    path: Path
    said: dict[str, dict[str, Any]]

    @property
    def wal(self) -> Path:
        return self.path.with_name(self.path.name + ".wal")

    @property
    def journal(self) -> Path:
        return self.path.with_name(self.path.name + ".journal.jsonl")

    def cut_wal_after(self, commit: str) -> None:
        with self.wal.open("r+b") as file:
            file.truncate(self.said[commit]["wal"])


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Crashed:
    path = database(tmp_path_factory.mktemp("crashed"))
    with started("close_two_batches", path) as process:
        said = everything_heard(process)
    return Crashed(path, {line["committed"]: line for line in said})


@pytest.fixture
def crashed(original: Crashed, tmp_path: Path) -> Crashed:
    for file in original.path.parent.iterdir():
        shutil.copy(file, tmp_path / file.name)
    return Crashed(tmp_path / original.path.name, original.said)


def repair(store: Store) -> None:
    """Grade both batches again, as the batch command would."""
    for name in ("one", "two"):
        if not store.is_batch_closed(f"b-{name}"):
            store.open_batch(batch(name, f"{name}1", f"{name}2"))
            save_waiting(store, f"{name}1", f"{name}2")
            store.close_batch(f"b-{name}")


def test_after_a_kill_everything_committed_is_there_and_nothing_is_said(crashed: Crashed) -> None:
    with open_store(crashed.path) as store:
        assert store.notices == []
        assert store.canonical_hash() == crashed.said["decided"]["hash"]
        assert store.is_batch_closed("b-one")
        assert store.is_batch_closed("b-two")


def test_a_log_cut_exactly_between_two_commits_is_named_and_repaired_by_grading_again(
    crashed: Crashed,
) -> None:
    crashed.cut_wal_after("two1")
    with open_store(crashed.path) as store:
        missing, brought_back = sorted(store.notices)
        assert missing.startswith("batch b-two: 1 of 2 gradings lost rows (g-two2)")
        assert "gradings 1 of 2" in missing
        assert "facts 2 of 4" in missing
        assert brought_back == (
            "the decision of ada on r-one1 was missing and was brought back from the journal"
        )
        assert store.is_batch_closed("b-one")
        assert not store.is_batch_closed("b-two")
        assert store.load_review("r-one1").decision == decision("one1")
        repair(store)
        assert store.canonical_hash() == crashed.said["decided"]["hash"]
        assert store.is_batch_closed("b-two")
    with open_store(crashed.path) as store:
        assert store.notices == []


def test_what_is_missing_is_named_at_every_opening_until_it_is_repaired(crashed: Crashed) -> None:
    crashed.cut_wal_after("one1")
    for _ in range(2):
        with open_store(crashed.path) as store:
            named = [notice.split(":")[0] for notice in store.notices if notice.startswith("batch")]
            assert named == ["batch b-one", "batch b-two"]


def test_a_log_cut_within_a_commit_is_named_too(crashed: Crashed) -> None:
    with crashed.wal.open("r+b") as file:
        file.truncate(crashed.said["two2"]["wal"] - 37)
    with open_store(crashed.path) as store:
        assert any(
            notice.startswith("batch b-two: 1 of 2 gradings lost rows (g-two2)") for notice in store.notices
        )


def test_a_lost_log_costs_no_decision(crashed: Crashed) -> None:
    crashed.wal.unlink()
    with open_store(crashed.path) as store:
        assert any("2 of 2 gradings lost rows" in notice for notice in store.notices)
        assert store.load_review("r-one1").decision == decision("one1")
        repair(store)
        assert store.canonical_hash() == crashed.said["decided"]["hash"]


@pytest.mark.parametrize("lost_log", [True, False])
def test_a_lost_database_costs_no_decision(crashed: Crashed, lost_log: bool) -> None:
    if lost_log:
        crashed.wal.unlink()
    crashed.path.unlink()
    with open_store(crashed.path) as store:
        assert len(store.notices) == 3
        repair(store)
        assert store.canonical_hash() == crashed.said["decided"]["hash"]
        assert store.list_decided() == ["g-one1"]


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.8, 0.98])
def test_one_flipped_byte_in_the_log_is_named_or_refused(crashed: Crashed, share: float) -> None:
    flip(crashed.wal, share)
    try:
        store = open_store(crashed.path)
    except StoreError as error:
        assert_one_line(error, crashed.path)
        return
    with store:
        whole = store.canonical_hash() == crashed.said["decided"]["hash"]
        assert whole or any("b-two" in notice or "r-one1" in notice for notice in store.notices)
        repair(store)
        assert store.canonical_hash() == crashed.said["decided"]["hash"]


def test_a_flipped_byte_in_the_header_of_the_file_is_refused_in_one_line(crashed: Crashed) -> None:
    with open_store(crashed.path):
        pass  # A clean end moves the log into the file.
    flip(crashed.path, 0.0)
    with pytest.raises(StoreError, match="the database is damaged") as refusal:
        open_store(crashed.path)
    assert_one_line(refusal.value, crashed.path)


@pytest.mark.parametrize("share", [step / 12 for step in range(1, 12)])
def test_one_flipped_byte_in_the_file_is_refused_in_one_line_or_changes_nothing(
    crashed: Crashed, share: float
) -> None:
    with open_store(crashed.path):
        pass
    assert not crashed.wal.exists()
    flip(crashed.path, share)
    try:
        with open_store(crashed.path) as store:
            assert store.canonical_hash() == crashed.said["decided"]["hash"]
            assert store.load_submission("s-two2").code == "# two2\n"
    except StoreError as error:
        assert_one_line(error, crashed.path)


def test_a_changed_journal_line_is_named_and_the_decision_is_written_again(crashed: Crashed) -> None:
    lines = crashed.journal.read_text().splitlines()
    lines[2] = lines[2].replace('"clarity": 3', '"clarity": 4')
    crashed.journal.write_text("\n".join(lines) + "\n")
    with open_store(crashed.path) as store:
        broken, restored = store.notices
        assert "the hash chain is broken at line 3" in broken
        assert "1 decisions were written to it again from the database" in restored
        assert store.load_review("r-one1").decision == decision("one1")
    lost_database(crashed)
    with open_store(crashed.path) as store:
        assert store.load_review("r-one1").decision == decision("one1")


def test_a_bad_line_does_not_cost_the_decisions_after_it(crashed: Crashed) -> None:
    lines = crashed.journal.read_text().splitlines()
    crashed.journal.write_text("\n".join([lines[0], "not ours", lines[2]]) + "\n")
    lost_database(crashed)
    with open_store(crashed.path) as store:
        assert "the hash chain is broken at line 2" in store.notices[0]
        assert store.load_review("r-one1").decision == decision("one1")


def test_a_torn_last_line_is_cut_aside(crashed: Crashed) -> None:
    whole = crashed.journal.read_bytes()
    crashed.journal.write_bytes(whole + b'{"seq": 4, "prev": "ab')
    with open_store(crashed.path) as store:
        (notice,) = store.notices
        assert "line 4 was cut off in the middle of writing" in notice
    assert crashed.journal.read_bytes() == whole
    torn = crashed.journal.with_name(crashed.journal.name + ".torn")
    assert torn.read_bytes() == b'{"seq": 4, "prev": "ab\n'


def test_a_whole_last_line_without_its_end_is_kept(crashed: Crashed) -> None:
    whole = crashed.journal.read_bytes()
    crashed.journal.write_bytes(whole[:-1])
    with open_store(crashed.path) as store:
        assert store.notices == []
    assert crashed.journal.read_bytes() == whole


def test_a_lost_journal_is_named_and_decisions_are_written_to_a_new_one(crashed: Crashed) -> None:
    crashed.journal.unlink()
    with open_store(crashed.path) as store:
        assert store.notices == [
            "the journal lacks 3 entries that the database has seen: "
            "1 decisions were written to it again from the database"
        ]
        assert not store.is_batch_closed("b-one")
        repair(store)
    lost_database(crashed)
    with open_store(crashed.path) as store:
        assert store.load_review("r-one1").decision == decision("one1")


def test_a_decision_after_damage_goes_on_with_the_chain(crashed: Crashed) -> None:
    crashed.cut_wal_after("two closed")
    with open_store(crashed.path) as store:
        store.decide(decision("two1"))
    with open_store(crashed.path) as store:
        assert store.notices == []
        assert store.list_decided() == ["g-one1", "g-two1"]


def lost_database(crashed: Crashed) -> None:
    crashed.path.unlink()
    crashed.wal.unlink(missing_ok=True)


def flip(path: Path, share: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 0x40
    path.write_bytes(data)


def assert_one_line(error: StoreError, path: Path) -> None:
    message = str(error)
    assert "\n" not in message
    assert message.startswith(str(path.parent))
    assert error.fault.owner == "environment"
