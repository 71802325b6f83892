"""Find a batch at the provider after nobody lived to note its name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pipeline.judge.providers.exchange import BATCH_SECONDS
from pipeline.judge.providers.provider import BatchProvider, ProviderError, SubmittedBatch
from pipeline.types import ProviderBatch

__all__ = ["SKEW", "Sighting", "find_batch"]

#: The clocks of two machines may differ by this much.
SKEW: Final = timedelta(minutes=5)
#: An intent is sent at once, so what was accepted much later is somebody else's. Twice the longest request:
#: an OpenAI batch is two of them.
_LATEST: Final = timedelta(seconds=2 * BATCH_SECONDS) + SKEW


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a provider knows of a batch that we meant to send.

    Attributes:
        found: The batch, once it is certain.
        possible: Batches that may be it, and cannot be told apart from it before they end.
    """

    found: SubmittedBatch | None
    possible: tuple[SubmittedBatch, ...]

    @property
    def absent(self) -> bool:
        """Whether the provider has nothing that could be it."""
        return self.found is None and not self.possible


async def find_batch(
    batch: ProviderBatch, provider: BatchProvider, claimed: Iterable[str], strangers: set[tuple[str, str]]
) -> Sighting:
    """Look for `batch` among what `provider` accepted since it was meant to be sent.

    A provider that keeps our name settles it at once. Where none is kept, size and time narrow the choice and
    the custom ids in the results decide, as soon as the batch has ended.

    Args:
        batch: The intent.
        provider: Where it would be.
        claimed: The provider's names of batches that are known to be others.
        strangers: Our and the provider's name of batches that were looked into and are different ones; what
            is found to be is added, so that nobody's results are read at every look.

    Raises:
        ProviderError: If the provider cannot say.
    """
    known = set(claimed)
    listed = await provider.list_batches(batch.created_at - SKEW)
    for candidate in listed:
        if candidate.our_id == batch.id:
            return Sighting(candidate, ())
    possible = []
    for candidate in listed:
        if candidate.our_id is not None or candidate.provider_id in known:
            continue
        if candidate.size != len(batch.keys) or candidate.created_at > batch.created_at + _LATEST:
            continue
        pair = (batch.id, candidate.provider_id)
        if pair in strangers:
            continue
        if not candidate.ended:
            possible.append(candidate)
        elif await _is_ours(batch, candidate, provider):
            return Sighting(candidate, ())
        else:
            strangers.add(pair)
    return Sighting(None, tuple(possible))


async def _is_ours(batch: ProviderBatch, candidate: SubmittedBatch, provider: BatchProvider) -> bool:
    names = {batch.custom_id(place) for place in range(len(batch.keys))}
    try:
        async with aclosing(provider.results(candidate.provider_id)) as results:
            async for custom_id, _ in results:
                if custom_id in names:
                    return True
    except ProviderError as error:
        if error.retryable or error.stops_run:
            raise
        # Nothing can be had of it any more, whoever sent it.
    return False
