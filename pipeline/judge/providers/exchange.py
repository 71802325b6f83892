"""One request, one answer: what the three wire formats share in talking to an SDK.

An SDK's client belongs to the event loop in which it was made, and one grader may run several loops one after
another: each loop gets its own. Redirects are not followed: they would take submitted code along, and be a
second request.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from weakref import WeakKeyDictionary

from pydantic import SecretStr

from pipeline.judge.providers.bodies import read_request_id
from pipeline.judge.providers.faults import Origin, read_exception, read_wait, refuse_body
from pipeline.judge.providers.keys import find_key
from pipeline.judge.providers.provider import ProviderError
from pipeline.types import Completion, JudgeRole

__all__ = ["BATCH_SECONDS", "Exchange", "Reply", "count", "read_lines", "read_time"]

#: Longest that one request about a batch may take, in seconds: an upload can have 200 MB.
BATCH_SECONDS: Final = 600.0

#: Largest body of an answer. The longest answer of any model is a few MB.
_MOST_BYTES: Final = 32 << 20
#: Where providers keep the results of batches.
_RESULTS: Final = re.compile(r"/(?:results|content)$")

#: Longest to wait for a connection, in seconds.
_CONNECT_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Reply:
    """A body that is a JSON object, and the provider's name of the request."""

    body: Mapping[str, Any]
    request_id: str


class Exchange:
    """Holds a role's clients and key, and makes its requests.

    Args:
        role: Whose. sdk: The module `anthropic` or `openai`. open_client: Makes a client that repeats
        nothing, from a key and an HTTP client. It touches the part of the client that will be used: an SDK
        imports it then, which takes seconds that belong to no request.
    """

    def __init__(
        self, role: JudgeRole, sdk: Any, open_client: Callable[[SecretStr | None, Any], Any]
    ) -> None:
        self._role = role
        self._sdk = sdk
        self._open_client = open_client
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._key: SecretStr | None = None
        self._has_key = False

    @property
    def origin(self) -> Origin:
        """Who is asked, for messages."""
        return Origin(self._role, self._key)

    @property
    def client(self) -> Any:
        """The SDK's client of the running loop.

        Raises:
            ProviderError: If there is no key.
        """
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            if not self._has_key:
                self._key = find_key(self._role)
                self._has_key = True
            http = self._sdk.DefaultAsyncHttpxClient(
                follow_redirects=False,
                # Packed, a small body can fill the memory; nothing is asked for that way.
                headers={"accept-encoding": "identity"},
                event_hooks={"response": [_bound]},
            )
            client = self._clients[loop] = self._open_client(self._key, http)
        return client

    async def send(
        self, request: Callable[[Any, Any], Awaitable[Any]], *, timeout: float
    ) -> Reply | Completion:
        """Make one request and return its body, or the answer without text that its error stands for.

        Args:
            request: Called with the client and the SDK's timeout; returns the SDK's raw response.
            timeout: Seconds for all of it.

        Raises:
            ProviderError: If no answer came.
        """
        response = await self.run(request, timeout=timeout)
        if isinstance(response, Completion):
            return response
        return self.read(response.http_response)

    async def run(self, request: Callable[[Any, Any], Awaitable[Any]], *, timeout: float) -> Any:
        """Make one request and return what the SDK returns, or the answer that its error stands for.

        Raises:
            ProviderError: If no answer came.
        """
        import httpx2

        client = self.client
        try:
            # The SDK's limit is one of silence: a server that sends a byte now and then would never meet it.
            async with asyncio.timeout(timeout):
                return await request(client, httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)))
        except TimeoutError:
            raise read_wait(self.origin) from None
        except Exception as error:
            failure = read_exception(error, self._sdk, self.origin)
            if isinstance(failure, Completion):
                return failure
            # Without its cause: an SDK's exception holds the request, and that holds the key.
            raise failure from None

    def read(self, response: Any) -> Reply:
        """Return the body of an HTTP response.

        Raises:
            ProviderError: If it is not a JSON object.
        """
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):
            raise refuse_body(response.content.decode("utf-8", "replace"), self.origin) from None
        if not isinstance(body, dict):
            raise refuse_body(json.dumps(body), self.origin)
        return Reply(body, read_request_id(response.headers))

    async def stream(self, request: Callable[[Any, Any], Any]) -> AsyncGenerator[str, None]:
        """Yield the lines of a response as they come.

        Args:
            request: Called with the client and the SDK's timeout; returns the SDK's context of a streamed
                response.

        Raises:
            ProviderError: If it cannot be had, or ends too early; lines that came are whole.
        """
        import httpx2

        client = self.client
        limit = httpx2.Timeout(BATCH_SECONDS, connect=_CONNECT_SECONDS)
        try:
            async with request(client, limit) as response:
                async for line in response.iter_lines():
                    yield line
        except httpx2.HTTPError as error:
            # An SDK translates no error of a body that it does not read itself.
            broken = self._sdk.APIConnectionError(request=error.request)
            broken.__cause__ = error
            raise _as_error(read_exception(broken, self._sdk, self.origin)) from None
        except self._sdk.APIError as error:
            raise _as_error(read_exception(error, self._sdk, self.origin)) from None

    async def aclose(self) -> None:
        """Close the client of the running loop; the next request makes a new one."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


async def _bound(response: Any) -> None:
    """Let no body, other than a list of results, be larger than any honest answer."""
    import httpx2

    packing = response.headers.get("content-encoding", "identity")
    if packing != "identity":
        raise httpx2.ReadError(f"the answer is packed ({packing[:20]!r}), which nobody asked for")
    if _RESULTS.search(response.request.url.path):
        return  # Read line by line.

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncGenerator[bytes, None]:
            size = 0
            async for part in whole:
                size += len(part)
                if size > _MOST_BYTES:
                    raise httpx2.ReadError(f"the answer has more than {_MOST_BYTES >> 20} MiB")
                yield part

        async def aclose(self) -> None:
            await whole.aclose()

    whole = response.stream
    response.stream = Bounded()


async def read_lines(lines: AsyncGenerator[str, None]) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield the JSON objects among `lines`; a line that is none is as good as one that is missing."""
    # Whoever stops early lets go of the connection at once, not when the garbage is collected.
    async with aclosing(lines):
        async for line in lines:
            try:
                given = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(given, dict):
                yield given


def read_time(text: object) -> datetime | None:
    """Return a point in time with its zone, or None where `text` is none."""
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo is not None else found.replace(tzinfo=UTC)


def count(given: object, *names: str) -> int:
    """Return the number of tokens at a path of `names`; 0 where nothing sensible stands there."""
    for name in names:
        given = given.get(name) if isinstance(given, Mapping) else None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < 1e12:
        return 0
    return int(given)


def _as_error(failure: ProviderError | Completion) -> ProviderError:
    if isinstance(failure, ProviderError):
        return failure
    raise AssertionError("a list of results is no prompt")
