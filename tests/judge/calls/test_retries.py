"""When a call is repeated, and after how long."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.judge.calls.clock import Deadline
from pipeline.judge.calls.retries import repeat_calls
from pipeline.judge.providers.provider import ProviderError
from tests.judge.calls.fakes import SteppedTime, an_error


async def repeat(
    time: SteppedTime,
    *errors: BaseException,
    deadline: float = 600.0,
    longest_wait: float = 60.0,
    seconds: float = 0.0,
    seed: int = 1,
) -> tuple[Any, list[float]]:
    """Fail with each of `errors`, then succeed; return what came of it and when attempts began."""
    began: list[float] = []
    left = list(errors)

    async def attempt() -> str:
        began.append(time.seconds)
        await time.sleep(seconds)
        if left:
            raise left.pop(0)
        return "answer"

    limit = Deadline(time.clock(), deadline)
    (outcome,) = await time.run(repeat_calls(limit, longest_wait, time.clock(), Random(seed))(attempt))
    return outcome, began


@pytest.mark.parametrize("seed", range(20))
async def test_waits_double_from_half_a_second_to_half_a_minute_less_up_to_a_half(seed: int) -> None:
    outcome, began = await repeat(SteppedTime(), *[an_error() for _ in range(9)], seed=seed)
    waits = [second - first for first, second in pairwise(began)]
    spans = [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert outcome == "answer"
    assert all(span / 2 <= wait <= span for wait, span in zip(waits, spans, strict=True))


async def test_calls_that_failed_together_do_not_come_back_together() -> None:
    second = {(await repeat(SteppedTime(), an_error(), seed=seed))[1][1] for seed in range(20)}
    assert len(second) == 20


@pytest.mark.parametrize("seed", range(20))
async def test_a_provider_that_says_when_is_not_asked_earlier_and_at_most_a_quarter_later(seed: int) -> None:
    _, began = await repeat(SteppedTime(), an_error(retry_after=20.0), seed=seed)
    assert 20 <= began[1] <= 25


async def test_a_wait_longer_than_allowed_ends_it() -> None:
    error = an_error(retry_after=300.0)
    outcome, began = await repeat(SteppedTime(), error)
    assert outcome is error
    assert began == [0]


async def test_what_cannot_succeed_later_is_not_repeated() -> None:
    error = an_error("bad_request", retryable=False)
    assert await repeat(SteppedTime(), error) == (error, [0])


@pytest.mark.parametrize("error", [RuntimeError("a bug"), asyncio.CancelledError()])
async def test_what_is_no_providers_error_passes_through(error: BaseException) -> None:
    outcome, began = await repeat(SteppedTime(), error)
    assert type(outcome) is type(error)
    assert began == [0]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    deadline=st.floats(0.1, 200),
    seconds=st.floats(0, 20),
    waits=st.lists(st.none() | st.floats(0, 80), min_size=40, max_size=40),
)
async def test_no_attempt_begins_with_less_than_a_second_left_and_the_last_error_is_raised(
    seed: int, deadline: float, seconds: float, waits: list[float | None]
) -> None:
    errors = [an_error(retry_after=wait) for wait in waits for _ in range(10)]
    outcome, began = await repeat(SteppedTime(), *errors, deadline=deadline, seconds=seconds, seed=seed)
    assert isinstance(outcome, ProviderError)
    assert outcome is errors[len(began) - 1]
    assert all(start <= deadline - 1 + 1e-9 for start in began[1:])


async def test_time_in_our_own_line_does_not_count() -> None:
    time = SteppedTime()
    deadline = Deadline(time.clock(), 10)
    time.seconds = 25
    assert deadline.rest == 0
    deadline.excuse(20)
    assert (deadline.elapsed, deadline.rest) == (5, 5)
