"""How the review desk's records become rows and entries of the journal."""

from __future__ import annotations

from typing import Any

from pipeline.store.errors import StoreError
from pipeline.store.storable import checked, require_zone, to_json
from pipeline.store.transport import Command
from pipeline.types import Activity, DeskEvent, Review, SavedDraft

__all__ = [
    "activity_commands",
    "draft_commands",
    "event_body",
    "event_commands",
    "place_of_draft",
    "record_body",
    "record_commands",
]


def event_commands(event: DeskEvent) -> list[Command]:
    """Return what stores `event`.

    Raises:
        StoreError: If it cannot be stored.
    """
    require_zone(event.at, f"event {event.id}: its time")
    kind = event.action.kind
    row = (event.id, event.review_id, event.slot, event.actor, kind, event.at, to_json(event))
    return checked("desk_events", [row])


def event_body(event: DeskEvent, review: Review | None) -> dict[str, Any]:
    """Return the journal's body for `event`, from which both it and its review can be stored again."""
    return {
        "event": event.model_dump(mode="json"),
        "review": review.model_dump(mode="json") if review else None,
    }


def draft_commands(draft: SavedDraft) -> list[Command]:
    """Return what stores `draft` as the newest of its place.

    Raises:
        StoreError: If it cannot be stored.
    """
    place = place_of_draft(draft.review_id, draft.slot, draft.account)
    return checked("desk_drafts", [(place, draft.revision, to_json(draft))])


def place_of_draft(review_id: str, slot: int, account: str) -> str:
    """Return the key of a draft; names of accounts have no slash."""
    return f"{review_id}/{slot}/{account}"


def activity_commands(activity: Activity) -> list[Command]:
    """Return what stores `activity`; the very same one again is ignored.

    Raises:
        StoreError: If it cannot be stored.
    """
    for moment in (activity.started_at, activity.ended_at):
        require_zone(moment, f"work on {activity.review_id}: a time of it")
    body = to_json(activity)
    row = (
        activity.content_hash(),
        activity.account,
        activity.review_id,
        activity.started_at,
        activity.ended_at,
        activity.active_seconds,
        body,
    )
    return checked("desk_activity", [row])


def record_commands(kind: str, key: str, record: str) -> list[Command]:
    """Return what stores `record` (JSON) as the newest of its kind and key.

    Raises:
        StoreError: If it cannot be stored, or has no key.
    """
    if not key:
        raise StoreError("no_key", f"a record of kind {kind} needs a key")
    return checked("desk_records", [(kind, key, record)])


def record_body(kind: str, key: str, record: str) -> dict[str, Any]:
    """Return the journal's body for a record (JSON), from which it can be stored again."""
    return {"record": {"kind": kind, "key": key, "text": record}}
