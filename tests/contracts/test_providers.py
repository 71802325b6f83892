"""Every provider, whatever its wire format, keeps the promises of the seam."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import get_args

import pytest

from pipeline.judge.providers import open_batch_provider, open_provider
from pipeline.judge.providers.compatible import forget_dialects
from pipeline.judge.providers.provider import BatchProvider, Provider, ProviderError
from pipeline.types import JudgeRole, Owner
from tests.judge.loopback import Loopback
from tests.judge.providers.cases import ANSWER, make_request, make_role

FORMATS = get_args(JudgeRole.model_fields["provider"].annotation)
every_format = pytest.mark.parametrize("wire", FORMATS)

#: Formats that also take batches; a new one must say on which side it stands.
BATCHING = ("anthropic", "openai")


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-a-key-that-opens-nothing")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-opens-nothing")
    forget_dialects()
    yield
    forget_dialects()


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


def members_of(protocol: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(member)
        for name, member in inspect.getmembers(protocol, inspect.isfunction)
        if not name.startswith("_")
    }


def shape_of(signature: inspect.Signature) -> list[tuple[str, object]]:
    return [(parameter.name, parameter.kind) for parameter in signature.parameters.values()]


def test_the_seam_has_the_members_that_callers_use() -> None:
    assert set(members_of(Provider)) == {"complete", "count_tokens", "aclose"}
    batches = {"submit", "list_batches", "poll", "results", "cancel"}
    assert set(members_of(BatchProvider)) == set(members_of(Provider)) | batches


@every_format
def test_a_provider_has_the_members_of_the_protocol(wire: str, loopback: Loopback) -> None:
    kind = type(open_provider(make_role(loopback, wire)))
    for name, signature in members_of(Provider).items():
        assert shape_of(inspect.signature(getattr(kind, name))) == shape_of(signature), name
        assert inspect.iscoroutinefunction(getattr(kind, name)), name


@every_format
def test_a_provider_takes_batches_or_says_that_it_does_not(wire: str, loopback: Loopback) -> None:
    role = make_role(loopback, wire)
    if wire in BATCHING:
        kind = type(open_batch_provider(role))
        for name, signature in members_of(BatchProvider).items():
            assert shape_of(inspect.signature(getattr(kind, name))) == shape_of(signature), name
    else:
        with pytest.raises(Exception, match="takes no batches"):
            open_batch_provider(role)


@every_format
async def test_an_answer_is_one_request(wire: str, loopback: Loopback) -> None:
    provider = open_provider(make_role(loopback, wire))
    completion = await provider.complete(make_request(), timeout=30.0)
    await provider.aclose()
    assert (completion.text, completion.stop) == (ANSWER, "complete")
    assert completion.usage.output_tokens > 0
    assert len(loopback.requests) == 1


#: Step of the loopback server, and the fault, its owner and whether it may be tried again.
FAULTS = {
    "status:401": ("wrong_key", Owner.ENVIRONMENT, False),
    "status:404": ("unknown_model", Owner.ENVIRONMENT, False),
    "status:429;retry-after=7": ("rate_limited", Owner.ENVIRONMENT, True),
    "status:500": ("provider_failed", Owner.ENVIRONMENT, True),
    "status:529": ("overloaded", Owner.ENVIRONMENT, True),
    "html": ("unreadable_answer", Owner.ENVIRONMENT, True),
    "malformed": ("unreadable_answer", Owner.ENVIRONMENT, True),
    "reset-body": ("connection_lost", Owner.ENVIRONMENT, True),
}


@every_format
@pytest.mark.parametrize("step", FAULTS)
async def test_a_fault_is_one_request_with_the_same_meaning_in_every_format(
    wire: str, step: str, loopback: Loopback
) -> None:
    loopback.play(step)
    provider = open_provider(make_role(loopback, wire))
    with pytest.raises(ProviderError) as caught:
        await provider.complete(make_request(), timeout=30.0)
    await provider.aclose()
    fault = caught.value.fault
    assert (fault.code, fault.owner, caught.value.retryable) == FAULTS[step]
    assert len(loopback.requests) == 1


@every_format
async def test_closing_twice_is_closing_once(wire: str, loopback: Loopback) -> None:
    provider = open_provider(make_role(loopback, wire))
    await provider.aclose()
    await provider.complete(make_request(), timeout=30.0)
    await provider.aclose()
    await provider.aclose()
    assert len(loopback.requests) == 1


@every_format
def test_one_provider_serves_two_event_loops(wire: str, loopback: Loopback) -> None:
    provider = open_provider(make_role(loopback, wire))

    async def ask() -> str:
        try:
            return (await provider.complete(make_request(), timeout=30.0)).text
        finally:
            await provider.aclose()

    assert [asyncio.run(ask()), asyncio.run(ask())] == [ANSWER, ANSWER]


@every_format
def test_opening_sends_nothing_and_needs_no_key(
    wire: str, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY")
    open_provider(make_role(loopback, wire))
    assert loopback.requests == []
