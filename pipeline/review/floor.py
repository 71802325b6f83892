"""What all parts of the desk share: the board behind its lock, the clock, the settings."""

from __future__ import annotations

import dataclasses
import random
import threading
import uuid
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from pipeline.review.board import SHAPING, Board, PlaceId, Sheet, Slot
from pipeline.review.chances import chance_of, load_secret
from pipeline.review.concluding import find_difference
from pipeline.review.errors import DeskError
from pipeline.review.material import Material
from pipeline.review.permissions import Permission, may
from pipeline.review.places import Place, PlaceState, ReviewStanding, Submitted
from pipeline.review.pseudonyms import author_of, pseudonym_of
from pipeline.review.value import audit_value, is_drawn, queue_key, review_value
from pipeline.store import Store
from pipeline.store.records import DeskItem
from pipeline.types import (
    Account,
    Action,
    Assessment,
    Committed,
    DeskEvent,
    DeskSettings,
    Finished,
    Purpose,
    hash_text,
)

__all__ = ["DESK", "Floor", "blind_of", "event_id_of", "final_of", "require", "require_handed"]

#: Who acts where nobody does.
DESK: Final = "desk"

#: Reviews share this many locks: enough that two people hardly ever wait for one another.
_STRIPES: Final = 64


class Floor:
    """The board and everything around it; any number of threads may use it.

    The board changes under `lock` only, which nobody holds while a disk is awaited. What a person does to one
    review is held apart by `lock_of`, which comes first where both are needed.
    """

    def __init__(
        self, store: Store, clock: Callable[[], datetime] | None, chance: random.Random | None
    ) -> None:
        """Use `store`; nothing is read but the secret and the settings."""
        self.store = store
        self.now = clock or (lambda: datetime.now(UTC))
        self.chance = chance or random.SystemRandom()
        self.lock = threading.RLock()
        self.material = Material(store)
        self.secret = load_secret(store)
        self.settings = DeskSettings()
        self._values: dict[str, float] = {}
        self._values_routed: list[float] = []
        self.board = Board(self._order, timedelta())
        self.read_settings()
        self._stripes = [threading.RLock() for _ in range(_STRIPES)]

    def read_settings(self) -> None:
        """Take in how the desk is run now."""
        settings = self.store.desk.find_record("settings", DESK, DeskSettings) or DeskSettings()
        with self.lock:
            is_reordered = settings.value_hours != self.settings.value_hours
            self.settings = settings
            self.board.lease = self.lease
            if is_reordered:
                self.board.reorder()

    @property
    def lease(self) -> timedelta:
        """How long a lease lasts."""
        return timedelta(minutes=self.settings.lease_minutes)

    def lock_of(self, review_id: str) -> threading.RLock:
        """Return the lock under which people change one review."""
        return self._stripes[int(hash_text(review_id)[:8], 16) % _STRIPES]

    def _order(self, item: DeskItem) -> float:
        review = item.review
        return queue_key(
            review.opened_at,
            self._values[review.id],
            chance=chance_of(self.secret, "order", review.id),
            drawn=is_drawn(review),
            value_hours=self.settings.value_hours,
        )

    def _learn_value(self, item: DeskItem) -> None:
        review = item.review
        if review.id in self._values:
            return
        if is_drawn(review):
            value = audit_value(chance_of(self.secret, "value", review.id), self._values_routed)
        else:
            value = review_value(item.confidence)
            insort(self._values_routed, value)
        self._values[review.id] = value

    # Finding

    def find_sheet(self, review_id: str) -> tuple[Sheet, DeskItem]:
        """Return a review.

        Raises:
            DeskError: ``unknown``.
        """
        sheet = self.board.sheets.get(review_id)
        if sheet is None or sheet.item is None:
            raise DeskError("unknown", "there is no such review", "open one from your queue", where="review")
        return sheet, sheet.item

    def find_slot(self, review_id: str, number: int) -> Slot:
        """Return a place.

        Raises:
            DeskError: ``unknown``.
        """
        sheet, _ = self.find_sheet(review_id)
        slot = sheet.slots.get(number)
        if slot is None:
            raise DeskError("unknown", "that review has no such place", "open one from your queue")
        return slot

    def add(self, item: DeskItem) -> bool:
        """Take in a review; False if it was known."""
        self.material.learn_family(item)
        author = pseudonym_of(self.secret, author_of(item))
        with self.lock:
            self._learn_value(item)
            return self.board.add(item, author)

    def apply(self, event: DeskEvent) -> None:
        """Take in an event that is in the store."""
        with self.lock:
            self.board.apply(event)

    def close(self, review_ids: Iterable[str]) -> None:
        """Take in that reviews are decided."""
        with self.lock:
            self.board.close(review_ids)

    # Keeping

    def event(self, place: PlaceId, actor: str, action: Action, event_id: str | None = None) -> DeskEvent:
        """Make an event of now."""
        return DeskEvent(
            id=event_id or f"e-{uuid.uuid4().hex}",
            review_id=place.review_id,
            slot=place.slot,
            actor=actor,
            at=self.now(),
            action=action,
        )

    def keep_at_once(self, events: Sequence[DeskEvent]) -> None:
        """Keep events that cost nobody work if they are lost; they are on the board on return."""
        with self.lock:
            self.store.desk.record(events, wait=False)
            for event in events:
                self.board.apply(event)

    def keep(self, events: Sequence[DeskEvent]) -> None:
        """Keep a person's work: on the disk, then on the board, on return."""
        self.store.desk.record(events)
        with self.lock:
            for event in events:
                self.board.apply(event)

    # Showing

    def show(self, slot: Slot, *, draft: bool = False) -> Place:
        """Return a place as it is now, with its holder's draft if asked for."""
        with self.lock:
            place = slot.shown or self._show(slot)
        if not draft or place.holder is None:
            return place
        saved = self.store.desk.find_draft(slot.sheet.id, slot.number, place.holder)
        return dataclasses.replace(place, draft=saved)

    def _show(self, slot: Slot) -> Place:
        _, item = self.find_sheet(slot.sheet.id)
        place = Place(
            item=item,
            slot=slot.number,
            purpose=slot.purpose,
            state=slot.state,
            holder=slot.holder,
            lease_id=slot.lease_id if slot.holder else "",
            lease_until=slot.lease_until if slot.final is None else None,
            draft=None,
            submitted=_submitted(slot),
            undo_until=self.undo_until(slot),
            standing=self.standing_beside(slot),
        )
        # What is finished changes with time and settings, the rest with events and renewals only.
        if slot.final is None:
            slot.shown = place
        return place

    def undo_until(self, slot: Slot) -> datetime | None:
        """Return when a finished place can no longer be taken back."""
        if slot.final is None:
            return None
        return slot.final.at + timedelta(seconds=self.settings.undo_seconds)

    def standing(self, sheet: Sheet) -> ReviewStanding:
        """Return how far a review has come."""
        if sheet.decided:
            return ReviewStanding.DECIDED
        if any(slot.final for slot in sheet.slots_for(Purpose.ADJUDICATION)):
            return ReviewStanding.CONCLUDED
        reviews = sheet.slots_for(Purpose.FIRST, Purpose.SECOND)
        if any(slot.final is None for slot in reviews):
            return ReviewStanding.OPEN
        if len(reviews) > 1 and self._differs(sheet, reviews):
            return ReviewStanding.DIFFERS
        return ReviewStanding.CONCLUDED

    def standing_beside(self, slot: Slot) -> ReviewStanding:
        """Return the standing that a place shows: one that shapes no decision looks like any other."""
        if slot.purpose in SHAPING:
            return self.standing(slot.sheet)
        until = self.undo_until(slot)
        if until is None:
            return ReviewStanding.OPEN
        return ReviewStanding.CONCLUDED if self.now() <= until else ReviewStanding.DECIDED

    def _differs(self, sheet: Sheet, reviews: Sequence[Slot]) -> bool:
        if sheet.differs is None and sheet.item is not None:
            finals = [final_of(slot) for slot in reviews]
            sheet.differs = find_difference(self.material.settled(sheet.item), finals) != ""
        return bool(sheet.differs)


def require(account: Account, permission: Permission) -> None:
    """Refuse what a role may not do.

    Raises:
        DeskError: ``forbidden``.
    """
    if not account.active or not may(account.role, permission):
        raise DeskError("forbidden", f"a {account.role.value} may not do that", "ask a lead")


def require_handed(account: Account, slot: Slot) -> None:
    """Refuse what was never handed to somebody.

    Raises:
        DeskError: ``forbidden``.
    """
    if account.name not in slot.seen_by:
        raise DeskError("forbidden", "this item was not handed to you", "take the next item from the queue")


def event_id_of(kind: str, account: Account, key: str, *place: object) -> str:
    """Return the id of what `account` asks for under `key`: the same request is the same event."""
    return "e-" + hash_text(kind, account.name, key, *place)[:40]


def final_of(slot: Slot) -> Assessment:
    """Return the final assessment of a finished place."""
    assert slot.final is not None
    assert isinstance(slot.final.action, Finished)
    return slot.final.action.assessment


def blind_of(slot: Slot) -> Assessment:
    """Return the blind assessment of a committed place."""
    assert slot.blind is not None
    assert isinstance(slot.blind.action, Committed)
    return slot.blind.action.assessment


def _submitted(slot: Slot) -> Submitted | None:
    if slot.state not in (PlaceState.COMMITTED, PlaceState.FINISHED) or slot.blind is None:
        return None
    blind, final = slot.blind.action, slot.final.action if slot.final else None
    assert isinstance(blind, Committed)
    finished = final if isinstance(final, Finished) else None
    return Submitted(
        account=slot.blind.actor,
        blind=blind.assessment,
        blind_at=slot.blind.at,
        final=finished.assessment if finished else None,
        final_at=slot.final.at if slot.final else None,
        revisions=finished.revisions if finished else (),
        seconds=blind.seconds + (finished.seconds if finished else 0.0),
    )
