"""What a call may take, told before it is made: an upper bound of tokens and money."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pipeline.judge.prompt import estimate_tokens
from pipeline.judge.providers.models import Model, Price
from pipeline.judge.providers.provider import ModelRequest
from pipeline.types import Usage

__all__ = ["Estimate", "estimate_call"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one or more calls may take.

    Attributes:
        calls: How many.
        input_tokens: Read, at most.
        output_tokens: Written, at most: the limit that the answer is given.
        cost: Micro-dollars, at most; 0 where the price is unknown.
        unpriced: Of the calls, those whose price is unknown.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0
    unpriced: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        """Return both together."""
        return Estimate(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
        )


def estimate_call(
    request: ModelRequest, model: Model, *, batch: bool = False, counted: int | None = None
) -> Estimate:
    """Return what `request` may take of `model`, live or at its `batch` price.

    The schema counts as text, since providers put it into the prompt. Of input read in full and input written
    to the cache the dearer is assumed.

    Args:
        request: What would be sent.
        model: Its limits and price.
        batch: Whether it goes into a provider batch.
        counted: Tokens of the request as its provider counts them; None to estimate them by its characters.
    """
    texts = [
        *request.system,
        *(message.text for message in request.messages),
        json.dumps(dict(request.schema)),
    ]
    read = sum(estimate_tokens(text) for text in texts) if counted is None else counted
    written = request.max_output_tokens
    cost = 0 if model.price is None else _dearest(model.price, read, written, batch=batch)
    return Estimate(1, read, written, cost, int(model.price is None))


def _dearest(price: Price, read: int, written: int, *, batch: bool) -> int:
    plain = price.cost(Usage(input_tokens=read, output_tokens=written), batch=batch)
    cached = price.cost(Usage(cache_write_tokens=read, output_tokens=written), batch=batch)
    return max(plain, cached)
