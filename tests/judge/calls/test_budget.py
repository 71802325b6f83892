"""Money is set aside before it is spent, and caps hold."""

from __future__ import annotations

import asyncio
import itertools
import random
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.judge.calls.budget import Budget, Reservation, SpendingStopped
from pipeline.store import Store
from pipeline.types import Call, CallEnd, JudgeSetup, Owner
from tests.judge.calls.fakes import MIDNIGHT, LeapingTime, SteppedTime, a_role


def caps(run: float | None = None, day: float | None = None) -> JudgeSetup:
    return JudgeSetup(judge=a_role(), max_cost=run, max_cost_per_day=day)


def a_call(name: str, estimate: int, at: datetime) -> Call:
    return Call(
        id=name,
        key=name,
        grading_id="g",
        submission_id="s",
        criteria=(),
        role="judge",
        provider="house",
        model="priced",
        started_at=at,
        estimated_cost=estimate,
    )


def spend(store: Store, name: str, cost: int, at: datetime, estimate: int = 0) -> None:
    store.ledger.begin_calls([a_call(name, estimate, at)])
    store.ledger.end_calls([(CallEnd(call_id=name, outcome="answered", seconds=1, cost=cost), None)])


async def test_without_a_cap_everything_passes_and_is_added_up(store: Store) -> None:
    budget = Budget(caps(), store.ledger, SteppedTime().clock())
    first, second = await budget.reserve(10**9), await budget.reserve(5)
    assert (budget.spent, budget.reserved) == (0, 10**9 + 5)
    budget.settle(first, 7)
    budget.settle(second, 0)
    budget.settle(second, 99)
    assert (budget.spent, budget.reserved) == (7, 0)


async def test_a_run_stops_before_the_call_that_might_pass_its_cap(store: Store) -> None:
    budget = Budget(caps(run=1.0), store.ledger, SteppedTime().clock())
    budget.settle(await budget.reserve(600_000), 600_000)
    budget.settle(await budget.reserve(400_000), 250_000)
    with pytest.raises(SpendingStopped) as stopped:
        await budget.reserve(150_001)
    fault = stopped.value.fault
    assert (fault.owner, fault.code) == (Owner.ENVIRONMENT, "spending_cap")
    assert "spent $0.85 of at most $1.00" in fault.message
    assert "$0.150001" in fault.message
    assert "--max-cost" in fault.remedy
    assert budget.stopped == fault


async def test_a_stopped_run_stays_stopped_also_for_what_would_still_fit(store: Store) -> None:
    budget = Budget(caps(run=1.0), store.ledger, SteppedTime().clock())
    with pytest.raises(SpendingStopped):
        await budget.reserve(1_000_001)
    with pytest.raises(SpendingStopped):
        await budget.reserve(1)


async def test_a_call_waits_while_only_what_is_set_aside_stands_in_its_way(store: Store) -> None:
    budget = Budget(caps(run=1.0), store.ledger, SteppedTime().clock())
    first = await budget.reserve(700_000)
    waiting = asyncio.ensure_future(budget.reserve(700_000))
    await asyncio.sleep(0.0)
    assert not waiting.done()
    budget.settle(first, 200_000)
    await waiting
    assert (budget.spent, budget.reserved) == (200_000, 700_000)


async def test_a_call_that_waited_is_stopped_when_the_money_was_really_spent(store: Store) -> None:
    budget = Budget(caps(run=1.0), store.ledger, SteppedTime().clock())
    first = await budget.reserve(700_000)
    waiting = [asyncio.ensure_future(budget.reserve(700_000)) for _ in range(3)]
    await asyncio.sleep(0)
    budget.settle(first, 700_000)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SpendingStopped] * 3


async def test_a_cancelled_wait_for_money_lets_the_next_one_go(store: Store) -> None:
    budget = Budget(caps(run=1.0), store.ledger, SteppedTime().clock())
    first = await budget.reserve(1_000_000)
    given_up, next_one = (asyncio.ensure_future(budget.reserve(900_000)) for _ in range(2))
    await asyncio.sleep(0)
    given_up.cancel()
    budget.settle(first, 0)
    assert isinstance(await next_one, Reservation)
    assert given_up.cancelled()


async def test_a_day_counts_what_every_run_spent_since_midnight_utc(store: Store) -> None:
    spend(store, "c-yesterday", 900_000, MIDNIGHT - timedelta(seconds=1))
    spend(store, "c-today", 300_000, MIDNIGHT)
    time = SteppedTime()
    budget = Budget(caps(day=1.0), store.ledger, time.clock())
    budget.settle(await budget.reserve(700_000), 0)
    with pytest.raises(SpendingStopped, match=r"spent \$0\.30 today \(UTC\) of at most \$1\.00"):
        await budget.reserve(700_001)


async def test_a_day_counts_calls_that_were_under_way_when_a_process_died(store: Store) -> None:
    store.ledger.begin_calls([a_call("c-open", 600_000, MIDNIGHT)])
    budget = Budget(caps(day=1.0), store.ledger, SteppedTime().clock())
    with pytest.raises(SpendingStopped):
        await budget.reserve(400_001)


async def test_what_another_run_spends_meanwhile_is_seen_within_ten_seconds(store: Store) -> None:
    time = SteppedTime()
    budget = Budget(caps(day=1.0), store.ledger, time.clock())
    budget.settle(await budget.reserve(100), 0)
    spend(store, "c-elsewhere", 999_950, MIDNIGHT)
    time.seconds = 10
    with pytest.raises(SpendingStopped):
        await budget.reserve(100)


async def test_what_this_run_spent_is_not_taken_for_somebody_elses_nor_the_other_way_round(
    store: Store,
) -> None:
    time = SteppedTime()
    budget = Budget(caps(day=1.0), store.ledger, time.clock())
    reservation = await budget.reserve(900_000)
    store.ledger.begin_calls([a_call("c-own", 900_000, MIDNIGHT)])
    budget.record(reservation, MIDNIGHT)
    store.ledger.end_calls([(CallEnd(call_id="c-own", outcome="answered", seconds=1, cost=100_000), None)])
    budget.settle(reservation, 100_000)
    spend(store, "c-elsewhere", 500_000, MIDNIGHT)
    time.seconds = 10
    budget.settle(await budget.reserve(400_000), 0)
    with pytest.raises(SpendingStopped, match=r"spent \$0\.60 today"):
        await budget.reserve(400_001)


async def test_what_another_run_had_set_aside_is_looked_at_again_before_stopping(store: Store) -> None:
    store.ledger.begin_calls([a_call("c-elsewhere", 900_000, MIDNIGHT)])
    budget = Budget(caps(day=1.0), store.ledger, SteppedTime().clock())
    budget.settle(await budget.reserve(100_000), 0)
    store.ledger.end_calls([(CallEnd(call_id="c-elsewhere", outcome="failed", seconds=1, cost=0), None)])
    assert isinstance(await budget.reserve(500_000), Reservation)


async def test_a_new_day_begins_with_nothing_spent(store: Store) -> None:
    time = LeapingTime()
    budget = Budget(caps(day=1.0), store.ledger, time.clock())
    spend(store, "c-1", 900_000, MIDNIGHT)
    before = await budget.reserve(50_000)
    time.day = MIDNIGHT + timedelta(days=1)
    full = await budget.reserve(1_000_000)
    budget.settle(before, 50_000)
    budget.settle(full, 1_000_000)
    with pytest.raises(SpendingStopped):
        await budget.reserve(1)


async def test_a_call_counts_to_the_day_on_which_it_is_sent(store: Store) -> None:
    time = LeapingTime()
    budget = Budget(caps(day=1.0), store.ledger, time.clock())
    reservation = await budget.reserve(800_000)
    time.day = MIDNIGHT + timedelta(days=1)
    store.ledger.begin_calls([a_call("c-1", 800_000, time.day)])
    budget.record(reservation, time.day)
    assert isinstance(await budget.reserve(200_000), Reservation)
    waiting = asyncio.ensure_future(budget.reserve(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()


#: Each example has a day of its own in the one database.
_DAYS = itertools.count()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 60), cap=st.integers(1, 3000))
async def test_spent_and_set_aside_never_pass_the_cap_and_sums_settle_to_the_cost(
    store: Store, seed: int, count: int, cap: int
) -> None:
    """Two runs over one database, each with some calls at once that are sent, cancelled, failed or lost."""
    chance = random.Random(seed)
    time = SteppedTime()
    time.seconds = 86_400.0 * next(_DAYS)
    midnight = time.today()
    setup = caps(run=cap / 1e6, day=2 * cap / 1e6)
    budgets = [Budget(setup, store.ledger, time.clock()) for _ in range(2)]
    paid = [0, 0]

    async def call(run: int, number: int) -> None:
        amount = chance.randint(0, 400)
        reservation = await budgets[run].reserve(amount)
        cost = 0
        try:
            assert budgets[run].spent + budgets[run].reserved <= cap
            if chance.random() < 0.8:
                name = f"c-{midnight:%j}-{number}"
                store.ledger.begin_calls([a_call(name, amount, time.today())], wait=False)
                budgets[run].record(reservation, time.today())
                await time.sleep(chance.uniform(0, 3))
                cost = chance.choice([0, amount // 3, amount])
                end = CallEnd(call_id=name, outcome="answered", seconds=1, cost=cost)
                store.ledger.end_calls([(end, None)], wait=False)
        finally:
            paid[run] += cost
            budgets[run].settle(reservation, cost)

    outcomes = await time.run(*(call(number % 2, number) for number in range(count)))
    assert all(outcome is None or isinstance(outcome, SpendingStopped) for outcome in outcomes)
    assert [budget.spent for budget in budgets] == paid
    assert [budget.reserved for budget in budgets] == [0, 0]
    assert store.ledger.spent(midnight) == sum(paid) <= 2 * cap
