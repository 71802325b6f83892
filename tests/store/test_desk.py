"""What the desk keeps comes back, in this process and over the socket."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.store import Store, StoreError, open_store
from pipeline.types import Account, Commented, DeskSettings, Flagged, Role
from tests.store.desk_examples import activity, claimed, committed, draft, event, finished
from tests.store.examples import NOON, database, save_waiting


def test_events_come_back_in_their_order_with_rising_numbers(store: Store) -> None:
    save_waiting(store, "a", "b")
    kept = [claimed("a"), claimed("b"), committed("a"), finished("a")]
    store.desk.record(kept[:2])
    store.desk.record(kept[2:])
    found = store.desk.list_events()
    assert [one for _, one in found] == kept
    numbers = [number for number, _ in found]
    assert numbers == sorted(set(numbers))
    assert numbers[0] > 0


def test_only_events_after_the_last_number_are_listed(store: Store) -> None:
    save_waiting(store, "a")
    store.desk.record([claimed("a")])
    (last, _), *_ = store.desk.list_events()
    assert store.desk.list_events(last) == []
    store.desk.record([committed("a")], wait=False)
    assert [one for _, one in store.desk.list_events(last)] == [committed("a")]


def test_events_of_one_review_are_those_of_no_other(store: Store) -> None:
    save_waiting(store, "a", "b")
    store.desk.record([claimed("a"), claimed("b"), committed("a")])
    assert store.desk.list_events_of("r-a") == [claimed("a"), committed("a")]
    assert store.desk.list_events_of("r-c") == []


def test_an_event_that_comes_twice_is_kept_once(store: Store) -> None:
    save_waiting(store, "a")
    for _ in range(2):
        store.desk.record([claimed("a"), committed("a"), claimed("a")])
    assert [one for _, one in store.desk.list_events()] == [claimed("a"), committed("a")]


@pytest.mark.parametrize("wait", [True, False])
def test_a_known_id_with_another_content_is_refused_and_nothing_of_that_call_is_kept(
    store: Store, wait: bool
) -> None:
    save_waiting(store, "a")
    store.desk.record([committed("a")], wait=wait)
    with pytest.raises(StoreError) as refusal:
        store.desk.record([claimed("a"), committed("a", note="on second thoughts")], wait=wait)
    assert refusal.value.fault.code == "event_conflict"
    assert "e-committed-a is known already with another content: committed by ada on r-a" in str(
        refusal.value
    )
    assert [one for _, one in store.desk.list_events()] == [committed("a")]


def test_two_contents_under_one_id_in_one_call_are_refused(store: Store) -> None:
    save_waiting(store, "a")
    with pytest.raises(StoreError, match="known already with another content"):
        store.desk.record([committed("a"), committed("a", note="on second thoughts")])
    assert store.desk.list_events() == []


def test_work_on_an_unknown_review_is_refused_and_nothing_of_that_call_is_kept(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no review r-a"):
        store.desk.record([claimed("a"), committed("a")])
    assert store.desk.list_events() == []


def test_no_events_are_no_work(store: Store) -> None:
    store.desk.record([])
    assert store.desk.list_events() == []


def test_an_event_that_no_database_takes_is_refused_before_it_is_journalled(store: Store) -> None:
    save_waiting(store, "a")
    remark = Commented(text="fine")
    for wrong, message in (
        (event("x", remark, of="a", slot=2**31), "more than 32 bits hold"),
        (event("x", remark, of="a").model_copy(update={"at": NOON.replace(tzinfo=None)}), "no time zone"),
    ):
        with pytest.raises(StoreError, match=message):
            store.desk.record([claimed("a"), wrong])
    assert store.desk.list_events() == []
    journal = store.path.with_name(store.path.name + ".journal.jsonl")
    assert not journal.exists()


def test_the_newest_draft_of_a_place_and_account_counts(store: Store) -> None:
    assert store.desk.find_draft("r-a", 0, "ada") is None
    others = [draft("a", 7, account="ben"), draft("a", 8, slot=1), draft("b", 9)]
    for one in (draft("a", 1), *others, draft("a", 2)):
        store.desk.save_draft(one, wait=False)
    assert store.desk.find_draft("r-a", 0, "ada") == draft("a", 2)
    store.desk.save_draft(draft("a", 3))
    assert store.desk.find_draft("r-a", 0, "ada") == draft("a", 3)
    assert [store.desk.find_draft("r-a", 0, "ben"), store.desk.find_draft("r-a", 1, "ada")] == others[:2]
    assert store.desk.find_draft("r-b", 0, "ada") == others[2]


def test_work_is_listed_oldest_first_of_everybody_or_one_since_it_began(store: Store) -> None:
    stretches = [activity("ben", 5), activity("ada", 0), activity("ada", 10)]
    for one in (*stretches, stretches[0]):
        store.desk.add_activity(one)
    ben, first, last = stretches
    assert store.desk.list_activity() == [first, ben, last]
    assert store.desk.list_activity("ada") == [first, last]
    assert store.desk.list_activity(since=NOON + timedelta(minutes=5)) == [ben, last]
    assert store.desk.list_activity("ben", NOON + timedelta(minutes=6)) == []
    with pytest.raises(StoreError, match="no time zone"):
        store.desk.list_activity(since=NOON.replace(tzinfo=None))


def test_the_newest_record_of_a_kind_and_key_counts(store: Store) -> None:
    ada, ben = Account(name="ada", role=Role.REVIEWER), Account(name="ben", role=Role.LEAD)
    assert store.desk.find_record("account", "ada", Account) is None
    store.desk.save_record("account", "ben", ben)
    store.desk.save_record("account", "ada", ada, wait=False)
    store.desk.save_record("settings", "ada", DeskSettings(audit_rate=0.5), wait=False)
    assert store.desk.find_record("account", "ada", Account) == ada
    left = ada.model_copy(update={"active": False})
    store.desk.save_record("account", "ada", left)
    assert store.desk.find_record("account", "ada", Account) == left
    assert store.desk.list_records("account", Account) == [left, ben]
    assert store.desk.list_records("settings", DeskSettings) == [DeskSettings(audit_rate=0.5)]
    assert store.desk.list_records("token", Account) == []
    with pytest.raises(StoreError, match="needs a key"):
        store.desk.save_record("account", "", ada)


def test_everything_is_there_when_the_database_is_opened_again(tmp_path: Path) -> None:
    with open_store(database(tmp_path)) as store:
        save_waiting(store, "a")
        store.desk.record([claimed("a"), committed("a")], wait=False)
        store.desk.save_draft(draft("a", 1), wait=False)
        store.desk.add_activity(activity("ada", 0))
        store.desk.save_record("settings", "desk", DeskSettings(), wait=False)
    with open_store(database(tmp_path), read_only=True) as store:
        assert store.notices == []
        assert store.desk.list_events_of("r-a") == [claimed("a"), committed("a")]
        assert store.desk.find_draft("r-a", 0, "ada") == draft("a", 1)
        assert store.desk.list_activity() == [activity("ada", 0)]
        assert store.desk.find_record("settings", "desk", DeskSettings) == DeskSettings()
        for write in (
            lambda: store.desk.record([finished("a")]),
            lambda: store.desk.save_draft(draft("a", 2)),
            lambda: store.desk.add_activity(activity("ada", 1)),
            lambda: store.desk.save_record("settings", "desk", DeskSettings()),
        ):
            with pytest.raises(StoreError, match="opened for reading only"):
                write()


@settings(max_examples=20, deadline=None)
@given(calls=st.lists(st.tuples(st.lists(st.integers(0, 5), max_size=4), st.booleans()), max_size=8))
def test_whatever_is_recorded_again_the_order_is_that_of_the_first_time(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[list[int], bool]]
) -> None:
    expected: list[int] = []
    with open_store(database(tmp_path_factory.mktemp("again"))) as store:
        save_waiting(store, "a")
        for numbers, wait in calls:
            store.desk.record(
                [event(str(number), Flagged(reason=f"look {number}"), of="a") for number in numbers],
                wait=wait,
            )
            expected += [number for number in dict.fromkeys(numbers) if number not in expected]
        assert [one.id for one in store.desk.list_events_of("r-a")] == [f"e-{number}" for number in expected]
        seen: list[str] = []
        last = 0
        while found := store.desk.list_events(last):
            last = found[0][0]
            seen.append(found[0][1].id)
        assert seen == [f"e-{number}" for number in expected]
