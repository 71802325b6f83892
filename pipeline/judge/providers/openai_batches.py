"""OpenAI's batches: a file of requests, half the price, a file of answers within a day.

The name that we give a batch stands in its metadata. The upload of the file comes before the batch: what is
lost between the two is a file, and costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Final

from pipeline.judge.providers.bodies import clean_text
from pipeline.judge.providers.exchange import BATCH_SECONDS, Reply, count, read_lines
from pipeline.judge.providers.faults import NOT_FOUND, read_status, refuse_batch, refuse_body
from pipeline.judge.providers.openai import OpenAIProvider, read_response, write_response_request
from pipeline.judge.providers.provider import ModelRequest, ProviderError, SubmittedBatch
from pipeline.types import Completion

__all__ = ["OpenAIBatchProvider"]

#: Most requests and bytes in one batch, by the API's reference.
_MOST_REQUESTS: Final = 50_000
_MOST_BYTES: Final = 200_000_000
_PAGE: Final = 100

_ENDPOINT: Final = "/v1/responses"
_OUR_ID: Final = "nki_grader_batch"
_ENDED: Final = frozenset({"completed", "failed", "expired", "cancelled"})


class OpenAIBatchProvider(OpenAIProvider):
    """Serves GPT, also in batches."""

    async def submit(self, batch_id: str, requests: Mapping[str, ModelRequest]) -> SubmittedBatch:
        """Hand over `requests`; see `BatchProvider.submit`."""
        lines = [
            json.dumps(
                {
                    "custom_id": name,
                    "method": "POST",
                    "url": _ENDPOINT,
                    "body": write_response_request(request),
                }
            )
            for name, request in requests.items()
        ]
        data = "".join(f"{line}\n" for line in lines).encode()
        if len(requests) > _MOST_REQUESTS or len(data) > _MOST_BYTES:
            raise refuse_batch(
                self._exchange.origin, f"it has more than {_MOST_REQUESTS} requests or {_MOST_BYTES} bytes"
            )
        try:
            file = await self._send(
                lambda client, limit: client.files.with_raw_response.create(
                    file=(f"{batch_id}.jsonl", data), purpose="batch", timeout=limit
                )
            )
        except ProviderError as error:
            # Whatever became of the file, no work was asked for.
            error.maybe_charged = False
            raise
        name = file.get("id")
        if not isinstance(name, str):
            raise refuse_body("{}", self._exchange.origin, "a file")
        body = await self._send(
            lambda client, limit: client.batches.with_raw_response.create(
                input_file_id=name,
                endpoint=_ENDPOINT,
                completion_window="24h",
                metadata={_OUR_ID: batch_id},
                timeout=limit,
            )
        )
        return self._read_batch(body, len(requests))

    async def list_batches(self, since: datetime) -> list[SubmittedBatch]:
        """Return the batches accepted since then, the newest first; see `BatchProvider.list_batches`."""
        # The provider counts in whole seconds.
        start = since.replace(microsecond=0)
        found: list[SubmittedBatch] = []
        after: dict[str, Any] = {}
        while True:
            page = await self._list_page(after)
            entries = page.get("data")
            if not isinstance(entries, list):
                raise refuse_body("{}", self._exchange.origin, "a list of batches")
            batches = [self._read_batch(entry) for entry in entries if isinstance(entry, dict)]
            found += [batch for batch in batches if batch.created_at >= start]
            if not batches or not page.get("has_more") or batches[-1].created_at < start:
                return found
            after = {"after": batches[-1].provider_id}

    async def poll(self, provider_id: str) -> SubmittedBatch:
        """Return where a batch stands; see `BatchProvider.poll`."""
        return self._read_batch(await self._retrieve(provider_id))

    async def results(self, provider_id: str) -> AsyncGenerator[tuple[str, Completion | ProviderError], None]:
        """Yield custom id and answer or error of each request; see `BatchProvider.results`.

        Raises:
            ProviderError: If the whole batch was refused, which the provider finds out after accepting it.
        """
        body = await self._retrieve(provider_id)
        files = [body.get("output_file_id"), body.get("error_file_id")]
        if body.get("status") not in _ENDED:
            raise refuse_batch(self._exchange.origin, "it has no results (yet)", code="batch_unfinished")
        if body.get("status") == "failed" and not any(files):
            raise refuse_batch(self._exchange.origin, _read_errors(body))
        for file in files:
            if not isinstance(file, str) or not file:
                continue
            try:
                async with aclosing(read_lines(self._stream_file(file))) as lines:
                    async for line in lines:
                        name = line.get("custom_id")
                        if isinstance(name, str):
                            yield name, self._read_line(line)
            except ProviderError as error:
                if error.fault.code not in NOT_FOUND:
                    raise
                # The batch was there a moment ago, so the address is right.
                raise refuse_batch(self._exchange.origin, "its results are gone", code="batch_gone") from None

    async def cancel(self, provider_id: str) -> None:
        """Ask the provider to stop; see `BatchProvider.cancel`."""
        await self._send(
            lambda client, limit: client.batches.with_raw_response.cancel(provider_id, timeout=limit)
        )

    def _stream_file(self, file: str) -> AsyncGenerator[str, None]:
        return self._exchange.stream(
            lambda client, limit: client.files.with_streaming_response.content(file, timeout=limit)
        )

    async def _list_page(self, after: Mapping[str, Any]) -> Mapping[str, Any]:
        async def request(client: Any, limit: Any) -> Any:
            return await client.batches.with_raw_response.list(limit=_PAGE, timeout=limit, **after)

        return await self._send(request)

    async def _retrieve(self, provider_id: str) -> Mapping[str, Any]:
        return await self._send(
            lambda client, limit: client.batches.with_raw_response.retrieve(provider_id, timeout=limit)
        )

    async def _send(self, request: Any) -> Mapping[str, Any]:
        reply = await self._exchange.send(request, timeout=BATCH_SECONDS)
        if isinstance(reply, Completion):
            raise refuse_batch(self._exchange.origin, reply.refusal or "a prompt is too long")
        return reply.body

    def _read_batch(self, body: Mapping[str, Any], size: int = 0) -> SubmittedBatch:
        name, created = body.get("id"), body.get("created_at")
        if not isinstance(name, str) or isinstance(created, bool) or not isinstance(created, int | float):
            raise refuse_body("{}", self._exchange.origin, "a batch")
        metadata = body.get("metadata")
        ours = metadata.get(_OUR_ID) if isinstance(metadata, dict) else None
        return SubmittedBatch(
            provider_id=name,
            our_id=ours if isinstance(ours, str) else None,
            created_at=datetime.fromtimestamp(created, UTC),
            # While the file is being looked through, the provider counts none.
            size=count(body, "request_counts", "total") or size,
            ended=body.get("status") in _ENDED,
            expired=body.get("status") == "expired",
        )

    def _read_line(self, line: Mapping[str, Any]) -> Completion | ProviderError:
        origin = self._exchange.origin
        response = line.get("response")
        if isinstance(response, dict):
            status, body = response.get("status_code"), response.get("body")
            if status == 200 and isinstance(body, dict):
                try:
                    request_id = clean_text(response.get("request_id"))
                    return read_response(Reply(body, request_id), self._role.model, self._exchange)
                except ProviderError as unreadable:
                    return unreadable
            return read_status(status if isinstance(status, int) else 500, {}, json.dumps(body), origin)
        error = line.get("error")
        code = clean_text(error.get("code")) if isinstance(error, dict) else ""
        if code == "batch_expired":
            return refuse_batch(origin, "its time was over", code="batch_expired")
        if code in ("batch_cancelled", "batch_canceled"):
            return refuse_batch(origin, "it was cancelled", code="batch_canceled")
        return read_status(500, {}, json.dumps({"error": error}), origin)


def _read_errors(body: Mapping[str, Any]) -> str:
    errors = body.get("errors")
    entries = errors.get("data") if isinstance(errors, dict) else None
    said = [clean_text(entry.get("message")) for entry in entries or [] if isinstance(entry, dict)]
    return "; ".join(text for text in said[:3] if text) or "the provider refused it"
