"""Live calls through the real SDK clients: what is sent, and what is read from the answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pipeline.judge.providers import exchange, open_provider
from pipeline.judge.providers.provider import Message, ProviderError
from pipeline.types import Completion, Owner, Usage
from tests.judge.loopback import Loopback
from tests.judge.providers.cases import ANSWER, FORMATS, SCHEMA, make_request, make_role


async def ask(server: Loopback, provider: str, *, timeout: float = 30.0, **fields: Any) -> Completion:
    opened = open_provider(make_role(server, provider))
    try:
        return await opened.complete(make_request(**fields), timeout=timeout)
    finally:
        await opened.aclose()


@pytest.mark.parametrize("provider", FORMATS)
async def test_an_answer_comes_back_whole_from_one_request(loopback: Loopback, provider: str) -> None:
    completion = await ask(loopback, provider)
    assert (completion.text, completion.stop, completion.refusal) == (ANSWER, "complete", "")
    assert completion.model == "model-1"
    assert completion.request_id == "req_0"
    assert len(loopback.requests) == 1


# By the loopback server: a token per 4 characters, 30 of the system prompt's 2 parts and the line break
# between them being cached, 14 of the user's; the answer's 62 characters and one more token; 16 written to
# the cache.
@pytest.mark.parametrize(
    ("provider", "written"), [("anthropic", 16), ("openai", 16), ("openai-compatible", 0)]
)
async def test_kinds_of_tokens_do_not_overlap(loopback: Loopback, provider: str, written: int) -> None:
    completion = await ask(loopback, provider)
    assert completion.usage == Usage(
        input_tokens=14 // 4,
        cache_read_tokens=(30 if provider != "openai-compatible" else 31) // 4,
        cache_write_tokens=written,
        output_tokens=len(ANSWER) // 4 + 1,
    )


@pytest.mark.parametrize("provider", FORMATS)
async def test_a_body_without_end_is_not_read_to_its_end(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setattr(exchange, "_MOST_BYTES", 64)
    with pytest.raises(ProviderError) as raised:
        await ask(loopback, provider)
    assert raised.value.fault.owner is Owner.ENVIRONMENT
    assert raised.value.maybe_charged
    assert loopback.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("provider", "variable"), [("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")]
)
async def test_a_variable_of_the_environment_sends_no_code_elsewhere(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, provider: str, variable: str
) -> None:
    # The role's address is the loopback's; the variable names another server, as a proxy's owner would.
    monkeypatch.setenv(variable, "http://127.0.0.1:9/elsewhere")
    assert (await ask(loopback, provider)).text == ANSWER
    role = make_role(loopback, provider).model_copy(update={"base_url": None})
    opened = open_provider(role)
    client = opened._exchange.client  # type: ignore[attr-defined]
    assert "127.0.0.1" not in str(client.base_url)
    await opened.aclose()


@pytest.mark.parametrize("provider", FORMATS)
async def test_the_key_travels_as_a_bearer_token(loopback: Loopback, provider: str) -> None:
    await ask(loopback, provider)
    sent = loopback.calls[0].headers.get("authorization")
    expected = {
        "anthropic": "Bearer sk-ant-a-key-that-opens-nothing",
        "openai": "Bearer sk-a-key-that-opens-nothing",
        # The key of a hosted provider is no business of a server of one's own.
        "openai-compatible": None,
    }
    assert sent == expected[provider]


async def test_a_compatible_server_gets_the_key_that_is_named_for_it(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVER_KEY", "word")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    opened = open_provider(make_role(loopback, "openai-compatible", key_variable="MY_SERVER_KEY"))
    await opened.complete(make_request(), timeout=30.0)
    await opened.aclose()
    assert loopback.calls[0].headers["authorization"] == "Bearer word"
    assert "openai-organization" not in loopback.calls[0].headers


async def test_anthropic_is_asked_with_a_schema_and_a_cached_prefix_after_each_system_part(
    loopback: Loopback,
) -> None:
    await ask(loopback, "anthropic", effort="high")
    cached = {"type": "ephemeral"}
    assert loopback.calls[0].path == "/v1/messages"
    assert loopback.calls[0].body == {
        "model": "model-1",
        "max_tokens": 500,
        "system": [
            {"type": "text", "text": "Guidance and rubric.", "cache_control": cached},
            {"type": "text", "text": "The task.", "cache_control": cached},
        ],
        "messages": [{"role": "user", "content": "1 | import nki"}],
        "output_config": {
            "format": {"type": "json_schema", "schema": SCHEMA_FOR_ANTHROPIC},
            "effort": "high",
        },
    }


#: The SDK drops a type beside an enum, which says it too.
SCHEMA_FOR_ANTHROPIC = SCHEMA | {
    "properties": {"reason": {"type": "string"}, "level": {"enum": [0, 1, 2, 3, 4]}}
}


async def test_anthropic_takes_four_cached_prefixes_at_most(loopback: Loopback) -> None:
    await ask(loopback, "anthropic", system=("a", "b", "c", "d", "e", ""))
    blocks = loopback.calls[0].body["system"]
    assert [("cache_control" in block, block["text"]) for block in blocks] == [
        (False, "a"),
        (True, "b"),
        (True, "c"),
        (True, "d"),
        (True, "e"),
    ]


async def test_an_empty_answer_can_be_sent_back_for_repair(loopback: Loopback) -> None:
    turns = (Message("user", "judge"), Message("assistant", ""), Message("user", "again"))
    await ask(loopback, "anthropic", messages=turns)
    # The API refuses a turn without text.
    assert loopback.calls[0].body["messages"][1] == {"role": "assistant", "content": "(no text)"}


async def test_openai_is_asked_with_a_strict_schema_and_keeps_nothing(loopback: Loopback) -> None:
    await ask(loopback, "openai", effort="low", temperature=0.5)
    body = loopback.calls[0].body
    assert loopback.calls[0].path == "/v1/responses"
    assert body["store"] is False
    assert body["reasoning"] == {"effort": "low"}
    assert body["temperature"] == 0.5
    assert body["max_output_tokens"] == 500
    assert body["text"] == {
        "format": {"type": "json_schema", "name": "judgment", "schema": SCHEMA, "strict": True}
    }
    assert body["input"] == [
        {"role": "developer", "content": "Guidance and rubric."},
        {"role": "developer", "content": "The task."},
        {"role": "user", "content": "1 | import nki"},
    ]


async def test_requests_that_share_a_system_prompt_share_a_cache_key(loopback: Loopback) -> None:
    await ask(loopback, "openai")
    await ask(loopback, "openai", messages=(Message("user", "other code"),))
    await ask(loopback, "openai", system=("Guidance and rubric.", "Another task."))
    keys = [call.body["prompt_cache_key"] for call in loopback.calls]
    assert keys[0] == keys[1] != keys[2]


async def test_a_compatible_server_is_asked_with_one_system_message(loopback: Loopback) -> None:
    await ask(loopback, "openai-compatible", effort="low", temperature=0.0)
    assert loopback.calls[0].path == "/v1/chat/completions"
    assert loopback.calls[0].body == {
        "model": "model-1",
        "messages": [
            {"role": "system", "content": "Guidance and rubric.\n\nThe task."},
            {"role": "user", "content": "1 | import nki"},
        ],
        "max_tokens": 500,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "judgment", "schema": SCHEMA, "strict": True},
        },
        "reasoning_effort": "low",
        "temperature": 0.0,
    }


@pytest.mark.parametrize("provider", FORMATS)
async def test_a_truncated_answer_says_so_and_keeps_what_was_written(
    loopback: Loopback, provider: str
) -> None:
    loopback.play("truncated")
    completion = await ask(loopback, provider)
    assert completion.stop == "length"
    assert completion.text == ANSWER[: len(ANSWER) // 2]
    assert completion.usage.output_tokens > 0


async def test_an_answer_that_meets_the_end_of_the_context_says_so(loopback: Loopback) -> None:
    loopback.play("context")
    assert (await ask(loopback, "anthropic")).stop == "context"


@pytest.mark.parametrize("provider", FORMATS)
async def test_a_prompt_that_does_not_fit_is_an_answer_without_text(
    loopback: Loopback, provider: str
) -> None:
    loopback.play("too-long")
    completion = await ask(loopback, provider)
    assert (completion.stop, completion.text, completion.usage) == ("context", "", Usage())


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
        "Requested tokens (5000) exceed context window of 4096",
        "the request exceeds the available context size. try increasing the context size",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    ],
)
async def test_servers_words_for_a_prompt_that_does_not_fit_are_understood(
    loopback: Loopback, message: str
) -> None:
    loopback.play(f"status:400;message={message}")
    assert (await ask(loopback, "openai-compatible")).stop == "context"


@pytest.mark.parametrize(
    ("provider", "step", "text", "refusal"),
    [
        ("anthropic", "refusal", "I cannot help with that.", "frontier_llm"),
        ("anthropic", "refusal-empty", "", "frontier_llm"),
        ("openai", "refusal", "", "I cannot help with that."),
        ("openai", "refusal-empty", "", "content_filter"),
        ("openai-compatible", "refusal", "", "I cannot help with that."),
        ("openai-compatible", "refusal-empty", "", "content_filter"),
    ],
)
async def test_a_refusal_is_an_answer_that_says_why(
    loopback: Loopback, provider: str, step: str, text: str, refusal: str
) -> None:
    loopback.play(step)
    completion = await ask(loopback, provider)
    assert (completion.stop, completion.text, completion.refusal) == ("refusal", text, refusal)


async def test_a_prompt_that_openai_declines_is_a_refusal(loopback: Loopback) -> None:
    loopback.play("declined")
    completion = await ask(loopback, "openai")
    assert completion.stop == "refusal"
    assert "usage policy" in completion.refusal


@pytest.mark.parametrize("provider", FORMATS)
async def test_an_empty_answer_is_an_answer(loopback: Loopback, provider: str) -> None:
    loopback.play("blank")
    completion = await ask(loopback, provider)
    assert (completion.stop, completion.text) == ("complete", "")


async def test_half_a_surrogate_pair_becomes_text_that_every_encoding_takes(loopback: Loopback) -> None:
    body = {"content": [{"type": "text", "text": "a\ud800b"}], "stop_reason": "end_turn", "model": "m"}
    loopback.play("raw:" + json.dumps(body))
    assert (await ask(loopback, "anthropic")).text == "a\ufffdb"


@pytest.mark.parametrize(
    "usage", [None, [], {"input_tokens": -5, "output_tokens": True}, {"input_tokens": "9"}]
)
async def test_a_usage_without_sense_counts_as_none(loopback: Loopback, usage: Any) -> None:
    body = {"content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn", "usage": usage}
    loopback.play("raw:" + json.dumps(body))
    assert (await ask(loopback, "anthropic")).usage == Usage()


async def test_comments_on_the_way_are_no_part_of_the_answer(loopback: Loopback) -> None:
    def message(text: str, phase: str) -> dict[str, Any]:
        return {"type": "message", "phase": phase, "content": [{"type": "output_text", "text": text}]}

    body = {"status": "completed", "output": [message("hm", "commentary"), message("yes", "final_answer")]}
    loopback.play("raw:" + json.dumps(body))
    assert (await ask(loopback, "openai")).text == "yes"


@pytest.mark.parametrize(
    ("code", "fault"), [("server_error", "provider_failed"), ("rate_limit_exceeded", "rate_limited")]
)
async def test_a_response_that_failed_is_an_error(loopback: Loopback, code: str, fault: str) -> None:
    body = {"status": "failed", "output": [], "error": {"code": code, "message": "no luck"}}
    loopback.play("raw:" + json.dumps(body))
    with pytest.raises(ProviderError) as caught:
        await ask(loopback, "openai")
    assert caught.value.fault.code == fault
    assert caught.value.retryable


async def test_a_response_that_a_policy_ended_is_a_refusal(loopback: Loopback) -> None:
    body = {"status": "failed", "output": [], "error": {"code": "bio_policy", "message": "not this"}}
    loopback.play("raw:" + json.dumps(body))
    completion = await ask(loopback, "openai")
    assert (completion.stop, completion.refusal) == ("refusal", "not this")


# "Guidance and rubric.\nThe task.\n1 | import nki" has 45 characters.
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_tokens_are_counted_by_the_provider(loopback: Loopback, provider: str) -> None:
    opened = open_provider(make_role(loopback, provider))
    assert await opened.count_tokens(make_request()) == 45 // 4
    await opened.aclose()
    assert loopback.calls == []


async def test_a_compatible_server_cannot_count_tokens(loopback: Loopback) -> None:
    opened = open_provider(make_role(loopback, "openai-compatible"))
    with pytest.raises(ProviderError) as caught:
        await opened.count_tokens(make_request())
    assert caught.value.fault.code == "cannot_count_tokens"
    assert loopback.requests == []


@pytest.mark.parametrize("provider", FORMATS)
def test_a_provider_serves_several_event_loops_one_after_another(loopback: Loopback, provider: str) -> None:
    opened = open_provider(make_role(loopback, provider))

    async def use() -> str:
        both = await asyncio.gather(*(opened.complete(make_request(), timeout=30.0) for _ in range(2)))
        await opened.aclose()
        await opened.aclose()
        return both[1].text

    assert [asyncio.run(use()) for _ in range(2)] == [ANSWER, ANSWER]


async def test_a_provider_can_be_used_after_it_was_closed(loopback: Loopback) -> None:
    opened = open_provider(make_role(loopback, "anthropic"))
    for _ in range(2):
        assert (await opened.complete(make_request(), timeout=30.0)).text == ANSWER
        await opened.aclose()


async def test_a_cancelled_call_leaves_a_provider_that_works(loopback: Loopback) -> None:
    opened = open_provider(make_role(loopback, "openai"))
    loopback.hold()
    task = asyncio.create_task(opened.complete(make_request(), timeout=30.0))
    await asyncio.to_thread(loopback.wait_for, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    loopback.release()
    assert (await opened.complete(make_request(), timeout=30.0)).text == ANSWER
    await opened.aclose()
