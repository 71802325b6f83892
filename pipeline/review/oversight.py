"""What leads do: look over all places, un-blind with a reason, plant gold items, run the desk differently."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from pipeline.review.board import PlaceId, Sheet
from pipeline.review.errors import DeskError
from pipeline.review.floor import DESK, Floor, event_id_of, require
from pipeline.review.permissions import Permission
from pipeline.review.places import Place, PlaceState
from pipeline.review.wording import make
from pipeline.types import Account, Action, DeskEvent, DeskSettings, Planted, Unblinded

__all__ = ["Oversight"]

#: So many ids are named where several begin alike.
_NAMED: Final = 5


class Oversight:
    """What leads see and change, on one floor."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor

    def list_places(self, viewer: Account | None, *, held: bool) -> list[Place]:
        """Return every place that is not decided, oldest first; see `Desk.list_places`."""
        floor = self._floor
        with floor.lock:
            sheets = [sheet for sheet in self._list_open(viewer) if sheet.item]
            slots = [slot for sheet in sheets for slot in sheet.slots.values()]
        if held:
            slots = [slot for slot in slots if slot.state is PlaceState.HELD]
        return sorted(map(floor.show, slots), key=_age)

    def count_open(self) -> int:
        """Return how many reviews are not decided."""
        with self._floor.lock:
            sheets = self._floor.board.sheets.values()
            return sum(sheet.item is not None and not sheet.decided for sheet in sheets)

    def find_review(self, beginning: str) -> str:
        """Return the one review whose id begins so; see `Desk.find_review`."""
        with self._floor.lock:
            sheets = self._floor.board.sheets.values()
            found = sorted(sheet.id for sheet in sheets if sheet.item and sheet.id.startswith(beginning))
        if not found or not beginning:
            raise DeskError(
                "unknown", "no review has an id that begins so", "copy it from the review's history"
            )
        if len(found) > 1 and beginning not in found:
            named = ", ".join(found[:_NAMED]) + (" and others" if len(found) > _NAMED else "")
            raise DeskError(
                "invalid", f"several reviews have ids that begin so: {named}", "give more of the id"
            )
        return found[0]  # One that is whole comes before all that it begins.

    def list_flags(self, viewer: Account | None) -> list[DeskEvent]:
        """Return flags and commits with objections, newest first; see `Desk.list_flags`."""
        with self._floor.lock:
            flags = [event for sheet in self._list_open(viewer) for event in sheet.flags]
        return sorted(flags, key=lambda event: event.at, reverse=True)

    def _list_open(self, viewer: Account | None) -> list[Sheet]:
        """Return reviews that are not decided, but for those that `viewer` is to assess blind."""
        board = self._floor.board
        begun = board.list_begun(viewer.name) if viewer else []
        blind = {slot.sheet.id for slot in begun if slot.blind is None}
        return [sheet for sheet in board.sheets.values() if not sheet.decided and sheet.id not in blind]

    def unblind(self, lead: Account, review_id: str, reason: str, key: str) -> str:
        """Return where a submission came from, and the author if one was declared; see `Desk.unblind`."""
        require(lead, Permission.UNBLIND)
        sheet, item = self._floor.find_sheet(review_id)
        if any(slot.holder == lead.name and slot.blind is None for slot in sheet.slots.values()):
            raise DeskError(
                "forbidden", "you are to assess this item blind yourself", "commit it or hand it back first"
            )
        self._keep(lead, review_id, make(Unblinded, reason=reason.strip()), key)
        return f"{item.origin}, by {item.author}".removeprefix(", ") if item.author else item.origin

    def plant(self, lead: Account, review_id: str, levels: dict[str, int], key: str) -> None:
        """Make a decided review a gold item; see `Desk.plant`."""
        require(lead, Permission.MANAGE)
        sheet, item = self._floor.find_sheet(review_id)
        if levels:
            if not sheet.decided:
                raise DeskError("invalid", "its levels are not known yet", "decide the review first")
            settled = self._floor.material.settled(item)
            offered = {
                criterion.id: {step.level for step in criterion.levels}
                for criterion in settled.rubric.criteria
                if criterion.id in settled.asked
            }
            wrong = [name for name, level in levels.items() if level not in offered.get(name, set())]
            if wrong:
                raise DeskError(
                    "invalid",
                    f"nobody levels these, or not so: {', '.join(name[:80] for name in wrong)}",
                    f"choose from: {', '.join(offered)}",
                )
        self._keep(lead, review_id, make(Planted, levels=levels), key)

    def change_settings(self, lead: Account, settings: DeskSettings) -> None:
        """Run the desk differently from now on."""
        require(lead, Permission.MANAGE)
        floor = self._floor
        floor.store.desk.save_record("settings", DESK, settings)
        with floor.lock:
            floor.read_settings()

    def _keep(self, lead: Account, review_id: str, action: Action, key: str) -> None:
        floor = self._floor
        event_id = event_id_of(action.kind, lead, key, review_id)
        with floor.lock_of(review_id):
            if floor.board.knows(event_id) is None:
                floor.keep([floor.event(PlaceId(review_id, 0), lead.name, action, event_id)])


def _age(place: Place) -> tuple[datetime, str, int]:
    return place.item.review.opened_at, place.item.review.id, place.slot
