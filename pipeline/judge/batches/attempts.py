"""How often a request may be sent in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pipeline.store import Ledger
from pipeline.types import CallEnd

__all__ = ["NOT_ACCEPTED", "is_hopeless", "list_attempts"]

#: Code of the end of a call that the provider never took, and that may be sent again as if it had not been.
NOT_ACCEPTED: Final = "not_accepted"

#: A request that brought nothing is sent once more, then its submission goes to a person.
_TRIES: Final = 2


def list_attempts(ledger: Ledger, key: str) -> Sequence[CallEnd]:
    """Return what became of the request with this key in the batches that a provider took, oldest first."""
    return [end for end in ledger.list_batch_ends(key) if end.code != NOT_ACCEPTED]


def is_hopeless(ledger: Ledger, key: str) -> bool:
    """Whether the request with this key was sent in batches as often as it may be, for nothing."""
    attempts = list_attempts(ledger, key)
    return any(end.outcome == "failed" for end in attempts) or len(attempts) >= _TRIES
