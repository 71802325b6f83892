"""How many calls are under way at once."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.judge.calls.throttle import Slot, Throttle
from tests.judge.calls.fakes import SteppedTime


def a_throttle(time: SteppedTime, start: int = 4, maximum: int = 64, **limits: Any) -> Throttle:
    given = {"requests_per_minute": None, "tokens_per_minute": None, **limits}
    return Throttle(start=start, maximum=maximum, clock=time.clock(), **given)


async def call(throttle: Throttle, time: SteppedTime, seconds: float = 1.0, tokens: int = 1) -> float:
    """Make a call that is answered after `seconds`; return when it began."""
    async with throttle.slot(tokens) as slot:
        began = time.seconds
        await time.sleep(seconds)
        throttle.note_answer(slot)
    return began


async def test_calls_beyond_the_limit_wait_and_answers_raise_it_by_one_each_at_first() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=2)
    began = await time.run(*(call(throttle, time) for _ in range(14)))
    # 2 at once, then 4, then 8: each answer in a full house adds one.
    assert began == [0] * 2 + [1] * 4 + [2] * 8


async def test_the_limit_ends_at_its_maximum() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=2, maximum=3)
    began = await time.run(*(call(throttle, time) for _ in range(8)))
    assert began == [0, 0, 1, 1, 1, 2, 2, 2]


async def test_answers_that_come_while_slots_are_free_raise_nothing() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=4)
    for _ in range(10):
        await time.run(call(throttle, time), call(throttle, time))
    assert throttle.limit == 4


async def refuse(
    throttle: Throttle, time: SteppedTime, seconds: float, retry_after: float | None = None
) -> None:
    async with throttle.slot(1) as slot:
        await time.sleep(seconds)
        throttle.note_refusal(slot, retry_after)


async def test_refusals_of_one_round_halve_the_limit_once() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=16)
    await time.run(*(refuse(throttle, time, 1) for _ in range(16)))
    assert throttle.limit == 8


async def test_refusals_of_later_rounds_halve_it_again_down_to_one() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=8)
    limits = []
    for _ in range(5):
        await time.run(*(refuse(throttle, time, 1) for _ in range(throttle.limit)))
        limits.append(throttle.limit)
    assert limits == [4, 2, 1, 1, 1]


async def test_a_cut_halves_what_was_under_way_where_the_limit_was_not_filled() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=64)
    await time.run(*(refuse(throttle, time, 1) for _ in range(8)))
    assert throttle.limit == 4


async def test_after_a_cut_a_full_round_of_answers_adds_one() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=8)
    await time.run(*(refuse(throttle, time, 1) for _ in range(8)))
    began = await time.run(*(call(throttle, time) for _ in range(15)))
    # From 4 by a quarter per answer, then by a fifth: no doubling as at first.
    assert began == [1] * 4 + [2] * 5 + [3] * 6


async def test_answers_to_calls_from_before_a_cut_raise_nothing() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=4)
    await time.run(refuse(throttle, time, 1), *(call(throttle, time, 2) for _ in range(3)))
    assert throttle.limit == 2


async def test_nobody_sends_before_the_provider_said_to_come_back() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=4)
    await time.run(refuse(throttle, time, 1, retry_after=30), refuse(throttle, time, 2, retry_after=5))
    began = await time.run(call(throttle, time), call(throttle, time), call(throttle, time))
    # The longer of the two waits counts, from when it was told: 1 + 30. Two were under way, so one may
    # be now, and its answer makes it two.
    assert began == [31, 32, 32]


async def test_requests_are_kept_to_their_rate() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=64, requests_per_minute=6)
    began = await time.run(*(call(throttle, time, 0.5) for _ in range(8)))
    assert began == [0, 0, 0, 0, 0, 0, 10, pytest.approx(20)]


async def test_tokens_are_kept_to_their_rate_and_what_was_not_used_is_given_back() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=64, tokens_per_minute=600)

    async def use(tokens: int, used: int) -> float:
        async with throttle.slot(tokens) as slot:
            began = time.seconds
            slot.used = used
        return began

    # 600 are there; 500 taken and 400 given back leave 500; 500 taken leave none, and 10 come per second.
    assert await time.run(use(500, 100), use(500, 500), use(100, 100)) == [0, 0, 10]


async def test_a_call_larger_than_the_bucket_goes_when_it_is_full_and_nobody_passes_it() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=64, tokens_per_minute=60)
    began = await time.run(
        call(throttle, time, 0, 30), call(throttle, time, 0, 90), call(throttle, time, 0, 1)
    )
    # 30 of 60 are taken: full again after 30 s; 90 leave a debt of 30, so one token is there 31 s later.
    assert began == [0, 30, pytest.approx(61)]


async def test_a_cancelled_wait_gives_its_place_to_the_next() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=1)
    first, second, third = (asyncio.ensure_future(call(throttle, time)) for _ in range(3))
    await asyncio.sleep(0)
    second.cancel()
    await time.run(asyncio.wait({first, second, third}))
    assert (first.result(), third.result()) == (0, 1)
    assert len(throttle._slots) == 0


def test_a_loop_that_was_torn_down_in_the_middle_of_calls_leaves_nothing_to_the_next() -> None:
    time = SteppedTime()
    throttle = a_throttle(time, start=2)
    loop = asyncio.new_event_loop()

    async def hang() -> None:
        async with throttle.slot(1):
            await loop.create_future()

    calls = [hang() for _ in range(5)]

    async def begin() -> list[asyncio.Task[None]]:
        tasks = [asyncio.ensure_future(one) for one in calls]
        await asyncio.sleep(0)
        return tasks

    torn = loop.run_until_complete(begin())
    loop.close()
    assert len(throttle._slots) == 2
    began = asyncio.run(time.run(*(call(throttle, time) for _ in range(3))))
    assert began == [0, 0, 1]
    # Whatever still comes of the old calls changes nothing.
    for task, one in zip(reversed(torn), reversed(calls), strict=True):
        one.close()
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    assert (len(throttle._slots), throttle.limit) == (0, 3)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 40),
    start=st.integers(1, 6),
    requests=st.none() | st.integers(5, 120),
    tokens=st.none() | st.integers(50, 2000),
)
async def test_whatever_is_cancelled_or_refused_limits_hold_and_nothing_leaks(
    seed: int, count: int, start: int, requests: int | None, tokens: int | None
) -> None:
    time, chance = SteppedTime(), random.Random(seed)
    throttle = a_throttle(time, start=start, requests_per_minute=requests, tokens_per_minute=tokens)
    granted: list[tuple[float, int, int]] = []
    pause_ends = [0.0]

    async def work(number: int) -> None:
        amount = chance.choice([1, 10, 49])
        async with throttle.slot(amount) as slot:
            assert isinstance(slot, Slot)
            assert len(throttle._slots) <= throttle.limit
            assert time.seconds >= max(pause_ends) - 1e-9
            granted.append((time.seconds, amount, number))
            await time.sleep(chance.uniform(0, 5))
            if chance.random() < 0.2:
                asked = chance.choice([None, 3.0])
                throttle.note_refusal(slot, asked)
                pause_ends.append(time.seconds + (asked or 0.0))
            elif chance.random() < 0.8:
                throttle.note_answer(slot)
            else:
                raise RuntimeError("neither")

    tasks = [asyncio.ensure_future(work(number)) for number in range(count)]

    async def cancel_some() -> None:
        for task in chance.sample(tasks, count // 2):
            await time.sleep(chance.choice([0, 0, 0.5, 4]))
            task.cancel()

    await time.run(cancel_some(), asyncio.wait(tasks))
    assert len(throttle._slots) == 0
    # First come, first served, whoever gave up in between.
    assert [number for _, _, number in granted] == sorted(number for _, _, number in granted)
    # Whoever was not cancelled had a turn.
    assert {n for n, task in enumerate(tasks) if not task.cancelled()} <= {n for _, _, n in granted}
    for rate, amounts in ((requests, [1] * len(granted)), (tokens, [amount for _, amount, _ in granted])):
        if rate is not None:
            for first in range(len(granted)):
                for last in range(first, len(granted)):
                    span = granted[last][0] - granted[first][0]
                    assert sum(amounts[first : last + 1]) <= rate * (1 + span / 60) + 1e-6
    # And everything still works.
    assert len(await time.run(*(call(throttle, time) for _ in range(5)))) == 5
