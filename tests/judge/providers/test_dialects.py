"""How compatible servers are given a schema: found out once, remembered, found out again if need be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.judge.providers import open_provider
from pipeline.judge.providers.compatible import Dialect, find_dialect
from pipeline.judge.providers.provider import ProviderError
from tests.judge.loopback import Loopback
from tests.judge.providers.cases import ANSWER, SCHEMA, make_request, make_role


def list_formats(server: Loopback) -> list[Any]:
    return [call.body.get("response_format", {}).get("type") for call in server.calls]


@pytest.mark.parametrize(
    ("dialect", "tried", "then"),
    [
        ("json_schema", ["json_schema"], "json_schema"),
        ("json_object", ["json_schema", "json_object"], "json_object"),
        ("plain", ["json_schema", "json_object", None], None),
    ],
)
async def test_the_strictest_way_that_a_server_takes_is_found_and_kept(
    loopback: Loopback, dialect: str, tried: list[str | None], then: str | None
) -> None:
    loopback.dialect = dialect
    role = make_role(loopback, "openai-compatible")
    opened = open_provider(role)
    for _ in range(3):
        assert (await opened.complete(make_request(), timeout=30.0)).text == ANSWER
    await opened.aclose()
    assert list_formats(loopback) == [*tried, then, then]
    assert find_dialect(role) == Dialect(dialect)
    # Another provider object of the same server knows it too.
    again = open_provider(role)
    await again.complete(make_request(), timeout=30.0)
    await again.aclose()
    assert list_formats(loopback)[-1] == then
    assert len(loopback.calls) == len(tried) + 3


async def test_a_server_without_schemas_gets_it_in_the_prompt(loopback: Loopback) -> None:
    import json

    loopback.dialect = "plain"
    opened = open_provider(make_role(loopback, "openai-compatible"))
    await opened.complete(make_request(), timeout=30.0)
    await opened.aclose()
    system = loopback.calls[-1].body["messages"][0]["content"]
    assert system.startswith("Guidance and rubric.\n\nThe task.\n\n")
    assert system.endswith(json.dumps(SCHEMA))


async def test_calls_at_once_wait_for_the_one_that_finds_out(loopback: Loopback) -> None:
    loopback.dialect = "json_object"
    opened = open_provider(make_role(loopback, "openai-compatible"))
    answers = await asyncio.gather(*(opened.complete(make_request(), timeout=30.0) for _ in range(8)))
    await opened.aclose()
    assert {answer.text for answer in answers} == {ANSWER}
    assert list_formats(loopback) == ["json_schema", *["json_object"] * 8]


async def test_who_waits_too_long_for_that_has_cost_nothing(loopback: Loopback) -> None:
    opened = open_provider(make_role(loopback, "openai-compatible"))
    loopback.hold()
    first = asyncio.create_task(opened.complete(make_request(), timeout=30.0))
    await asyncio.to_thread(loopback.wait_for, 1)
    with pytest.raises(ProviderError) as caught:
        await opened.complete(make_request(), timeout=0.05)
    assert caught.value.fault.code == "timeout"
    assert not caught.value.maybe_charged
    loopback.release()
    assert (await first).text == ANSWER
    await opened.aclose()
    assert len(loopback.calls) == 1


@pytest.mark.parametrize("step", ["status:429", "status:500", "reset", "html", "too-long", "status:404"])
async def test_what_goes_wrong_for_another_reason_settles_nothing(loopback: Loopback, step: str) -> None:
    role = make_role(loopback, "openai-compatible")
    opened = open_provider(role)
    loopback.play(step)
    outcome = await asyncio.gather(opened.complete(make_request(), timeout=30.0), return_exceptions=True)
    assert isinstance(outcome[0], ProviderError) == (step != "too-long")
    assert find_dialect(role) is None
    assert list_formats(loopback) == ["json_schema"]
    assert (await opened.complete(make_request(), timeout=30.0)).text == ANSWER
    await opened.aclose()
    assert find_dialect(role) == Dialect.JSON_SCHEMA


async def test_a_server_that_was_replaced_is_found_out_again(loopback: Loopback) -> None:
    role = make_role(loopback, "openai-compatible")
    opened = open_provider(role)
    await opened.complete(make_request(), timeout=30.0)
    loopback.dialect = "json_object"
    with pytest.raises(ProviderError) as caught:
        await opened.complete(make_request(), timeout=30.0)
    assert caught.value.retryable
    assert (await opened.complete(make_request(), timeout=30.0)).text == ANSWER
    await opened.aclose()
    assert find_dialect(role) == Dialect.JSON_OBJECT


async def test_a_server_that_heeds_no_schema_ends_with_the_schema_in_its_prompt(loopback: Loopback) -> None:
    loopback.dialect = "ignore"
    role = make_role(loopback, "openai-compatible")
    opened = open_provider(role)
    first = await opened.complete(make_request(), timeout=30.0)
    second = await opened.complete(make_request(), timeout=30.0)
    await opened.aclose()
    assert (first.text, second.text) == ("I see nothing wrong with it.", ANSWER)
    assert len(loopback.calls) == 2


async def test_a_truncated_answer_does_not_show_that_a_schema_was_ignored(loopback: Loopback) -> None:
    role = make_role(loopback, "openai-compatible")
    opened = open_provider(role)
    loopback.play("truncated", "blank", "refusal")
    for _ in range(3):
        await opened.complete(make_request(), timeout=30.0)
    await opened.aclose()
    assert find_dialect(role) == Dialect.JSON_SCHEMA


async def test_two_models_behind_one_address_are_found_out_apart(loopback: Loopback) -> None:
    loopback.dialect = "json_object"
    one, two = (make_role(loopback, "openai-compatible", model=name) for name in ("a", "b"))
    opened = open_provider(one)
    await opened.complete(make_request(model="a"), timeout=30.0)
    await opened.aclose()
    assert find_dialect(one) == Dialect.JSON_OBJECT
    assert find_dialect(two) is None
