"""Find a batch at the provider after nobody lived to note its name."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pipeline.judge.providers.provider import BatchProvider, SubmittedBatch
from pipeline.types import ProviderBatch

__all__ = ["Sighting", "find_batch"]

#: The clocks of two machines may differ by this much.
_SKEW: Final = timedelta(minutes=5)


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


async def find_batch(batch: ProviderBatch, provider: BatchProvider, claimed: Iterable[str]) -> Sighting:
    """Look for `batch` among what `provider` accepted since it was meant to be sent.

    A provider that keeps our name settles it at once. Where none is kept, the size narrows the choice and the
    custom ids in the results decide, as soon as the batch has ended.

    Args:
        batch: The intent.
        provider: Where it would be.
        claimed: The provider's names of batches that are known to be others.

    Raises:
        ProviderError: If the provider cannot say.
    """
    known = set(claimed)
    listed = await provider.list_batches(batch.created_at - _SKEW)
    for candidate in listed:
        if candidate.our_id == batch.id:
            return Sighting(candidate, ())
    possible = []
    for candidate in listed:
        if candidate.our_id is not None or candidate.provider_id in known:
            continue
        if candidate.size != len(batch.keys):
            continue
        if not candidate.ended:
            possible.append(candidate)
        elif await _is_ours(batch, candidate, provider):
            return Sighting(candidate, ())
    return Sighting(None, tuple(possible))


async def _is_ours(batch: ProviderBatch, candidate: SubmittedBatch, provider: BatchProvider) -> bool:
    names = {batch.custom_id(place) for place in range(len(batch.keys))}
    async with aclosing(provider.results(candidate.provider_id)) as results:  # type: ignore[type-var]
        async for custom_id, _ in results:
            return custom_id in names
    return False
