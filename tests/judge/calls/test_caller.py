"""A question is remembered, shared, permitted, paid for, recorded and repeated."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipeline.errors import GraderError
from pipeline.judge.calls.budget import SpendingStopped
from pipeline.judge.calls.caller import LiveCaller, Question
from pipeline.judge.calls.line import LineClosed
from pipeline.judge.providers.provider import ModelRequest, ProviderError
from pipeline.store import Store, open_store
from pipeline.types import Call, Completion, Fault, JudgeRole, JudgeSetup, Owner, Usage
from tests.judge.calls.fakes import (
    Answer,
    LeapingTime,
    ScriptedProvider,
    a_question,
    a_role,
    an_answer,
    an_error,
)


class Case:
    """A caller over one scripted provider, in a time in which every sleep is over at once."""

    def __init__(self, store: Store, *script: Answer, **setup: Any) -> None:
        self.store = store
        self.provider = ScriptedProvider(*script)
        self.time = LeapingTime()
        self.caller = LiveCaller(
            JudgeSetup(judge=a_role(), **setup),
            store,
            open_provider=lambda role: self.provider,
            clock=self.time.clock(),
            random=Random(1),
        )

    async def ask(self, question: Question | None = None) -> Completion:
        try:
            return await self.caller.ask(question if question is not None else a_question())
        finally:
            await self.caller.aclose()

    async def ask_all(self, *questions: Question) -> list[Any]:
        try:
            return await asyncio.gather(*map(self.caller.ask, questions), return_exceptions=True)
        finally:
            await self.caller.aclose()

    async def fail(self, question: Question | None = None) -> ProviderError | LineClosed:
        with pytest.raises((ProviderError, LineClosed)) as raised:
            await self.ask(question)
        return raised.value

    def counts(self) -> tuple[int, int, int, int]:
        """Calls that the ledger has as answered, failed, lost and open."""
        lines = self.store.ledger.list_costs("provider")
        return (
            sum(line.answered for line in lines),
            sum(line.failed for line in lines),
            sum(line.lost for line in lines),
            sum(line.open for line in lines),
        )


CaseMaker = Callable[..., Case]


@pytest.fixture
def case(store: Store) -> CaseMaker:
    return lambda *script, **setup: Case(store, *script, **setup)


# Memory


async def test_an_answer_is_bought_once_whatever_caller_asks_again(case: CaseMaker, tmp_path: Path) -> None:
    first = case(an_answer("first"))
    assert (await first.ask()).text == "first"
    second = case(an_answer("second"))
    assert (await second.ask()).text == "first"
    assert (await second.ask(a_question("k2"))).text == "second"
    assert len(second.provider.requests) == 1
    assert (second.caller.spending.remembered, second.caller.spending.answered) == (1, 1)


async def test_an_answer_is_there_for_a_later_process(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with open_store(path) as store:
        await Case(store, an_answer("kept")).ask()
    with open_store(path) as store:
        case = Case(store, an_error("unreachable"))
        assert (await case.ask()).text == "kept"
        assert case.provider.requests == []


async def test_equal_questions_at_once_are_one_call(case: CaseMaker) -> None:
    asked = case(an_answer("one"), an_answer("two"))
    answers = await asked.ask_all(*[a_question("k1")] * 10, a_question("k2"))
    assert [answer.text for answer in answers] == ["one"] * 10 + ["two"]
    assert len(asked.provider.requests) == 2
    assert asked.caller.spending.shared == 9


async def test_equal_questions_at_once_share_a_failure_and_later_ones_try_again(case: CaseMaker) -> None:
    asked = case(an_error("bad_request", retryable=False), an_answer())
    outcomes = await asked.ask_all(*[a_question()] * 3)
    assert [outcome.fault.code for outcome in outcomes] == ["bad_request"] * 3
    assert len(asked.provider.requests) == 1
    assert (await asked.ask()).text == "yes"


async def test_when_whoever_asked_first_is_cancelled_the_next_one_asks(case: CaseMaker) -> None:
    async def hang(request: ModelRequest, timeout: float) -> Completion:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    started = asyncio.Event()
    asked = case(hang, an_answer("second try"))
    first = asyncio.ensure_future(asked.caller.ask(a_question()))
    await started.wait()
    others = [asyncio.ensure_future(asked.caller.ask(a_question())) for _ in range(3)]
    await asyncio.sleep(0)
    # Giving up waiting for another's call does not end that call.
    others[0].cancel()
    await asyncio.sleep(0)
    assert asked.provider.under_way == 1
    first.cancel()
    assert [answer.text for answer in await asyncio.gather(*others[1:])] == ["second try"] * 2
    await asked.caller.aclose()
    assert len(asked.provider.requests) == 2
    assert asked.counts() == (1, 0, 1, 0)


# Permission, keys and prices


async def test_a_provider_that_may_not_have_the_code_gets_nothing(case: CaseMaker) -> None:
    asked = case(send_to=("local",))
    error = await asked.fail()
    assert (error.fault.code, error.fault.owner) == ("provider_not_allowed", Owner.ENVIRONMENT)
    assert "--send-to house" in error.fault.remedy
    assert asked.provider.requests == []
    assert asked.counts() == (0, 0, 0, 0)
    # Somebody's choice is no breakdown: another role may be allowed.
    assert asked.caller.stopped is None


async def test_what_is_stored_is_used_whoever_may_be_asked_today(case: CaseMaker) -> None:
    await case(an_answer("from before")).ask()
    assert (await case(send_to=()).ask()).text == "from before"


@pytest.mark.parametrize("cap", ["max_cost", "max_cost_per_day"])
def test_a_cap_with_a_model_of_unknown_price_is_refused_at_once(store: Store, cap: str) -> None:
    setup = JudgeSetup(judge=a_role(), second=a_role("a-model-nobody-knows"), **{cap: 1.0})
    with pytest.raises(GraderError) as refused:
        LiveCaller(setup, store)
    assert refused.value.fault.code == "price_unknown"
    assert "a-model-nobody-knows (second, house)" in refused.value.fault.message


async def test_without_a_cap_calls_of_unknown_price_are_counted_as_such(case: CaseMaker) -> None:
    asked = case()
    await asked.ask(a_question(role=a_role("a-model-nobody-knows")))
    spending = asked.caller.spending
    assert (spending.answered, spending.unpriced, spending.cost) == (1, 1, 0)
    assert (spending.input_tokens, spending.output_tokens) == (100, 10)


async def test_a_provider_that_cannot_be_opened_fails_every_question_alike(store: Store) -> None:
    opened = []

    def refuse(role: JudgeRole) -> ScriptedProvider:
        opened.append(role)
        raise GraderError(Fault(owner=Owner.ENVIRONMENT, code="no_key", message="there is no key"))

    caller = LiveCaller(JudgeSetup(judge=a_role()), store, open_provider=refuse)
    with pytest.raises(ProviderError, match="there is no key"):
        await caller.ask(a_question("k1"))
    with pytest.raises(LineClosed, match="there is no key"):
        await caller.ask(a_question("k2"))
    assert len(opened) == 1
    assert caller.stopped is not None
    assert caller.stopped.code == "no_key"


# What is written down


async def test_an_answer_is_recorded_with_its_cost_and_on_whose_account(case: CaseMaker) -> None:
    asked = case(an_answer(read=100, written=10))
    await asked.ask()
    (line,) = asked.store.ledger.list_costs("criterion")
    assert (line.value, line.calls, line.answered, line.cost) == ("clarity", 1, 1, 120)
    assert asked.caller.spending.cost == 120
    assert [line.value for line in asked.store.ledger.list_costs("grading")] == ["g-1"]
    assert [line.value for line in asked.store.ledger.list_costs("provider")] == ["house"]


async def test_the_intent_names_the_call_before_it_is_sent(case: CaseMaker) -> None:
    seen: list[Call] = []

    async def look(request: ModelRequest, timeout: float) -> Completion:
        seen.extend(asked.store.ledger.open_calls())
        return an_answer()

    asked = case(look)
    await asked.ask()
    (call,) = seen
    assert (call.key, call.provider, call.model, call.role) == ("k1", "house", "priced", "judge")
    assert (call.grading_id, call.submission_id, call.criteria) == ("g-1", "s-1", ("clarity",))
    # At least the 100 tokens that it may write, at 2 micro-dollars each.
    assert call.estimated_cost > 200


_KILLED = """
import asyncio, os, pathlib, signal, sys
from pipeline.judge.calls.caller import LiveCaller
from pipeline.store import open_store
from pipeline.types import JudgeSetup
from tests.judge.calls.fakes import ScriptedProvider, a_question, a_role, an_answer

async def die(request, timeout):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    provider = ScriptedProvider(an_answer("bought"), die)
    store = open_store(pathlib.Path(sys.argv[1]))
    caller = LiveCaller(JudgeSetup(judge=a_role()), store, open_provider=lambda role: provider)
    await caller.ask(a_question("k1"))
    if sys.argv[2] == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    await caller.ask(a_question("k2"))

asyncio.run(main())
"""


@pytest.mark.parametrize(("moment", "left"), [("after", []), ("during", ["k2"])])
def test_a_kill_loses_no_answer_and_leaves_the_names_of_calls_under_way(
    tmp_path: Path, moment: str, left: list[str]
) -> None:
    path = tmp_path / "killed.duckdb"
    command = [sys.executable, "-c", _KILLED, str(path), moment]
    ended = subprocess.run(command, check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    with open_store(path) as store:
        answer = store.ledger.find_answer("k1")
        assert answer is not None
        assert answer.text == "bought"
        assert [call.key for call in store.ledger.open_calls()] == left


async def test_a_call_that_may_have_been_paid_counts_at_its_estimate(case: CaseMaker) -> None:
    asked = case(an_error("timed_out", retryable=False, maybe_charged=True))
    await asked.fail()
    assert asked.counts() == (0, 0, 1, 0)
    assert asked.caller.spending.lost == 1
    assert asked.caller.spending.cost == asked.store.ledger.spent() > 200


async def test_a_call_that_was_refused_costs_nothing(case: CaseMaker) -> None:
    asked = case(an_error("bad_request", retryable=False))
    await asked.fail()
    assert asked.counts() == (0, 1, 0, 0)
    assert asked.caller.spending.cost == asked.store.ledger.spent() == 0


async def test_a_cancelled_call_is_lost_and_may_be_paid(case: CaseMaker) -> None:
    async def hang(request: ModelRequest, timeout: float) -> Completion:
        task.cancel()
        await asyncio.Event().wait()
        raise AssertionError

    asked = case(hang)
    task = asyncio.ensure_future(asked.ask())
    await asyncio.wait({task})
    assert task.cancelled()
    assert asked.counts() == (0, 0, 1, 0)
    assert asked.caller.spending.cost > 200


async def test_a_call_cancelled_before_it_was_sent_costs_nothing(case: CaseMaker) -> None:
    asked = case()
    task = asyncio.ensure_future(asked.caller.ask(a_question()))
    while not asked.store.ledger.open_calls():
        await asyncio.sleep(0)
    assert asked.provider.requests == []
    task.cancel()
    await asyncio.wait({task})
    await asked.caller.aclose()
    assert asked.counts() == (0, 1, 0, 0)
    assert asked.store.ledger.spent() == 0


async def test_an_error_that_nobody_foresaw_is_ours_and_ends_one_question_only(case: CaseMaker) -> None:
    asked = case(TypeError("sk-secret"), an_answer())
    error = await asked.fail()
    assert (error.fault.owner, error.fault.code) == (Owner.GRADER, "unexpected_answer")
    assert "sk-secret" not in str(error)
    assert asked.counts() == (0, 0, 1, 0)
    assert (await asked.ask(a_question("k2"))).text == "yes"


@pytest.mark.parametrize("tokens", [10**30, -1])
async def test_an_answer_that_no_column_takes_is_the_judges_fault_and_the_store_lives_on(
    case: CaseMaker, tokens: int
) -> None:
    odd = Completion(text="x", stop="complete", model="priced", usage=Usage(output_tokens=tokens))
    asked = case(odd, an_answer())
    error = await asked.fail()
    assert (error.fault.owner, error.fault.code) == (Owner.JUDGE, "unstorable_answer")
    assert (await asked.ask(a_question("k2"))).text == "yes"
    assert asked.counts() == (1, 0, 1, 0)


@pytest.mark.parametrize("stop", ["length", "context", "refusal"])
async def test_an_answer_that_was_cut_or_refused_is_an_answer(case: CaseMaker, stop: Any) -> None:
    asked = case(an_answer("").model_copy(update={"stop": stop}))
    assert (await asked.ask()).stop == stop
    assert asked.counts() == (1, 0, 0, 0)


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
