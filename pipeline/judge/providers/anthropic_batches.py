"""Anthropic's Message Batches: many requests at half the price, within a day.

A batch here has no place for a name of ours: `SubmittedBatch.our_id` is always None, and only the custom ids
in its results tell whose it is.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final

from pipeline.judge.providers.anthropic import AnthropicProvider, read_message, write_message_request
from pipeline.judge.providers.exchange import BATCH_SECONDS, Reply, count, read_lines, read_time
from pipeline.judge.providers.faults import NOT_FOUND, TYPE_STATUSES, read_status, refuse_batch, refuse_body
from pipeline.judge.providers.provider import ModelRequest, ProviderError, SubmittedBatch
from pipeline.types import Completion

__all__ = ["AnthropicBatchProvider"]

#: Most requests in one batch, and batches in one page of a list, by the API's reference.
_MOST_REQUESTS: Final = 100_000
_PAGE: Final = 100

_COUNTS: Final = ("processing", "succeeded", "errored", "canceled", "expired")


class AnthropicBatchProvider(AnthropicProvider):
    """Serves Claude, also in batches."""

    async def submit(self, batch_id: str, requests: Mapping[str, ModelRequest]) -> SubmittedBatch:
        """Hand over `requests`; see `BatchProvider.submit`."""
        if len(requests) > _MOST_REQUESTS:
            raise refuse_batch(self._exchange.origin, f"it has more than {_MOST_REQUESTS} requests")
        given = [
            {"custom_id": name, "params": write_message_request(request)}
            for name, request in requests.items()
        ]
        body = await self._send(
            lambda client, limit: client.messages.batches.with_raw_response.create(
                requests=given, timeout=limit
            )
        )
        return self._read_batch(body)

    async def list_batches(self, since: datetime) -> list[SubmittedBatch]:
        """Return the batches accepted since then, the newest first; see `BatchProvider.list_batches`."""
        found: list[SubmittedBatch] = []
        after: dict[str, Any] = {}
        while True:
            page = await self._list_page(after)
            entries = page.get("data")
            if not isinstance(entries, list):
                raise refuse_body("{}", self._exchange.origin, "a list of batches")
            batches = [self._read_batch(entry) for entry in entries if isinstance(entry, dict)]
            found += [batch for batch in batches if batch.created_at >= since]
            if not batches or not page.get("has_more") or batches[-1].created_at < since:
                return found
            after = {"after_id": batches[-1].provider_id}

    async def poll(self, provider_id: str) -> SubmittedBatch:
        """Return where a batch stands; see `BatchProvider.poll`."""
        return self._read_batch(await self._retrieve(provider_id))

    async def results(self, provider_id: str) -> AsyncGenerator[tuple[str, Completion | ProviderError], None]:
        """Yield custom id and answer or error of each request; see `BatchProvider.results`."""
        body = await self._retrieve(provider_id)
        address = body.get("results_url")
        if not isinstance(address, str) or not address:
            if body.get("processing_status") == "ended":
                # They are kept for 29 days.
                raise refuse_batch(self._exchange.origin, "its results are gone", code="batch_gone")
            raise refuse_batch(self._exchange.origin, "it has no results (yet)", code="batch_unfinished")
        lines = self._exchange.stream(
            lambda client, limit: client.messages.batches.with_streaming_response.results(
                provider_id, timeout=limit
            )
        )
        try:
            async with aclosing(read_lines(lines)) as entries:
                async for entry in entries:
                    name, result = entry.get("custom_id"), entry.get("result")
                    if isinstance(name, str) and isinstance(result, dict):
                        yield name, self._read_result(result)
        except ProviderError as error:
            if error.fault.code not in NOT_FOUND:
                raise
            # The batch was there a moment ago, so the address is right.
            raise refuse_batch(self._exchange.origin, "its results are gone", code="batch_gone") from None

    async def cancel(self, provider_id: str) -> None:
        """Ask the provider to stop; see `BatchProvider.cancel`."""
        await self._send(
            lambda client, limit: client.messages.batches.with_raw_response.cancel(provider_id, timeout=limit)
        )

    async def _list_page(self, after: Mapping[str, Any]) -> Mapping[str, Any]:
        async def request(client: Any, limit: Any) -> Any:
            listing = client.messages.batches.with_raw_response.list(limit=_PAGE, timeout=limit, **after)
            return await listing

        return await self._send(request)

    async def _retrieve(self, provider_id: str) -> Mapping[str, Any]:
        return await self._send(
            lambda client, limit: client.messages.batches.with_raw_response.retrieve(
                provider_id, timeout=limit
            )
        )

    async def _send(self, request: Any) -> Mapping[str, Any]:
        reply = await self._exchange.send(request, timeout=BATCH_SECONDS)
        if isinstance(reply, Completion):
            raise refuse_batch(self._exchange.origin, reply.refusal or "a prompt is too long")
        return reply.body

    def _read_batch(self, body: Mapping[str, Any]) -> SubmittedBatch:
        name, created = body.get("id"), read_time(body.get("created_at"))
        if not isinstance(name, str) or created is None:
            raise refuse_body("{}", self._exchange.origin, "a batch")
        counts = body.get("request_counts")
        ended = body.get("processing_status") == "ended"
        return SubmittedBatch(
            provider_id=name,
            our_id=None,
            created_at=created,
            size=sum(count(counts, kind) for kind in _COUNTS),
            ended=ended,
            expired=ended and count(counts, "expired") > 0,
        )

    def _read_result(self, result: Mapping[str, Any]) -> Completion | ProviderError:
        kind = result.get("type")
        message = result.get("message")
        if kind == "succeeded" and isinstance(message, dict):
            try:
                return read_message(Reply(message, ""), self._role.model, self._exchange)
            except ProviderError as unreadable:
                return unreadable
        if kind == "errored":
            error = result.get("error")
            inner = error.get("error") if isinstance(error, dict) else None
            named = str(inner.get("type")) if isinstance(inner, dict) else ""
            return read_status(
                TYPE_STATUSES.get(named, 500), {}, json.dumps({"error": inner}), self._exchange.origin
            )
        return refuse_batch(
            self._exchange.origin,
            "its time was over" if kind == "expired" else "it was cancelled",
            code="batch_expired" if kind == "expired" else "batch_canceled",
        )
