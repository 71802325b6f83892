"""What calls to models cost, and which may be paid twice, over both transports."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pytest

from pipeline.store import CostGroup, CostLine, Store, open_store
from tests.store.calls import answer, answered, ask_snapshot, call, failed, lost, provider_batch
from tests.store.examples import NOON, database, save_waiting


def costs(store: Store, by: CostGroup) -> dict[str, int]:
    return {line.value: line.cost for line in store.ledger.list_costs(by)}


def test_spent_counts_ends_by_their_cost_and_open_calls_by_their_estimate(store: Store) -> None:
    store.ledger.begin_calls([call("a"), call("b"), call("c"), call("d", estimated_cost=70)])
    store.ledger.end_calls([(answered("a", 500), answer()), (failed("b"), None), (lost("c", 30), None)])
    # 500 answered, 0 failed, 30 lost, 70 set aside.
    assert store.ledger.spent() == 600


def test_spent_counts_from_a_moment_whatever_the_time_zone(store: Store) -> None:
    midnight = datetime(2026, 12, 1, tzinfo=UTC)
    tokyo, new_york = timezone(timedelta(hours=9)), timezone(timedelta(hours=-5))
    store.ledger.begin_calls(
        [
            call("a", started_at=midnight - timedelta(microseconds=1), estimated_cost=1),
            # 22:59 and 23:01 UTC of the day before; then midnight itself, and a day later.
            call("b", started_at=datetime(2026, 12, 1, 7, 59, tzinfo=tokyo), estimated_cost=10),
            call("c", started_at=datetime(2026, 11, 30, 18, 1, tzinfo=new_york), estimated_cost=100),
            call("d", started_at=datetime(2026, 11, 30, 19, 0, tzinfo=new_york), estimated_cost=1000),
            call("e", started_at=midnight + timedelta(days=1), estimated_cost=10000),
        ]
    )
    assert store.ledger.spent() == 11111
    assert store.ledger.spent(midnight) == 11000
    assert store.ledger.spent(midnight.astimezone(tokyo)) == 11000
    assert store.ledger.spent(midnight - timedelta(hours=1)) == 11101
    assert store.ledger.spent(midnight + timedelta(days=2)) == 0
    assert costs(store, "day") == {"2026-11-30": 111, "2026-12-01": 1000, "2026-12-02": 10000}


def test_the_utc_day_does_not_depend_on_the_zone_of_whoever_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(database(tmp_path)) as store:
        store.ledger.begin_calls([call("a", started_at=datetime(2026, 11, 30, 23, 30, tzinfo=UTC))])
        snapshot = store.snapshot()
    with duckdb.connect(str(snapshot), read_only=True) as reader:
        reader.execute("SET TimeZone = 'Asia/Tokyo'")
        assert reader.execute("SELECT day::VARCHAR FROM costs").fetchall() == [("2026-11-30",)]


def test_costs_are_listed_by_each_of_their_groups(store: Store) -> None:
    store.ledger.begin_calls(
        [
            call("a", grading_id="g-1", submission_id="s-1"),
            call("b", grading_id="g-2", submission_id="s-1", role="second", provider="local", model="small"),
            call("c", grading_id="g-3", submission_id="s-2", role="second", model="large"),
        ]
    )
    store.ledger.end_calls(
        [(answered("a", 3), answer()), (answered("b", 50), answer()), (answered("c", 700), answer())]
    )
    assert costs(store, "day") == {"2026-11-30": 753}
    assert costs(store, "provider") == {"anthropic": 703, "local": 50}
    assert costs(store, "model") == {"claude": 3, "large": 700, "small": 50}
    assert costs(store, "role") == {"judge": 3, "second": 750}
    assert costs(store, "submission") == {"s-1": 53, "s-2": 700}
    assert costs(store, "grading") == {"g-1": 3, "g-2": 50, "g-3": 700}
    # 3 = 2 + 1, 50 = 25 + 25, 700 = 350 + 350.
    assert costs(store, "criterion") == {"clarity": 377, "tiling": 376}


def test_a_line_counts_outcomes_and_tokens_by_kind(store: Store) -> None:
    names = ("a", "b", "c", "d", "e")
    store.ledger.begin_calls([call(name) for name in names])
    store.ledger.end_calls(
        [
            (answered("a", 500), answer()),
            (answered("b", 400), answer()),
            (failed("c"), None),
            (lost("d", 20), None),
        ]
    )
    assert store.ledger.list_costs("provider") == [
        CostLine(
            value="anthropic",
            calls=5,
            answered=2,
            failed=1,
            lost=1,
            open=1,
            input_tokens=200,
            cache_read_tokens=80,
            cache_write_tokens=40,
            output_tokens=20,
            # 500 + 400 + 0 + 20, and 900 set aside for the open one.
            cost=1820,
            possibly_twice_cost=20,
        )
    ]


@pytest.mark.parametrize(
    ("criteria", "cost", "expected"),
    [
        (("a", "b", "c"), 10, {"a": 4, "b": 3, "c": 3}),
        (("c", "b", "a"), 11, {"a": 3, "b": 4, "c": 4}),
        (("a", "b", "c"), 2, {"a": 1, "b": 1, "c": 0}),
        (("a", "b"), 0, {"a": 0, "b": 0}),
        (("a",), 7, {"a": 7}),
        ((), 7, {"": 7}),
    ],
)
def test_a_cost_is_split_evenly_and_the_first_criteria_take_what_does_not_divide(
    store: Store, criteria: tuple[str, ...], cost: int, expected: dict[str, int]
) -> None:
    store.ledger.begin_calls([call("a", criteria=criteria)])
    store.ledger.end_calls([(answered("a", cost), answer())])
    assert costs(store, "criterion") == expected


def test_tokens_are_split_like_costs_and_the_calls_count_for_each_criterion(store: Store) -> None:
    store.ledger.begin_calls([call("a", criteria=("x", "y", "z"))])
    store.ledger.end_calls([(answered("a"), answer())])
    lines = store.ledger.list_costs("criterion")
    assert [line.calls for line in lines] == [1, 1, 1]
    # 100, 40, 20 and 10 tokens, each among three.
    assert [line.input_tokens for line in lines] == [34, 33, 33]
    assert [line.cache_read_tokens for line in lines] == [14, 13, 13]
    assert [line.cache_write_tokens for line in lines] == [7, 7, 6]
    assert [line.output_tokens for line in lines] == [4, 3, 3]


GROUPS: tuple[CostGroup, ...] = (
    "day",
    "provider",
    "model",
    "role",
    "submission",
    "criterion",
    "grading",
)


def test_whatever_costs_are_listed_by_they_add_up_to_what_was_spent(store: Store) -> None:
    source = random.Random(7)
    total = twice = 0
    for number in range(300):
        name, cost = str(number), source.randrange(10**6)
        begun = call(
            name,
            criteria=tuple("abcdefg"[: source.randrange(8)]),
            started_at=NOON + timedelta(hours=source.randrange(100)),
            submission_id=f"s-{source.randrange(20)}",
            model=source.choice(["m", "n"]),
            estimated_cost=cost,
        )
        store.ledger.begin_calls([begun], wait=False)
        total += cost
        match source.randrange(3):
            case 0:
                store.ledger.end_calls([(answered(name, cost), answer())], wait=False)
            case 1:
                store.ledger.end_calls([(lost(name, cost), None)], wait=False)
                twice += cost
    assert store.ledger.spent() == total
    for by in GROUPS:
        lines = store.ledger.list_costs(by)
        assert sum(line.cost for line in lines) == total, by
        assert sum(line.possibly_twice_cost for line in lines) == twice, by
    assert ask_snapshot(store, "SELECT sum(cost)::BIGINT FROM submission_costs") == [(total,)]


# Paid twice, possibly


@pytest.mark.parametrize(
    ("ends", "named"),
    [
        # Each call asks the same, one after the other.
        ([None], []),
        ([None, "answered"], ["c-0"]),
        ([None, None], ["c-0"]),
        ([None, None, "answered"], ["c-0", "c-1"]),
        (["failed", "answered"], []),
        (["failed", None], []),
        (["lost"], ["c-0"]),
        (["lost", "answered"], ["c-0"]),
        (["answered"], []),
    ],
)
def test_calls_that_may_be_paid_twice_are_named(
    store: Store, ends: list[str | None], named: list[str]
) -> None:
    make = {"answered": answered, "failed": failed, "lost": lost}
    for number, outcome in enumerate(ends):
        started = NOON + timedelta(seconds=number)
        store.ledger.begin_calls([call(str(number), key="k", started_at=started)])
        if outcome is not None:
            end = make[outcome](str(number))
            store.ledger.end_calls([(end, answer() if outcome == "answered" else None)])
    store.ledger.begin_calls([call("unrelated", started_at=NOON + timedelta(days=1))])
    found = ask_snapshot(store, "SELECT call_id FROM costs WHERE possibly_paid_twice ORDER BY call_id")
    assert found == [(name,) for name in named]
    (line,) = store.ledger.list_costs("provider")
    assert line.possibly_twice_cost == 900 * len(named)


def test_analysts_find_one_row_per_call_with_how_it_was_sent(store: Store) -> None:
    opened, calls = provider_batch("one", "b")
    store.ledger.begin_calls([call("a")])
    store.ledger.intend_batch(opened, calls)
    store.ledger.end_calls([(answered("a", 500), answer())])
    found = ask_snapshot(
        store,
        "SELECT call_id, day::VARCHAR, mode, batch_id, outcome, cost, output_tokens"
        " FROM costs ORDER BY call_id",
    )
    assert found == [
        ("c-a", "2026-11-30", "live", None, "answered", 500, 10),
        ("c-b", "2026-11-30", "batch", "pb-one", "open", 900, 0),
    ]
    assert ask_snapshot(store, "SELECT submission_id, gradings, calls, cost FROM submission_costs") == [
        ("s-a", 1, 2, 1400)
    ]


def test_what_grading_came_to_does_not_depend_on_what_it_cost(store: Store) -> None:
    save_waiting(store, "a")
    before = store.canonical_hash()
    store.ledger.begin_calls([call("a"), call("b")])
    store.ledger.end_calls([(answered("a"), answer())])
    assert store.canonical_hash() == before
