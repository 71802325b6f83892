"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anthropic
from pydantic import SecretStr

from pipeline.judge.providers.bodies import clean_text
from pipeline.judge.providers.exchange import Exchange, Reply, count
from pipeline.judge.providers.faults import refuse_body, refuse_count
from pipeline.judge.providers.provider import ModelRequest
from pipeline.types import Completion, JudgeRole, StopReason, Usage

__all__ = ["AnthropicProvider", "read_message", "write_message_request"]

#: Said outright: the SDK would take it from the environment, and send code where nobody said it may go.
_ADDRESS: Final = "https://api.anthropic.com"

#: Places in one request where the API lets a cached prefix end.
_MOST_BREAKPOINTS: Final = 4

_STOPS: Final[Mapping[str, StopReason]] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "refusal": "refusal",
}


class AnthropicProvider:
    """Serves Claude.

    Args:
        role: Model, key and address; without `base_url` Anthropic's.
    """

    def __init__(self, role: JudgeRole) -> None:
        self._role = role
        self._exchange = Exchange(role, anthropic, self._open_client)

    def _open_client(self, key: SecretStr | None, http: Any) -> anthropic.AsyncAnthropic:
        client = anthropic.AsyncAnthropic(
            api_key=key.get_secret_value() if key is not None else None,
            base_url=self._role.base_url or _ADDRESS,
            max_retries=0,
            http_client=http,
        )
        client.messages  # noqa: B018 - see `Exchange`
        return client

    async def complete(self, request: ModelRequest, *, timeout: float) -> Completion:
        """Send `request` once; see `Provider.complete`."""
        given = write_message_request(request)
        reply = await self._exchange.send(
            lambda client, limit: client.messages.with_raw_response.create(**given, timeout=limit),
            timeout=timeout,
        )
        if isinstance(reply, Completion):
            return reply
        return read_message(reply, request.model, self._exchange)

    async def count_tokens(self, request: ModelRequest) -> int:
        """Return how many tokens the provider counts in `request`; see `Provider.count_tokens`."""
        given = write_message_request(request)
        del given["max_tokens"]
        reply = await self._exchange.send(
            lambda client, limit: client.messages.with_raw_response.count_tokens(**given, timeout=limit),
            timeout=60.0,
        )
        if isinstance(reply, Completion):
            raise refuse_count(self._exchange.origin, "the prompt is too long, or was declined")
        tokens = reply.body.get("input_tokens")
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise refuse_body("{}", self._exchange.origin, "a number of tokens")
        return tokens

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._exchange.aclose()


def write_message_request(request: ModelRequest) -> dict[str, Any]:
    """Return the body of a Messages request; each part of the system prompt ends a prefix that is cached."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": part} for part in request.system if part]
    for block in blocks[-_MOST_BREAKPOINTS:]:
        block["cache_control"] = {"type": "ephemeral"}
    output: dict[str, Any] = {
        "format": {"type": "json_schema", "schema": anthropic.transform_schema(dict(request.schema))}
    }
    if request.effort is not None:
        output["effort"] = request.effort
    given: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_output_tokens,
        # The API refuses a turn without text, and an answer that is sent back for repair may have none.
        "messages": [{"role": turn.role, "content": turn.text or "(no text)"} for turn in request.messages],
        "output_config": output,
    }
    if blocks:
        given["system"] = blocks
    return given


def read_message(reply: Reply, model: str, exchange: Exchange) -> Completion:
    """Return the answer in the body of a Message: why it stopped first, then what it says.

    Raises:
        ProviderError: If the body is no Message (code ``unreadable_answer``).
    """
    body = reply.body
    content = body.get("content")
    if not isinstance(content, list):
        raise refuse_body("{}", exchange.origin, "content")
    blocks = [block for block in content if isinstance(block, dict)]
    stop = _STOPS.get(str(body.get("stop_reason")), "complete")
    usage = body.get("usage")
    return Completion(
        # Thinking and whatever else a block may be is no part of the answer.
        text="".join(clean_text(block.get("text")) for block in blocks if block.get("type") == "text"),
        stop=stop,
        refusal=_read_refusal(body.get("stop_details")) if stop == "refusal" else "",
        model=clean_text(body.get("model")) or model,
        request_id=reply.request_id or clean_text(body.get("id")),
        usage=Usage(
            input_tokens=count(usage, "input_tokens"),
            cache_read_tokens=count(usage, "cache_read_input_tokens"),
            cache_write_tokens=count(usage, "cache_creation_input_tokens"),
            output_tokens=count(usage, "output_tokens"),
        ),
    )


def _read_refusal(details: object) -> str:
    if not isinstance(details, dict):
        return ""
    said = (clean_text(details.get(name)) for name in ("category", "explanation"))
    return ": ".join(text for text in said if text)
