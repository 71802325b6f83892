"""From final assessments to a decision, once nobody can take them back."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final

from pipeline.errors import GraderError
from pipeline.review import decisions
from pipeline.review.board import Sheet, Slot
from pipeline.review.chances import chance_of
from pipeline.review.concluding import merge
from pipeline.review.errors import DeskError
from pipeline.review.floor import Floor, final_of, require
from pipeline.review.permissions import Permission, may
from pipeline.review.places import PlaceState, ReviewStanding
from pipeline.store import StoreError
from pipeline.types import Account, Assessment, Decision, Purpose

__all__ = ["Deciding"]

_LOG: Final = logging.getLogger(__name__)


class Deciding:
    """Makes decisions, on one floor."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._stuck: set[str] = set()

    def list_due(self) -> list[str]:
        """Return reviews whose decision can be made now."""
        return [] if self._floor.settings.hold_release else self._list_ready()

    def list_held_back(self) -> list[str]:
        """Return reviews that wait for a lead's release alone; see `Desk.list_held_back`."""
        return sorted(self._list_ready(), key=self._age) if self._floor.settings.hold_release else []

    def release(self, lead: Account, review_id: str) -> Decision:
        """Make a decision that was held back; see `Desk.release`."""
        require(lead, Permission.MANAGE)
        if review_id not in self.list_held_back():
            raise DeskError(
                "incomplete",
                "there is nothing to release there yet",
                "wait until it is finished and cannot be undone",
            )
        return self.decide(review_id)

    def release_all(self, lead: Account) -> list[Decision]:
        """Make every decision that was held back; see `Desk.release_all`."""
        require(lead, Permission.MANAGE)
        return self._decide_each(self.list_held_back())

    def decide(self, review_id: str) -> Decision:
        """Make the decision of a concluded review; see `Desk.decide`."""
        floor = self._floor
        sheet, item = floor.find_sheet(review_id)
        with floor.lock_of(review_id):
            standing = floor.standing(sheet)
            if standing is ReviewStanding.DECIDED:
                raise _already_decided()
            if standing is not ReviewStanding.CONCLUDED:
                raise DeskError(
                    "incomplete", "a review of this item is not finished yet", "wait until nobody is at it"
                )
            sources = _sources(sheet)
            names = ", ".join(slot.holder or "" for slot in sources)
            adjudicated = sources[0].purpose is Purpose.ADJUDICATION
            settled = floor.material.settled(item)
            decision = merge(
                settled,
                [final_of(slot) for slot in sources],
                review_id=review_id,
                reviewer=f"{names} (adjudication)" if adjudicated else names,
                decided_at=floor.now(),
                drafted=lambda: floor.material.feedback(item),
                quote=lambda first, last: floor.material.quote(item, first, last),
            )
            try:
                decisions.check_decision(decision, settled.rubric)
                floor.store.decide(decision)
            except StoreError:
                if floor.store.find_decision(review_id) is None:
                    raise
                floor.close([review_id])
                raise _already_decided() from None
            floor.close([review_id])
            return decision

    def decide_due(self) -> list[Decision]:
        """Make every decision that is due; one that cannot be made is logged and keeps no other waiting."""
        return self._decide_each(self.list_due())

    def _decide_each(self, review_ids: list[str]) -> list[Decision]:
        made: list[Decision] = []
        for review_id in review_ids:
            try:
                made.append(self.decide(review_id))
            except GraderError as error:
                # What somebody else decided at the same moment is theirs.
                if error.fault.code not in ("already_decided", "incomplete") and review_id not in self._stuck:
                    self._stuck.add(review_id)
                    _LOG.error("the decision of %s cannot be made: %s", review_id, error)
        return made

    def others_for(self, account: Account, sheet: Sheet) -> list[tuple[str, Assessment]]:
        """Return the final assessments of others as A and B; see `Desk.others`."""
        with self._floor.lock:
            adjudicates = may(account.role, Permission.ADJUDICATE) and any(
                slot.holder == account.name for slot in sheet.slots_for(Purpose.ADJUDICATION)
            )
            if not (adjudicates or (sheet.decided and not self._may_be_asked(account, sheet))):
                raise DeskError(
                    "forbidden", "what others said is shown once the review is decided", "give your own first"
                )
            return [
                (name, final_of(slot))
                for name, slot in self._label(sheet).items()
                if slot.holder != account.name
            ]

    def _may_be_asked(self, account: Account, sheet: Sheet) -> bool:
        """Whether somebody is at a place of a decided review, or could still be served one."""
        mine = [slot for slot in sheet.slots.values() if slot.holder == account.name]
        if any(slot.blind is None for slot in mine):
            return True
        served_again = bool(sheet.planted) or bool(sheet.slots_for(Purpose.NORMING))
        return served_again and not mine and not may(account.role, Permission.MANAGE)

    def label_assessments(self, sheet: Sheet) -> dict[str, Assessment]:
        """Return the final assessments of first and second reviews by the letters that they always go by."""
        with self._floor.lock:
            return {name: final_of(slot) for name, slot in self._label(sheet).items()}

    def _label(self, sheet: Sheet) -> dict[str, Slot]:
        finished = [
            slot
            for slot in sheet.slots_for(Purpose.FIRST, Purpose.SECOND)
            if slot.state is PlaceState.FINISHED
        ]
        secret = self._floor.secret
        finished.sort(key=lambda slot: chance_of(secret, "letter", sheet.id, slot.number))
        return {chr(ord("A") + at): slot for at, slot in enumerate(finished)}

    def _list_ready(self) -> list[str]:
        with self._floor.lock:
            return [sheet.id for sheet in self._floor.board.list_concluding() if self._is_due(sheet)]

    def _age(self, review_id: str) -> tuple[datetime, str]:
        return self._floor.find_sheet(review_id)[1].review.opened_at, review_id

    def _is_due(self, sheet: Sheet) -> bool:
        floor, now = self._floor, self._floor.now()
        if floor.standing(sheet) is not ReviewStanding.CONCLUDED:
            return False
        return all((until := floor.undo_until(slot)) is None or until < now for slot in _sources(sheet))


def _sources(sheet: Sheet) -> list[Slot]:
    """Return the places that a concluded review's decision is made of."""
    adjudicated = [slot for slot in sheet.slots_for(Purpose.ADJUDICATION) if slot.final is not None]
    return adjudicated[:1] or sheet.slots_for(Purpose.FIRST, Purpose.SECOND)


def _already_decided() -> DeskError:
    return DeskError("already_decided", "this review is decided already", "its history says by whom")
