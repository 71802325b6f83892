"""A ledger under load, and with what no ledger should be given, over both transports."""

from __future__ import annotations

import threading
from datetime import datetime

import pytest

from pipeline.store import Store, StoreError
from tests.store.calls import answer, answered, ask_snapshot, call, failed, provider_batch


@pytest.mark.parametrize("size", [1, 7, 500])
def test_two_thousand_calls_in_groups_are_all_kept(store: Store, size: int) -> None:
    names = [str(number) for number in range(2000)]
    for start in range(0, len(names), size):
        group = names[start : start + size]
        store.ledger.begin_calls([call(name) for name in group], wait=False)
        store.ledger.end_calls([(answered(name, 3), answer(name)) for name in group], wait=False)
    store.flush()
    (line,) = store.ledger.list_costs("model")
    assert (line.calls, line.answered, line.cost) == (2000, 2000, 6000)
    for name in ("0", "999", "1999"):
        assert store.ledger.find_answer(f"k-{name}") == answer(name)


def test_many_threads_begin_and_end_at_once_and_nothing_is_lost(store: Store) -> None:
    faults: list[BaseException] = []

    def work(worker: int) -> None:
        try:
            for number in range(50):
                name = f"{worker}-{number}"
                store.ledger.begin_calls([call(name)], wait=False)
                store.ledger.end_calls([(answered(name, 1), answer(name))], wait=False)
                assert store.ledger.find_answer(f"k-{name}") == answer(name)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert store.ledger.spent() == 400
    assert store.ledger.open_calls() == []


AWKWARD = "x = 'a''b'; -- \x00 \u2028 \U0001f600 $1 ? {}\r\n"


def test_text_that_a_database_might_stumble_over_comes_back_unchanged(store: Store) -> None:
    begun = call(AWKWARD, criteria=(AWKWARD, ""), role=AWKWARD, provider=AWKWARD, model=AWKWARD)
    store.ledger.begin_calls([begun])
    assert store.ledger.open_calls() == [begun]
    end = answered(AWKWARD, 3).model_copy(update={"message": AWKWARD, "code": AWKWARD})
    store.ledger.end_calls([(end, answer(AWKWARD))])
    assert store.ledger.find_answer(begun.key) == answer(AWKWARD)
    assert {line.value: line.cost for line in store.ledger.list_costs("criterion")} == {AWKWARD: 2, "": 1}
    assert [line.value for line in store.ledger.list_costs("provider")] == [AWKWARD]
    assert ask_snapshot(store, "SELECT message FROM call_ends") == [(AWKWARD,)]


def test_an_answer_of_megabytes_comes_back_unchanged(store: Store) -> None:
    text = "level 3, since \u00e4 " * 300_000
    store.ledger.begin_calls([call("a")])
    store.ledger.end_calls([(answered("a"), answer(text))])
    assert store.ledger.find_answer("k-a") == answer(text)


def test_a_lone_surrogate_is_refused_in_words_and_costs_nobody_else_a_row(store: Store) -> None:
    ledger = store.ledger
    ledger.begin_calls([call("a"), call("b")], wait=False)
    ledger.intend_batch(*provider_batch("one", "c"))
    broken = "\ud800"
    with pytest.raises(StoreError, match="lone surrogate"):
        ledger.begin_calls([call("x").model_copy(update={"criteria": ("ok", broken)})])
    with pytest.raises(StoreError, match="lone surrogate"):
        ledger.end_calls([(failed("a").model_copy(update={"message": broken}), None)])
    with pytest.raises(StoreError, match="lone surrogate"):
        ledger.end_calls([(answered("a"), answer().model_copy(update={"text": broken}))])
    with pytest.raises(StoreError, match="lone surrogate"):
        ledger.note_batch("pb-one", "refused", None, broken)
    ledger.end_calls([(answered("b"), answer())])
    store.flush()
    assert {each.id for each in ledger.open_calls()} == {"c-a", "c-c"}
    assert ledger.find_answer("k-a") is None


@pytest.mark.parametrize("amount", [-1, 10**12 + 1, 2**63, 10**30])
def test_an_absurd_amount_is_refused_before_it_can_spoil_a_group(store: Store, amount: int) -> None:
    with pytest.raises(StoreError, match=f"estimated_cost is {amount}"):
        store.ledger.begin_calls([call("x", estimated_cost=amount)])
    store.ledger.begin_calls([call("a")])
    with pytest.raises(StoreError, match=f"c-a: cost is {amount}"):
        store.ledger.end_calls([(answered("a", amount), answer())])
    usage = answer().usage.model_copy(update={"output_tokens": amount})
    with pytest.raises(StoreError, match=f"c-a: output_tokens is {amount}"):
        store.ledger.end_calls([(answered("a").model_copy(update={"usage": usage}), answer())])
    store.ledger.end_calls([(answered("a", 10**12), answer())])
    assert store.ledger.spent() == 10**12


def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    naive = datetime(2026, 11, 30, 12, 0)
    with pytest.raises(StoreError, match="no time zone"):
        store.ledger.begin_calls([call("a", started_at=naive)])
    opened, calls = provider_batch("one", "a")
    with pytest.raises(StoreError, match="no time zone"):
        store.ledger.intend_batch(opened.model_copy(update={"created_at": naive}), calls)
    with pytest.raises(StoreError, match="needs a time zone"):
        store.ledger.spent(naive)
    assert store.ledger.open_calls() == []
