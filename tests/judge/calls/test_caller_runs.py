"""When a call is repeated, when a run ends, and what it may spend."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from pipeline.judge.calls.budget import SpendingStopped
from pipeline.judge.calls.line import LineClosed
from pipeline.judge.providers.provider import ModelRequest, ProviderError
from pipeline.types import Call, Completion, Owner
from tests.judge.calls.case import CaseMaker
from tests.judge.calls.fakes import (
    a_question,
    a_role,
    an_answer,
    an_error,
)

# Repeats


async def test_each_attempt_is_a_call_of_its_own(case: CaseMaker) -> None:
    asked = case(an_error(throttled=True), an_error("reset", maybe_charged=True), an_answer())
    assert (await asked.ask()).text == "yes"
    assert asked.counts() == (1, 1, 1, 0)
    first, second = asked.time.slept
    assert 0.25 <= first <= 0.5 <= second <= 1


async def test_what_may_have_been_paid_three_times_for_nothing_is_not_asked_again(case: CaseMaker) -> None:
    asked = case(*(an_error("unreadable", maybe_charged=True) for _ in range(5)), an_answer())
    assert (await asked.fail()).fault.code == "unreadable"
    assert asked.counts() == (0, 0, 3, 0)


async def test_who_never_answered_and_cannot_be_reached_is_waited_for_half_a_minute(case: CaseMaker) -> None:
    asked = case(*(an_error("unreachable") for _ in range(60)))
    assert (await asked.fail()).fault.code == "unreachable"
    assert 30 < asked.time.seconds < 75


async def test_who_answered_before_is_waited_for_until_the_deadline(case: CaseMaker) -> None:
    asked = case(an_answer(), *(an_error("unreachable") for _ in range(60)), deadline_seconds=300.0)
    await asked.ask()
    assert (await asked.fail(a_question("k2"))).fault.code == "unreachable"
    assert asked.time.seconds > 200


async def test_each_attempt_gets_what_is_left_of_the_deadline(case: CaseMaker) -> None:
    asked = case(an_error(retry_after=40.0), an_answer(), deadline_seconds=100.0)
    await asked.ask()
    (slept,) = asked.time.slept
    assert asked.provider.timeouts == [100, 100 - slept]


async def test_time_in_our_own_line_takes_nothing_from_the_deadline(case: CaseMaker) -> None:
    async def take_long(request: ModelRequest, timeout: float) -> Completion:
        asked.time.seconds += 80
        return an_answer()

    asked = case(take_long, deadline_seconds=100.0)
    answers = await asked.ask_all(*(a_question(f"k{n}", a_role("one-by-one")) for n in range(5)))
    assert all(isinstance(answer, Completion) for answer in answers)
    assert asked.provider.timeouts == [100] * 5


async def test_a_provider_that_asks_for_too_long_a_wait_is_unavailable(case: CaseMaker) -> None:
    asked = case(an_error("rate_limited", throttled=True, retry_after=300.0))
    fault = (await asked.fail()).fault
    assert (fault.owner, fault.code) == (Owner.ENVIRONMENT, "retry_after_too_long")
    assert "asks to wait 300 s, and 60 s is the most" in fault.message
    assert "the provider said rate_limited" in fault.message
    assert asked.time.slept == []
    # And whoever comes next is not made to wait for it either.
    await asked.fail(a_question("k2"))
    assert asked.time.slept == []


async def test_after_the_deadline_the_last_error_stands_with_the_attempts(case: CaseMaker) -> None:
    asked = case(an_error(retry_after=40.0), an_error("reset", retry_after=40.0), deadline_seconds=100.0)
    fault = (await asked.fail()).fault
    assert fault.code == "reset"
    assert fault.owner is Owner.ENVIRONMENT
    # 40 s and up to a quarter more, once or twice, fit into 99 s; a third wait never does.
    attempts = len(asked.provider.requests)
    assert attempts in (2, 3)
    assert f"the provider said reset ({attempts} attempts in {asked.time.seconds:.0f} s)" == fault.message


# Ending a run


async def test_what_every_call_would_meet_is_met_once(case: CaseMaker) -> None:
    asked = case(an_error("wrong_key", retryable=False, stops_run=True), an_answer())
    questions = [a_question(f"k{number}") for number in range(50)]
    outcomes = await asked.ask_all(*questions)
    failed = [outcome for outcome in outcomes if isinstance(outcome, ProviderError)]
    closed = [outcome for outcome in outcomes if isinstance(outcome, LineClosed)]
    assert {outcome.fault.code for outcome in (*failed, *closed)} == {"wrong_key"}
    # Whoever sent something has a fault to tell; whoever did not is put off, and a later run goes on.
    assert len(failed) <= 4
    assert len(closed) >= 45
    # Four calls may be under way at first. Whoever stood in line behind them sent nothing.
    assert len(asked.provider.requests) == 4
    assert asked.caller.stopped is not None
    assert asked.caller.stopped.code == "wrong_key"
    # A lucky answer from that time does not undo it.
    assert (await asked.fail(a_question("later"))).fault == asked.caller.stopped
    assert len(asked.provider.requests) == 4


async def test_another_model_is_still_asked(case: CaseMaker) -> None:
    asked = case(an_error("unknown_model", retryable=False, stops_run=True), an_answer())
    await asked.fail(a_question(role=a_role("missing")))
    assert (await asked.ask(a_question("k2"))).text == "yes"


async def test_eight_failures_in_a_row_end_it_and_seven_do_not(case: CaseMaker) -> None:
    asked = case(an_error("bad_gateway", retryable=False))
    for number in range(7):
        await asked.fail(a_question(f"k{number}"))
    assert asked.caller.stopped is None
    assert (await asked.fail(a_question("k7"))).fault.code == "bad_gateway"
    assert asked.caller.stopped is not None
    assert asked.caller.stopped.code == "provider_unavailable"
    assert "the provider said bad_gateway" in asked.caller.stopped.message
    assert (await asked.fail(a_question("k8"))).fault == asked.caller.stopped
    assert len(asked.provider.requests) == 8


async def test_an_answer_in_between_starts_the_count_again(case: CaseMaker) -> None:
    failure = an_error("bad_gateway", retryable=False)
    asked = case(*[failure] * 7, an_answer(), *[failure] * 7, an_answer())
    for number in range(16):
        await asked.ask_all(a_question(f"k{number}"))
    assert asked.caller.stopped is None
    assert len(asked.provider.requests) == 16


async def test_requests_of_ours_that_are_never_taken_end_it_too(case: CaseMaker) -> None:
    asked = case(an_error("bad_request", owner=Owner.GRADER, retryable=False))
    for number in range(8):
        await asked.fail(a_question(f"k{number}"))
    assert asked.caller.stopped is not None
    assert asked.caller.stopped.owner is Owner.GRADER


@pytest.mark.parametrize("owner", [Owner.JUDGE, Owner.SUBMISSION])
async def test_faults_of_a_model_with_a_submission_end_no_run(case: CaseMaker, owner: Owner) -> None:
    asked = case(an_error("too_long", owner=owner, retryable=False))
    for number in range(20):
        await asked.fail(a_question(f"k{number}"))
    assert asked.caller.stopped is None


async def test_an_answer_to_a_call_under_way_closes_the_breaker_again(case: CaseMaker) -> None:
    async def answer_late(request: ModelRequest, timeout: float) -> Completion:
        await late.wait()
        return an_answer("late")

    late = asyncio.Event()
    asked = case(answer_late, *[an_error("bad_gateway", retryable=False)] * 8, an_answer())
    slow = asyncio.ensure_future(asked.caller.ask(a_question("slow")))
    while not asked.provider.requests:
        await asyncio.sleep(0.001)
    for number in range(8):
        await asked.ask_all(a_question(f"k{number}"))
        assert len(asked.provider.requests) == number + 2
    assert asked.caller.stopped is not None
    late.set()
    assert (await slow).text == "late"
    assert asked.caller.stopped is None
    assert (await asked.ask(a_question("after"))).text == "yes"


# Money


async def test_a_capped_run_stops_cleanly_keeps_its_answers_and_a_later_one_goes_on(case: CaseMaker) -> None:
    questions = [a_question(f"k{number}") for number in range(40)]
    estimate = (await _estimate(case)).estimated_cost
    # Room for the estimate of one call and the price (120) of five.
    capped = case(max_cost=(estimate + 5 * 120) / 1e6)
    outcomes = await capped.ask_all(*questions)
    answered = [outcome for outcome in outcomes if isinstance(outcome, Completion)]
    assert all(isinstance(outcome, Completion | SpendingStopped) for outcome in outcomes)
    # Six calls leave less than an estimate.
    assert len(answered) == len(capped.provider.requests) == 6
    assert capped.caller.stopped is not None
    assert capped.caller.stopped.code == "spending_cap"
    assert capped.caller.spending.cost == 720
    resumed = case()
    assert all(isinstance(outcome, Completion) for outcome in await resumed.ask_all(*questions))
    assert len(resumed.provider.requests) == 34


async def _estimate(case: CaseMaker) -> Call:
    """Return the intent of such a call, taken from one that costs nothing."""
    seen: list[Call] = []

    async def look(request: ModelRequest, timeout: float) -> Completion:
        seen.extend(probe.store.ledger.open_calls())
        raise an_error("bad_request", retryable=False)

    probe = case(look)
    await probe.fail(a_question("probe"))
    return seen[0]


async def test_the_cap_of_a_day_holds_over_runs(case: CaseMaker) -> None:
    estimate = (await _estimate(case)).estimated_cost
    cap = (estimate + 2 * 120) / 1e6
    questions = [a_question(f"k{number}") for number in range(10)]
    first = case(max_cost_per_day=cap)
    await first.ask_all(*questions[:2])
    second = case(max_cost_per_day=cap)
    outcomes = await second.ask_all(*questions)
    # Two are remembered, one more fits.
    assert sum(isinstance(outcome, Completion) for outcome in outcomes) == 3
    assert len(second.provider.requests) == 1


@pytest.mark.parametrize("seed", range(6))
async def test_whatever_happens_to_calls_what_was_spent_is_what_the_ledger_says(
    case: CaseMaker, seed: int
) -> None:
    chance = Random(seed)

    async def behave(request: ModelRequest, timeout: float) -> Completion:
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        kind = chance.randrange(8)
        if kind < 4:
            return an_answer(read=chance.randrange(90), written=chance.randrange(90))
        if kind == 4:
            raise an_error(throttled=True, retry_after=chance.choice([None, 1.0]))
        if kind == 5:
            raise an_error("reset", maybe_charged=True)
        if kind == 6:
            raise an_error("bad_request", owner=Owner.JUDGE, retryable=False)
        raise ValueError

    asked = case(behave, max_cost=0.05)
    tasks = [asyncio.ensure_future(asked.caller.ask(a_question(f"k{n % 45}"))) for n in range(60)]
    for task in chance.sample(tasks, 10):
        await asyncio.sleep(chance.choice([0, 0.002]))
        task.cancel()
    await asyncio.wait(tasks)
    await asked.caller.aclose()
    spending = asked.caller.spending
    assert asked.provider.most_under_way <= 8
    assert asked.provider.under_way == 0
    assert asked.counts() == (spending.answered, spending.failed, spending.lost, 0)
    assert asked.store.ledger.spent() == spending.cost <= 50_000
    for task, number in zip(tasks, range(60), strict=True):
        if not task.cancelled() and task.exception() is None:
            assert asked.store.ledger.find_answer(f"k{number % 45}") == task.result()


# Event loops


def test_one_caller_serves_several_event_loops_one_after_another(case: CaseMaker) -> None:
    asked = case()
    for loop in range(3):
        answers = asyncio.run(asked.ask_all(*[a_question(f"k{loop}-{n}") for n in range(20)]))
        assert all(isinstance(answer, Completion) for answer in answers)
    assert asked.provider.closed == 3
    assert asked.counts() == (60, 0, 0, 0)
