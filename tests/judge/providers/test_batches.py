"""Batches from the hand-over to the last line, with the real SDK clients."""

from __future__ import annotations

from contextlib import aclosing
from datetime import UTC, datetime, timedelta

import pytest

from pipeline.errors import GraderError
from pipeline.judge.providers import open_batch_provider
from pipeline.judge.providers.provider import BatchProvider, ModelRequest, ProviderError
from pipeline.types import Completion
from tests.judge.loopback import Loopback
from tests.judge.providers.cases import ANSWER, make_request, make_role

HOSTED = ("anthropic", "openai")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(params=HOSTED)
def hosted(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make_requests(count: int) -> dict[str, ModelRequest]:
    return {f"pb-1-{place}": make_request() for place in range(count)}


async def collect(opened: BatchProvider, provider_id: str) -> dict[str, Completion | ProviderError]:
    return {name: outcome async for name, outcome in opened.results(provider_id)}


async def test_a_batch_lives_from_hand_over_to_results(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    before = datetime.now(UTC).replace(microsecond=0)
    batch = await opened.submit("pb-1", make_requests(3))
    assert (batch.size, batch.ended, batch.expired) == (3, False, False)
    assert before <= batch.created_at <= datetime.now(UTC)
    assert batch.our_id == ("pb-1" if hosted == "openai" else None)
    assert await opened.list_batches(LONG_AGO) == [batch]
    loopback.end_batches()
    assert (await opened.poll(batch.provider_id)).ended
    results = await collect(opened, batch.provider_id)
    await opened.aclose()
    assert results.keys() == {"pb-1-0", "pb-1-1", "pb-1-2"}
    for outcome in results.values():
        assert isinstance(outcome, Completion)
        assert (outcome.text, outcome.stop) == (ANSWER, "complete")
        assert outcome.usage.output_tokens > 0


async def test_a_line_asks_as_a_live_call_does(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    await opened.complete(make_request(), timeout=30.0)
    await opened.submit("pb-1", make_requests(1))
    await opened.aclose()
    name, line, _ = loopback.desk.batches[next(iter(loopback.desk.batches))].lines[0]
    assert name == "pb-1-0"
    assert line == loopback.calls[0].body


async def test_every_fate_of_a_line_is_told_apart(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    fates = ("ok", "refusal", "truncated", "too-long", "status:429", "status:500", "expired", "canceled")
    loopback.play_lines(*fates, "gone", "malformed", "other")
    batch = await opened.submit("pb-1", make_requests(11))
    loopback.end_batches()
    results = await collect(opened, batch.provider_id)
    await opened.aclose()
    found = {
        name: outcome.stop if isinstance(outcome, Completion) else outcome.fault.code
        for name, outcome in results.items()
    }
    # The line that is gone and the one that cannot be read are missing alike.
    assert found == {
        "pb-1-0": "complete",
        "pb-1-1": "refusal",
        "pb-1-2": "length",
        "pb-1-3": "context",
        "pb-1-4": "rate_limited",
        "pb-1-5": "provider_failed",
        "pb-1-6": "batch_expired",
        "pb-1-7": "batch_canceled",
        "pb-1-10": "unreadable_answer",
    }


async def test_a_batch_whose_time_is_over_says_so(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    batch = await opened.submit("pb-1", make_requests(2))
    loopback.end_batches(expired=True)
    polled = await opened.poll(batch.provider_id)
    results = await collect(opened, batch.provider_id)
    await opened.aclose()
    assert (polled.ended, polled.expired) == (True, True)
    for outcome in results.values():
        assert isinstance(outcome, ProviderError)
        assert outcome.fault.code == "batch_expired"
        assert outcome.retryable
        assert not outcome.maybe_charged


async def test_a_cancelled_batch_ends(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    batch = await opened.submit("pb-1", make_requests(1))
    await opened.cancel(batch.provider_id)
    polled = await opened.poll(batch.provider_id)
    await opened.aclose()
    assert (polled.ended, polled.expired) == (True, False)


async def test_a_batch_whose_acceptance_was_lost_is_found_in_the_list(
    loopback: Loopback, hosted: str
) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    loopback.play_batches("lost")
    with pytest.raises(ProviderError) as caught:
        await opened.submit("pb-1", make_requests(2))
    assert caught.value.fault.code == "connection_lost"
    assert caught.value.maybe_charged
    listed = await opened.list_batches(LONG_AGO)
    assert [batch.size for batch in listed] == [2]
    if hosted == "openai":
        assert listed[0].our_id == "pb-1"
    loopback.end_batches()
    results = await collect(opened, listed[0].provider_id)
    await opened.aclose()
    assert results.keys() == {"pb-1-0", "pb-1-1"}


async def test_a_batch_that_was_refused_has_cost_nothing(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    loopback.play_batches("status:429;retry-after=9")
    with pytest.raises(ProviderError) as caught:
        await opened.submit("pb-1", make_requests(1))
    await opened.aclose()
    assert (caught.value.fault.code, caught.value.retry_after) == ("rate_limited", 9.0)
    assert not caught.value.maybe_charged


async def test_a_list_is_walked_through_page_by_page(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    made = [(await opened.submit(f"pb-{n}", make_requests(1))).provider_id for n in range(5)]
    listed = await opened.list_batches(LONG_AGO)
    assert [batch.provider_id for batch in listed] == made[::-1]
    assert await opened.list_batches(datetime.now(UTC) + timedelta(hours=1)) == []
    await opened.aclose()


async def test_only_batches_since_the_time_given_are_listed(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    made = [(await opened.submit(f"pb-{n}", make_requests(1))).provider_id for n in range(4)]
    for name in made[:2]:
        loopback.desk.batches[name].created -= 7200.0
    listed = await opened.list_batches(datetime.now(UTC) - timedelta(hours=1))
    await opened.aclose()
    assert [batch.provider_id for batch in listed] == [made[3], made[2]]


async def test_results_that_break_off_keep_the_lines_that_came(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    batch = await opened.submit("pb-1", make_requests(10))
    loopback.end_batches()
    loopback.play_results("reset-body")
    came: list[Completion | ProviderError] = []

    async def read() -> None:
        async for _, outcome in opened.results(batch.provider_id):
            came.append(outcome)

    with pytest.raises(ProviderError) as caught:
        await read()
    assert caught.value.fault.code == "connection_lost"
    assert caught.value.retryable
    assert len(came) < 10
    assert all(isinstance(outcome, Completion) for outcome in came)
    # Read again, it is whole.
    assert len(await collect(opened, batch.provider_id)) == 10
    await opened.aclose()


async def test_who_stops_reading_early_lets_go_of_the_connection(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    batch = await opened.submit("pb-1", make_requests(50))
    loopback.end_batches()
    async with aclosing(opened.results(batch.provider_id)) as results:  # type: ignore[type-var]
        async for name, _ in results:
            assert name == "pb-1-49"
            break
    # A connection that was still in use would be a resource warning by now, and so a failure.
    await opened.aclose()
    assert len(await collect(opened, batch.provider_id)) == 50
    await opened.aclose()


async def test_results_of_a_batch_that_goes_on_cannot_be_read(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    batch = await opened.submit("pb-1", make_requests(1))
    with pytest.raises(ProviderError) as caught:
        await collect(opened, batch.provider_id)
    await opened.aclose()
    assert caught.value.fault.code == "batch_unfinished"


async def test_a_batch_that_nobody_knows_is_an_error(loopback: Loopback, hosted: str) -> None:
    opened = open_batch_provider(make_role(loopback, hosted))
    with pytest.raises(ProviderError) as caught:
        await opened.poll("batch_of_another_time")
    await opened.aclose()
    assert not caught.value.maybe_charged


async def test_a_batch_of_more_requests_than_allowed_is_not_sent(loopback: Loopback) -> None:
    opened = open_batch_provider(make_role(loopback, "openai"))
    request = make_request()
    with pytest.raises(ProviderError) as caught:
        await opened.submit("pb-1", {f"pb-1-{place}": request for place in range(50_001)})
    assert caught.value.fault.code == "batch_refused"
    assert loopback.requests == []


def test_a_compatible_server_takes_no_batches(loopback: Loopback) -> None:
    with pytest.raises(GraderError) as caught:
        open_batch_provider(make_role(loopback, "openai-compatible"))
    assert caught.value.fault.code == "no_batches"
