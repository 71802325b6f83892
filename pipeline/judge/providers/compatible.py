"""Servers that speak OpenAI's chat completions: vLLM, Ollama, llama.cpp, LiteLLM and others.

They differ in how a schema is given to them. Which way one takes is found out once per server and model, on
the first request: from the strictest to none, each that the server rejects being followed by the next. That
first request may so be up to three HTTP requests; every other is one. A server that accepts a schema and then
ignores it shows by an answer that is no JSON: the next request goes a way further down.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final
from weakref import WeakKeyDictionary

import openai
from pydantic import SecretStr

from pipeline.judge.providers.bodies import clean_text, read_error_body
from pipeline.judge.providers.exchange import Exchange, Reply, count
from pipeline.judge.providers.faults import read_status, read_wait, refuse_body, refuse_count
from pipeline.judge.providers.provider import ModelRequest, ProviderError
from pipeline.types import Completion, JudgeRole, StopReason, Usage

__all__ = ["CompatibleProvider", "Dialect", "find_dialect", "forget_dialects", "write_chat_request"]

#: How a server's error names the way in which it was given the schema.
_NAMES_FORMAT: Final = re.compile(
    r"response_format|json_schema|json_object|structured[ _]outputs?|guided|grammar", re.IGNORECASE
)
_REJECTING: Final = frozenset({400, 422, 500, 501})

_STOPS: Final[Mapping[str, StopReason]] = {"length": "length", "content_filter": "refusal"}


class Dialect(StrEnum):
    """How a server is given a schema, the strictest first."""

    JSON_SCHEMA = "json_schema"
    """As OpenAI, vLLM and today's Ollama take it."""
    JSON_OBJECT = "json_object"
    """As llama-cpp-python takes it: a field ``schema`` beside the type. Others ignore that field, so that the
    schema stands in the prompt too."""
    PLAIN = "plain"
    """In the prompt alone."""

    @property
    def next(self) -> Dialect:
        """The way that asks less of a server."""
        order = list(Dialect)
        return order[min(order.index(self) + 1, len(order) - 1)]


#: Address and model to the way that works there, for this process.
_known: dict[tuple[str, str], Dialect] = {}

#: A lock belongs to one event loop.
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], asyncio.Lock]] = (
    WeakKeyDictionary()
)


class _Rejected:
    """A server does not take a schema this way."""

    def __init__(self, failure: ProviderError) -> None:
        self.failure = failure


class CompatibleProvider:
    """Serves whatever model runs behind `role.base_url`.

    Args:
        role: Model, address, and the key where the server wants one.
    """

    def __init__(self, role: JudgeRole) -> None:
        self._role = role
        self._server = (role.base_url or "", role.model)
        self._exchange = Exchange(role, openai, self._open_client)

    def _open_client(self, key: SecretStr | None, http: Any) -> openai.AsyncOpenAI:
        # The SDK fills these from variables that are meant for OpenAI, and are not this server's business.
        headers: dict[str, Any] = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        client = openai.AsyncOpenAI(
            api_key=key.get_secret_value() if key is not None else "none",
            base_url=self._role.base_url,
            max_retries=0,
            default_headers=headers,
            http_client=http,
        )
        client.chat  # noqa: B018 - see `Exchange`
        return client

    async def complete(self, request: ModelRequest, *, timeout: float) -> Completion:
        """Send `request`; see `Provider.complete`. The first to a server may be several HTTP requests."""
        deadline = time.monotonic() + timeout
        dialect = _known.get(self._server)
        if dialect is None:
            lock = _locks.setdefault(asyncio.get_running_loop(), {}).setdefault(self._server, asyncio.Lock())
            try:
                async with asyncio.timeout(timeout):
                    await lock.acquire()
            except TimeoutError:
                raise read_wait(self._exchange.origin, sent=False) from None
            try:
                dialect = _known.get(self._server)
                if dialect is None:
                    return await self._detect(request, deadline)
            finally:
                lock.release()
        outcome = await self._ask(request, dialect, deadline)
        if isinstance(outcome, _Rejected):
            # Another server may stand there now: the next request finds out again.
            if _known.get(self._server) is dialect:
                del _known[self._server]
            outcome.failure.retryable = True
            raise outcome.failure
        return outcome

    async def count_tokens(self, request: ModelRequest) -> int:
        """Raise: these servers have no common way to say it."""
        raise refuse_count(self._exchange.origin, "servers of this format have no common way to do so")

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._exchange.aclose()

    async def _detect(self, request: ModelRequest, deadline: float) -> Completion:
        dialect = Dialect.JSON_SCHEMA
        while True:
            outcome = await self._ask(request, dialect, deadline, detecting=True)
            if isinstance(outcome, Completion):
                return outcome
            # The last way has nothing left to reject, so this ends.
            dialect = dialect.next

    async def _ask(
        self, request: ModelRequest, dialect: Dialect, deadline: float, *, detecting: bool = False
    ) -> Completion | _Rejected:
        given = write_chat_request(request, dialect)

        async def create(client: Any, limit: Any) -> Any:
            extra = {} if self._exchange.origin.key else {"Authorization": openai.Omit()}
            try:
                return await client.chat.completions.with_raw_response.create(
                    **given, timeout=limit, extra_headers=extra
                )
            except openai.APIStatusError as error:
                failure = self._read_rejection(error, dialect)
                if failure is None:
                    raise
                return _Rejected(failure)

        response = await self._exchange.run(create, timeout=max(deadline - time.monotonic(), 0.001))
        if isinstance(response, Completion | _Rejected):
            return response
        completion = read_chat(self._exchange.read(response.http_response), request, self._exchange)
        if detecting:
            _known[self._server] = dialect
        if _ignores_schema(completion) and _known.get(self._server) is dialect:
            _known[self._server] = dialect.next
        return completion

    def _read_rejection(self, error: openai.APIStatusError, dialect: Dialect) -> ProviderError | None:
        if dialect is Dialect.PLAIN or error.status_code not in _REJECTING:
            return None
        text = error.response.text
        failure = read_status(error.status_code, error.response.headers, text, self._exchange.origin)
        body = read_error_body(text)
        named = body.form != "html" and _NAMES_FORMAT.search(f"{body.kind} {body.message}")
        return failure if isinstance(failure, ProviderError) and named else None


def find_dialect(role: JudgeRole) -> Dialect | None:
    """Return how the server of `role` is given a schema, or None while that is not known."""
    return _known.get((role.base_url or "", role.model))


def forget_dialects() -> None:
    """Forget what was found out about servers."""
    _known.clear()


def write_chat_request(request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """Return the body of a chat completion request; the system parts are one message, as templates want."""
    system = [part for part in request.system if part]
    if dialect is not Dialect.JSON_SCHEMA:
        schema = json.dumps(dict(request.schema), ensure_ascii=False)
        system.append(
            f"Answer with one JSON object that satisfies this JSON Schema, and nothing else:\n{schema}"
        )
    messages = [{"role": turn.role, "content": turn.text} for turn in request.messages]
    if system:
        messages.insert(0, {"role": "system", "content": "\n\n".join(system)})
    # The older of the two names of the limit is the one that all of these servers know.
    given: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "max_tokens": request.max_output_tokens,
    }
    if dialect is Dialect.JSON_SCHEMA:
        given["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": request.schema_name, "schema": dict(request.schema), "strict": True},
        }
    elif dialect is Dialect.JSON_OBJECT:
        given["response_format"] = {"type": "json_object", "schema": dict(request.schema)}
    if request.effort is not None:
        given["reasoning_effort"] = request.effort
    if request.temperature is not None:
        given["temperature"] = request.temperature
    return given


def read_chat(reply: Reply, request: ModelRequest, exchange: Exchange) -> Completion:
    """Return the answer in the body of a chat completion: why it stopped first, then what it says.

    Raises:
        ProviderError: If the body is no chat completion (code ``unreadable_answer``).
    """
    body = reply.body
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        # Some servers send their errors with a good status.
        why = f"a choice; it says: {exchange.origin.quote(read_error_body(json.dumps(body)).message)}"
        raise refuse_body("{}", exchange.origin, why)
    stop = _STOPS.get(str(choice.get("finish_reason")), "complete")
    refusal = clean_text(message.get("refusal"))
    if refusal:
        stop = "refusal"
    usage = body.get("usage")
    read = count(usage, "prompt_tokens_details", "cached_tokens")
    written = count(usage, "prompt_tokens_details", "cache_write_tokens")
    return Completion(
        text=_read_content(message.get("content")),
        stop=stop,
        refusal=refusal or (str(choice.get("finish_reason")) if stop == "refusal" else ""),
        model=clean_text(body.get("model")) or request.model,
        request_id=reply.request_id or clean_text(body.get("id")),
        usage=Usage(
            input_tokens=max(count(usage, "prompt_tokens") - read - written, 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
            output_tokens=count(usage, "completion_tokens"),
        ),
    )


def _read_content(content: object) -> str:
    if isinstance(content, list):
        return "".join(clean_text(part.get("text")) for part in content if isinstance(part, dict))
    return clean_text(content)


def _ignores_schema(completion: Completion) -> bool:
    """Return whether an answer was written freely.

    Constrained decoding that ends writes nothing but JSON, save that llama.cpp's grammar lets line breaks
    into strings as they are.
    """
    if completion.stop != "complete" or not completion.text.strip():
        return False
    try:
        return not isinstance(json.loads(completion.text, strict=False), dict)
    except (ValueError, RecursionError):
        return True
