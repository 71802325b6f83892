"""Text that came too late to be a draft: kept beside the draft, so that neither takes the other's place."""

from __future__ import annotations

from typing import Final

from pipeline.store import Store
from pipeline.types import SavedDraft

__all__ = ["find_set_aside", "set_aside"]

_RECORD: Final = "set_aside"


def set_aside(store: Store, draft: SavedDraft) -> None:
    """Keep `draft` as the newest of its place and account that was not taken."""
    store.desk.save_record(_RECORD, _key(draft.review_id, draft.slot, draft.account), draft)


def find_set_aside(store: Store, review_id: str, slot: int, account: str) -> SavedDraft | None:
    """Return what somebody wrote of a place last that was not taken, or None."""
    return store.desk.find_record(_RECORD, _key(review_id, slot, account), SavedDraft)


def _key(review_id: str, slot: int, account: str) -> str:
    return f"{review_id}/{slot}/{account}"
