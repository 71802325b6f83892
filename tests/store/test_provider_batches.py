"""Calls handed to a provider together: intent, events and losses, over both transports."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.store import Store, StoreError
from tests.store.calls import call, lost, provider_batch


def test_an_intended_batch_is_kept_with_its_calls_before_it_is_sent(store: Store) -> None:
    opened, calls = provider_batch("one", "b", "a")
    store.ledger.intend_batch(opened, calls)
    (state,) = store.ledger.list_provider_batches()
    assert (state.batch, state.provider_id, state.events) == (opened, None, ())
    assert store.ledger.list_calls_of_batch("pb-one") == calls
    assert store.ledger.list_calls_of_batch("pb-other") == []
    assert {each.id for each in store.ledger.open_calls()} == {"c-a", "c-b"}
    assert store.ledger.spent() == 1800


def test_events_of_a_batch_are_listed_in_order_with_the_latest_provider_id(store: Store) -> None:
    for name in ("one", "two"):
        store.ledger.intend_batch(*provider_batch(name, f"{name}-a"))
    store.ledger.note_batch("pb-one", "sent", "msgbatch_1")
    store.ledger.note_batch("pb-two", "refused", None, "HTTP 400")
    store.ledger.note_batch("pb-one", "adopted", "msgbatch_2", wait=False)
    store.ledger.note_batch("pb-one", "ended", None, wait=False)
    one, two = store.ledger.list_provider_batches()
    assert [event.event for event in one.events] == ["sent", "adopted", "ended"]
    assert one.provider_id == "msgbatch_2"
    assert [(event.event, event.message) for event in two.events] == [("refused", "HTTP 400")]
    assert two.provider_id is None
    assert one.events[0].at.utcoffset() == timedelta(0)


def test_an_event_that_happens_twice_is_listed_twice(store: Store) -> None:
    store.ledger.intend_batch(*provider_batch("one", "a"))
    for _ in range(2):
        store.ledger.note_batch("pb-one", "adopted", "msgbatch_1")
    (state,) = store.ledger.list_provider_batches()
    assert [event.event for event in state.events] == ["adopted", "adopted"]


def test_an_event_of_an_unknown_batch_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no provider batch pb-one"):
        store.ledger.note_batch("pb-one", "sent", "msgbatch_1")


def test_calls_that_are_not_those_of_the_batch_are_refused(store: Store) -> None:
    opened, calls = provider_batch("one", "a", "b")
    stranger = call("b", batch_id="pb-two")
    for wrong in ([], calls[:1], calls[::-1], [calls[0], stranger], [*calls, calls[0]]):
        with pytest.raises(StoreError, match="not those that it lists"):
            store.ledger.intend_batch(opened, wrong)
    twice, same = provider_batch("one", "a", "a")
    with pytest.raises(StoreError, match="asks the same twice"):
        store.ledger.intend_batch(twice, same)
    assert store.ledger.list_provider_batches() == []
    assert store.ledger.open_calls() == []


def test_ends_of_a_key_are_listed_from_batches_only_and_oldest_first(store: Store) -> None:
    first, second = provider_batch("one", "a"), provider_batch("two", "b")
    assert store.ledger.list_batch_ends("k-a") == []
    store.ledger.intend_batch(*first)
    assert store.ledger.list_batch_ends("k-a") == [], "a call without an end has not come to anything yet"
    store.ledger.end_calls([(lost("a", 0), None)])
    assert store.ledger.list_batch_ends("k-a") == [lost("a", 0)]
    store.ledger.begin_calls([call("live", key="k-a")])
    store.ledger.end_calls([(lost("live"), None)])
    opened = second[0].model_copy(update={"keys": ("k-a",)})
    store.ledger.intend_batch(opened, [second[1][0].model_copy(update={"key": "k-a"})])
    store.ledger.end_calls([(lost("b", 0), None)])
    assert sorted(end.call_id for end in store.ledger.list_batch_ends("k-a")) == ["c-a", "c-b"]
    assert store.ledger.list_batch_ends("k-b") == []


def test_calls_that_may_have_been_paid_twice_are_named(store: Store) -> None:
    store.ledger.begin_calls([call("died", key="k-1"), call("timed", key="k-2"), call("fine", key="k-3")])
    store.ledger.end_calls([(lost("timed"), None)])
    assert [doubtful.call_id for doubtful in store.ledger.list_doubtful()] == ["c-timed"]
    later = call("again", key="k-1")
    store.ledger.begin_calls([later.model_copy(update={"started_at": later.started_at + timedelta(hours=1)})])
    found = {doubtful.call_id: doubtful.outcome for doubtful in store.ledger.list_doubtful()}
    assert found == {"c-timed": "lost", "c-died": "open"}
