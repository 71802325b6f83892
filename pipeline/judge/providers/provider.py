"""The seam between the grader and whoever serves a model: one request, one answer, or one error.

A provider makes exactly one HTTP request per call and never repeats one: repeats, waiting and money belong to
`pipeline.judge.calls`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from pipeline.errors import GraderError
from pipeline.types import Completion, Fault

__all__ = ["BatchProvider", "Message", "ModelRequest", "Provider", "ProviderError", "SubmittedBatch"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked.

    Attributes:
        model: The provider's name of it.
        system: Parts of the system prompt, the least changing first; each ends a prefix worth caching.
        messages: At least one; the first and the last are the user's.
        schema: JSON Schema that the answer has to satisfy.
        schema_name: Name of the schema, for providers that want one.
        max_output_tokens: Limit of the answer, reasoning included.
        effort: Reasoning effort, or None for the provider's default.
        temperature: Sampling temperature, or None for the provider's default.
    """

    model: str
    system: tuple[str, ...]
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    schema_name: str
    max_output_tokens: int
    effort: str | None = None
    temperature: float | None = None


class ProviderError(GraderError):
    """A request that brought no answer.

    Attributes:
        retryable: Whether the same request may succeed later.
        throttled: Whether the provider asks for fewer requests (429, 529).
        retry_after: Seconds that the provider asks to wait, if it said so.
        maybe_charged: Whether the provider may have done the work all the same (time-out, reset in mid-body).
        stops_run: Whether every further call would fail alike (no key, wrong key, unknown model).
    """

    def __init__(
        self,
        fault: Fault,
        *,
        retryable: bool = False,
        throttled: bool = False,
        retry_after: float | None = None,
        maybe_charged: bool = False,
        stops_run: bool = False,
    ) -> None:
        super().__init__(fault)
        self.retryable = retryable
        self.throttled = throttled
        self.retry_after = retry_after
        self.maybe_charged = maybe_charged
        self.stops_run = stops_run


class Provider(Protocol):
    """Serves models."""

    async def complete(self, request: ModelRequest, *, timeout: float) -> Completion:
        """Send `request` once and return what came back within `timeout` seconds.

        A truncated or refused answer is returned, not raised: `Completion.stop` says so.

        Raises:
            ProviderError: If no answer came.
        """

    async def count_tokens(self, request: ModelRequest) -> int:
        """Return how many tokens the provider counts in `request`; this sends the text to it.

        Raises:
            ProviderError: If it cannot say.
        """

    async def aclose(self) -> None:
        """Let go of connections; the provider may be used again, also in another event loop."""


@dataclass(frozen=True, slots=True)
class SubmittedBatch:
    """A batch as the provider lists it.

    Attributes:
        provider_id: The provider's name of it.
        our_id: `ProviderBatch.id` where the provider kept it, else None.
        created_at: When the provider accepted it.
        size: Requests in it.
        ended: Whether nothing more will come.
        expired: Whether it ended because its time was over.
    """

    provider_id: str
    our_id: str | None
    created_at: datetime
    size: int
    ended: bool
    expired: bool = False


class BatchProvider(Provider, Protocol):
    """A provider that also takes many requests at once, at a lower price and within a day."""

    async def submit(self, batch_id: str, requests: Mapping[str, ModelRequest]) -> SubmittedBatch:
        """Hand over `requests`, by custom id, as the batch that we call `batch_id`.

        Raises:
            ProviderError: If it was not accepted, or if nobody knows whether it was (`maybe_charged`).
        """

    async def list_batches(self, since: datetime) -> list[SubmittedBatch]:
        """Return the batches that the provider accepted since then."""

    async def poll(self, provider_id: str) -> SubmittedBatch:
        """Return where a batch stands."""

    def results(self, provider_id: str) -> AsyncGenerator[tuple[str, Completion | ProviderError], None]:
        """Yield custom id and answer or error of each request of an ended batch; some may be missing."""

    async def cancel(self, provider_id: str) -> None:
        """Ask the provider to stop working on a batch."""
