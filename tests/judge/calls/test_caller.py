"""A question is remembered, shared, permitted, paid for and recorded."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import GraderError
from pipeline.judge.calls.caller import LiveCaller
from pipeline.judge.calls.line import LineClosed
from pipeline.judge.providers.provider import ModelRequest, ProviderError
from pipeline.store import Store, open_store
from pipeline.types import Call, Completion, Fault, JudgeRole, JudgeSetup, Owner, Usage
from tests.judge.calls.case import Case, CaseMaker
from tests.judge.calls.fakes import (
    ScriptedProvider,
    a_question,
    a_role,
    an_answer,
    an_error,
)

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
