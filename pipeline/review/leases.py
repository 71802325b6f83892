"""Leases: a place is one person's until they finish, hand it back, or are away for too long."""

from __future__ import annotations

import uuid
from datetime import datetime

from pipeline.review.board import PlaceId, Slot
from pipeline.review.drawing import Drawing
from pipeline.review.errors import DeskError
from pipeline.review.floor import DESK, Floor, blind_of, event_id_of, require, require_handed
from pipeline.review.permissions import Permission
from pipeline.review.places import PlaceState
from pipeline.review.wording import make
from pipeline.types import (
    Account,
    Claimed,
    DeskEvent,
    Finished,
    Purpose,
    Released,
    SlotOpened,
)

__all__ = ["Leases"]


class Leases:
    """Hands places out and takes them back, on one floor."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self.drawing = Drawing(floor.board, floor.material.is_within, floor.standing, floor.chance)

    def free_overdue(self) -> None:
        """Free every place whose lease ran out."""
        floor = self._floor
        with floor.lock:
            now = floor.now()
            self._cut(now)
            overdue = [
                slot
                for slot in floor.board.held.values()
                if slot.lease_until is not None and slot.lease_until <= now
            ]
            if overdue:
                floor.keep_at_once(
                    [
                        floor.event(slot.id, DESK, Released(lease_id=slot.lease_id, why="expired"))
                        for slot in overdue
                    ]
                )

    def _cut(self, now: datetime) -> None:
        """Let no lease last longer than one that begins now: the clock went back, or leases got shorter."""
        longest = now + self._floor.lease
        for slot in self._floor.board.held.values():
            if slot.lease_until is not None and slot.lease_until > longest:
                slot.lease_until, slot.shown = longest, None

    def renew_all(self) -> None:
        """Give every lease its full length again: nobody could renew one while no desk was there."""
        with self._floor.lock:
            for slot in self._floor.board.held.values():
                self._renew(slot)

    # Getting one

    def draw(self, account: Account, key: str) -> Slot | None:
        """Return the next place for an account, leased to it."""
        floor = self._floor
        with floor.lock:
            self.free_overdue()
            event_id: str | None = event_id_of("claimed", account, key)
            asked_before = floor.board.knows(event_id) if event_id else None
            if asked_before is not None:
                slot = floor.find_slot(*asked_before)
                if slot.holder == account.name and not slot.is_closed:
                    return self._renew(slot)
                event_id = None
            begun = next(iter(floor.board.list_begun(account.name)), None)
            if begun is not None:
                return self._renew(begun)
            lapsed = self.drawing.find_lapsed(account)
            if lapsed is not None:
                return self._claim(lapsed, account, lapsed.lapsed[account.name], event_id)
            if floor.settings.paused:
                raise DeskError("paused", "a lead keeps new items back", "come back later, or ask a lead")
            return self._draw_new(account, event_id)

    def _draw_new(self, account: Account, event_id: str | None) -> Slot | None:
        following = self.drawing.find_next(account)
        if following is None:
            return None
        if following.purpose is not Purpose.ADJUDICATION:
            rate = self._floor.settings.gold_rate
            gold = self.drawing.find_gold(account, rate)
            if gold is not None:
                spare = self.drawing.find_spare(gold, Purpose.GOLD)
                following = spare or self._open_slot(
                    gold.id, SlotOpened(purpose=Purpose.GOLD, probability=rate)
                )
        return self._claim(following, account, _new_lease(), event_id)

    def join(self, account: Account, review_id: str, key: str) -> Slot:
        """Return the account's place in the norming session of a review, opened when there is none yet."""
        floor = self._floor
        # Whoever commits to this review at the same moment may open a place too: not under the same number.
        with floor.lock_of(review_id), floor.lock:
            self.free_overdue()
            sheet, _ = floor.find_sheet(review_id)
            for slot in sheet.slots_for(Purpose.NORMING):
                if slot.holder == account.name:
                    return self._renew(slot)
                if account.name in slot.lapsed and slot.state is PlaceState.WAITING:
                    return self._claim(slot, account, slot.lapsed[account.name], None)
            if account.name in sheet.people:
                raise DeskError(
                    "forbidden", "you took part in this review already", "choose another item of the session"
                )
            spare = self.drawing.find_spare(sheet, Purpose.NORMING)
            slot = spare or self._open_slot(review_id, SlotOpened(purpose=Purpose.NORMING))
            event_id = event_id_of("joined", account, key, review_id)
            # A form sent again after the place was handed back is another claim.
            known = floor.board.knows(event_id) is not None
            return self._claim(slot, account, _new_lease(), None if known else event_id)

    def open(self, account: Account, slot: Slot) -> Slot:
        """Return a place to whoever has it, or was at it when the lease ran out."""
        with self._floor.lock:
            self.free_overdue()
            self._refuse_closed(slot, account)
            if slot.holder == account.name:
                return self._renew(slot)
            lease_id = slot.lapsed.get(account.name)
            if slot.holder is None and lease_id is not None and account.name not in slot.sheet.people:
                return self._claim(slot, account, lease_id, None)
            require_handed(account, slot)
            raise DeskError(
                "not_held", _say_who_has(slot, account), "go on with the next item; what you wrote is kept"
            )

    def hold(self, account: Account, slot: Slot, lease_id: str) -> None:
        """Renew a lease for whoever shows it; one that ran out comes back if nobody has the place.

        Raises:
            DeskError: ``lease_lost``; ``already_decided``; ``forbidden`` if the account never had the place.
        """
        with self._floor.lock:
            self.free_overdue()
            require_handed(account, slot)
            self._refuse_closed(slot, account)
            if slot.holder == account.name and (slot.lease_id == lease_id or slot.blind is not None):
                self._renew(slot)
            elif (
                slot.holder is None
                and slot.lapsed.get(account.name) == lease_id
                and account.name not in slot.sheet.people
            ):
                self._claim(slot, account, lease_id, None)
            else:
                raise DeskError(
                    "lease_lost", _say_who_has(slot, account), "what you wrote is kept as your draft"
                )

    # Giving it up

    def hand_back(self, account: Account, slot: Slot, lease_id: str, reason: str, *, skip: bool) -> None:
        """Free a place that is not committed yet; freeing it again is harmless."""
        floor = self._floor
        with floor.lock_of(slot.sheet.id), floor.lock:
            require_handed(account, slot)
            if slot.blind is not None:
                raise DeskError(
                    "already_committed", "your blind assessment stands already", "finish it, or flag the item"
                )
            lapsed = slot.holder is None and slot.lapsed.get(account.name) == lease_id
            if skip and lapsed and not slot.is_closed:
                # Whoever skips must not get it again, though the lease ran out while they made up their mind.
                self._claim(slot, account, lease_id, None)
            if slot.holder == account.name and slot.lease_id == lease_id:
                why = "skipped" if skip else "handed_back"
                action = make(Released, lease_id=lease_id, why=why, reason=reason)
                floor.keep_at_once([floor.event(slot.id, account.name, action)])

    def take_back(self, lead: Account, slot: Slot, reason: str, key: str) -> None:
        """Free a place for a lead; one that is committed is finished as it was committed."""
        require(lead, Permission.MANAGE)
        floor = self._floor
        event_id = event_id_of("taken_back", lead, key, *slot.id)
        with floor.lock_of(slot.sheet.id):
            if floor.board.knows(event_id):
                return
            if slot.state is PlaceState.COMMITTED:
                floor.keep([self._finish_for(lead, slot, event_id)])
                return
            with floor.lock:
                if slot.state is not PlaceState.HELD:
                    raise DeskError("not_held", "nobody has this item", "there is nothing to take back")
                action = make(Released, lease_id=slot.lease_id, why="taken_back", reason=reason)
                floor.keep_at_once([floor.event(slot.id, lead.name, action, event_id)])

    def _finish_for(self, lead: Account, slot: Slot, event_id: str) -> DeskEvent:
        return self._floor.event(slot.id, lead.name, Finished(assessment=blind_of(slot), seconds=0), event_id)

    # All of these under the board's lock

    def _claim(self, slot: Slot, account: Account, lease_id: str, event_id: str | None) -> Slot:
        floor = self._floor
        floor.keep_at_once([floor.event(slot.id, account.name, Claimed(lease_id=lease_id), event_id)])
        return slot

    def _open_slot(self, review_id: str, action: SlotOpened) -> Slot:
        floor = self._floor
        sheet, _ = floor.find_sheet(review_id)
        place = PlaceId(review_id, sheet.next_number)
        floor.keep_at_once([floor.event(place, DESK, action)])
        return sheet.slots[place.slot]

    def _renew(self, slot: Slot) -> Slot:
        if slot.state is PlaceState.HELD:
            slot.lease_until = self._floor.now() + self._floor.lease
            slot.shown = None
        return slot

    def _refuse_closed(self, slot: Slot, account: Account) -> None:
        mine = slot.holder == account.name and slot.final is not None
        if slot.is_closed and not mine and account.name in slot.seen_by:
            raise DeskError(
                "already_decided",
                "this review was decided meanwhile",
                "go on with the next item; what you wrote is kept",
            )


def _new_lease() -> str:
    return f"l-{uuid.uuid4().hex}"


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M}"


def _say_who_has(slot: Slot, account: Account) -> str:
    if slot.holder == account.name:
        return "you have this item under a newer lease: this page is an old one"
    if slot.blind is not None:
        return "another reviewer completed this item meanwhile"
    if slot.holder is not None and slot.lease_until is not None:
        return f"another reviewer has this item now, until {_clock(slot.lease_until)} UTC at least"
    return "this item was handed back or taken back"
