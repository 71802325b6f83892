"""OpenAI's Responses API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import openai
from pydantic import SecretStr

from pipeline.judge.providers.bodies import clean_text
from pipeline.judge.providers.exchange import Exchange, Reply, count
from pipeline.judge.providers.faults import read_status, refuse_body, refuse_count
from pipeline.judge.providers.provider import ModelRequest
from pipeline.types import Completion, JudgeRole, StopReason, Usage, hash_text

__all__ = ["OpenAIProvider", "read_response", "write_response_request"]

#: Said outright: the SDK would take it from the environment, and send code where nobody said it may go.
_ADDRESS: Final = "https://api.openai.com/v1"

#: Why a response is incomplete; anything else ends in the check of the answer.
_INCOMPLETE: Final[Mapping[str, StopReason]] = {"max_output_tokens": "length", "content_filter": "refusal"}

#: Statuses that stand for the codes of a response that failed; others are the server's failure.
_FAILED: Final = {"rate_limit_exceeded": 429, "invalid_prompt": 400}


class OpenAIProvider:
    """Serves GPT.

    Args:
        role: Model, key and address; without `base_url` OpenAI's.
    """

    def __init__(self, role: JudgeRole) -> None:
        self._role = role
        self._exchange = Exchange(role, openai, self._open_client)

    def _open_client(self, key: SecretStr | None, http: Any) -> openai.AsyncOpenAI:
        client = openai.AsyncOpenAI(
            api_key=key.get_secret_value() if key is not None else None,
            base_url=self._role.base_url or _ADDRESS,
            max_retries=0,
            http_client=http,
        )
        client.responses  # noqa: B018 - see `Exchange`
        return client

    async def complete(self, request: ModelRequest, *, timeout: float) -> Completion:
        """Send `request` once; see `Provider.complete`."""
        given = write_response_request(request)
        reply = await self._exchange.send(
            lambda client, limit: client.responses.with_raw_response.create(**given, timeout=limit),
            timeout=timeout,
        )
        if isinstance(reply, Completion):
            return reply
        return read_response(reply, request.model, self._exchange)

    async def count_tokens(self, request: ModelRequest) -> int:
        """Return how many tokens the provider counts in `request`; see `Provider.count_tokens`."""
        given = write_response_request(request)
        counted = {name: given[name] for name in ("model", "input", "text", "reasoning") if name in given}
        reply = await self._exchange.send(
            lambda client, limit: client.responses.input_tokens.with_raw_response.count(
                **counted, timeout=limit
            ),
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


def write_response_request(request: ModelRequest) -> dict[str, Any]:
    """Return the body of a Responses request; nothing of it is kept by the provider."""
    given: dict[str, Any] = {
        "model": request.model,
        "input": [
            *({"role": "developer", "content": part} for part in request.system if part),
            *({"role": turn.role, "content": turn.text} for turn in request.messages),
        ],
        "text": {
            "format": {
                "type": "json_schema",
                "name": request.schema_name,
                "schema": dict(request.schema),
                "strict": True,
            }
        },
        "max_output_tokens": request.max_output_tokens,
        # Requests with one key go to one cache: those that share rubric and task.
        "prompt_cache_key": hash_text("prompt cache", request.model, *request.system)[:32],
        "store": False,
    }
    if request.effort is not None:
        given["reasoning"] = {"effort": request.effort}
    if request.temperature is not None:
        given["temperature"] = request.temperature
    return given


def read_response(reply: Reply, model: str, exchange: Exchange) -> Completion:
    """Return the answer in the body of a Response: why it stopped first, then what it says.

    Raises:
        ProviderError: If the body is no Response, or says that it failed.
    """
    body = reply.body
    status = body.get("status")
    if status == "failed":
        return _read_failure(body, exchange)
    output = body.get("output")
    if not isinstance(output, list) or status in ("in_progress", "queued"):
        raise refuse_body("{}", exchange.origin, "output")
    stop: StopReason = "complete"
    refusal = ""
    if status == "incomplete":
        details = body.get("incomplete_details")
        reason = str(details.get("reason")) if isinstance(details, dict) else ""
        stop = _INCOMPLETE.get(reason, "length")
        refusal = reason if stop == "refusal" else ""
    texts = []
    for part in _list_content(output):
        if part.get("type") == "refusal":
            stop = "refusal"
            refusal = clean_text(part.get("refusal")) or refusal
        elif part.get("type") == "output_text":
            texts.append(clean_text(part.get("text")))
    usage = body.get("usage")
    read = count(usage, "input_tokens_details", "cached_tokens")
    written = count(usage, "input_tokens_details", "cache_write_tokens")
    return Completion(
        text="".join(texts),
        stop=stop,
        refusal=refusal,
        model=clean_text(body.get("model")) or model,
        request_id=reply.request_id or clean_text(body.get("id")),
        usage=Usage(
            # The provider's number of input tokens has the cached ones in it.
            input_tokens=max(count(usage, "input_tokens") - read - written, 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=count(usage, "output_tokens"),
        ),
    )


def _list_content(output: list[Any]) -> list[Mapping[str, Any]]:
    """Return the parts of the final message; reasoning and comments on the way are no part of the answer."""
    parts: list[Mapping[str, Any]] = []
    for item in output:
        if not isinstance(item, dict) or item.get("type") != "message" or item.get("phase") == "commentary":
            continue
        content = item.get("content")
        parts += [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return parts


def _read_failure(body: Mapping[str, Any], exchange: Exchange) -> Completion:
    error = body.get("error")
    code = str(error.get("code")) if isinstance(error, dict) else ""
    status = 400 if code.endswith(("_policy", "_policy_violation")) else _FAILED.get(code, 500)
    failure = read_status(status, {}, json.dumps({"error": error}), exchange.origin)
    if isinstance(failure, Completion):
        return failure
    raise failure
