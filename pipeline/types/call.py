"""A call to a model: what it was for, what came back, and what it cost."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pipeline.types.model import Frozen

__all__ = ["Call", "CallEnd", "Completion", "ProviderBatch", "StopReason", "Usage"]

#: Why a model stopped: done, at the output limit, at the end of its context, or because it declined.
StopReason = Literal["complete", "length", "context", "refusal"]


class Usage(Frozen):
    """Tokens of one answer, as the provider counted them; the kinds do not overlap."""

    input_tokens: int = 0
    """Read in full."""
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    """Written, reasoning included."""


class Completion(Frozen):
    """An answer as the provider gave it, before anybody believed it."""

    text: str
    """May be empty."""
    stop: StopReason
    refusal: str = ""
    """The provider's words or category where the model declined."""
    model: str
    """The model that answered, by the provider's own word."""
    request_id: str = ""
    usage: Usage


class Call(Frozen):
    """One request that is about to be sent. It is on the disk before the request leaves."""

    id: str
    """``c-``, a random name of the run and a number in it; no two calls share one."""
    key: str
    """Content key of everything that shapes the answer; a repeated request has the same one."""
    grading_id: str
    submission_id: str
    criteria: tuple[str, ...]
    """What it asks about; its cost is split evenly among them."""
    role: str
    """``judge``, ``second`` or ``arbiter``."""
    provider: str
    """Name under which the provider is configured, e.g. ``anthropic`` or ``local``."""
    model: str
    batch_id: str | None = None
    """The provider batch it is part of; None for a live call."""
    started_at: datetime
    estimated_cost: int
    """Micro-dollars that were set aside for it."""


class CallEnd(Frozen):
    """What became of a call. A call without one was in flight when its process died, and may be paid."""

    call_id: str
    outcome: Literal["answered", "failed", "lost"]
    """Lost: a time-out or a broken connection; the provider may have charged for it all the same."""
    code: str = ""
    """Code of the fault, where there was one."""
    message: str = ""
    seconds: float
    usage: Usage = Usage()
    cost: int
    """Micro-dollars by the price list; of a lost call, what it may have cost."""


class ProviderBatch(Frozen):
    """Calls handed to a provider together, at its batch price. Kept before they are sent."""

    id: str
    """``pb-`` and a random number; sent along wherever the provider has a place for it."""
    provider: str
    model: str
    keys: tuple[str, ...]
    """Content key of each request; its custom id is `custom_id` of its place."""
    created_at: datetime

    def custom_id(self, place: int) -> str:
        """Return the name that the request at `place` (0-based) carries at the provider."""
        return f"{self.id}-{place}"
