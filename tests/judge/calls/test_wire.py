"""The same over real connections: real providers and SDK clients against a loopback server."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pipeline.judge.calls.caller import LiveCaller
from pipeline.judge.calls.line import LineClosed
from pipeline.judge.providers.compatible import forget_dialects
from pipeline.judge.providers.provider import ProviderError
from pipeline.store import Store
from pipeline.types import Completion, JudgeRole, JudgeSetup
from tests.judge.calls.fakes import LeapingTime, a_question
from tests.judge.loopback import Loopback
from tests.judge.loopback.fixtures import loopback

__all__ = ["loopback"]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-a-key-that-opens-nothing")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-opens-nothing")
    forget_dialects()


FORMATS = pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-compatible"])


def a_caller(server: Loopback, store: Store, provider: str) -> tuple[LiveCaller, JudgeRole, LeapingTime]:
    role = JudgeRole(
        provider=provider,  # type: ignore[arg-type]
        model="model-1",
        base_url=server.url(provider),
        max_output_tokens=500,
    )
    time = LeapingTime()
    caller = LiveCaller(JudgeSetup(judge=role), store, clock=time.clock(), random=Random(1))
    return caller, role, time


async def ask(caller: LiveCaller, *questions: Any) -> list[Any]:
    try:
        outcomes = []
        for question in questions:
            try:
                outcomes.append(await caller.ask(question))
            except (ProviderError, LineClosed) as error:
                outcomes.append(error)
        return outcomes
    finally:
        await caller.aclose()


@FORMATS
async def test_what_fails_for_a_while_is_repeated_until_it_is_answered(
    loopback: Loopback, store: Store, provider: str
) -> None:
    caller, role, time = a_caller(loopback, store, provider)
    loopback.play("status:429;retry-after=7", "status:529", "reset", "ok")
    (answer,) = await ask(caller, a_question(role=role))
    assert isinstance(answer, Completion)
    assert len(loopback.calls) == 4
    assert 7 <= time.slept[0] <= 8.75
    (line,) = store.ledger.list_costs("provider")
    # The broken connection may have been paid; the two refusals were not.
    assert (line.value, line.answered, line.failed, line.lost) == (provider, 1, 2, 1)
    # Once more: not a byte.
    await ask(caller, a_question(role=role))
    assert len(loopback.calls) == 4


@FORMATS
async def test_a_wrong_key_ends_the_run_after_one_request(
    loopback: Loopback, store: Store, provider: str
) -> None:
    caller, role, time = a_caller(loopback, store, provider)
    loopback.play("status:401")
    outcomes = await ask(caller, *(a_question(f"k{number}", role) for number in range(5)))
    assert [outcome.fault.code for outcome in outcomes] == ["wrong_key"] * 5
    assert [type(outcome) for outcome in outcomes] == [ProviderError] + [LineClosed] * 4
    assert len(loopback.calls) == 1
    assert caller.stopped is not None
    assert caller.stopped.code == "wrong_key"
    assert time.slept == []


@FORMATS
async def test_five_minutes_are_not_waited_for(loopback: Loopback, store: Store, provider: str) -> None:
    caller, role, time = a_caller(loopback, store, provider)
    loopback.play("status:429;retry-after=300")
    (outcome,) = await ask(caller, a_question(role=role))
    assert outcome.fault.code == "retry_after_too_long"
    assert len(loopback.calls) == 1
    assert time.slept == []
