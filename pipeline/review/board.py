"""The board: what all events together make of every place in the queue, in memory.

Nothing here reads a store or a clock, so the board of ten thousand reviews answers in microseconds, and the
same events in the same order always make the same board.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from pipeline.review.places import Place, PlaceState
from pipeline.review.tally import Tally
from pipeline.store.records import DeskItem
from pipeline.types import (
    Claimed,
    Committed,
    DeskEvent,
    Finished,
    Flagged,
    Planted,
    Purpose,
    Released,
    Reopened,
    SlotOpened,
    Unblinded,
)

__all__ = ["SHAPING", "Board", "PlaceId", "Sheet", "Slot"]

#: What a decision is made of; gold and norming places never shape one.
SHAPING: Final = frozenset({Purpose.FIRST, Purpose.SECOND, Purpose.ADJUDICATION})


class PlaceId(NamedTuple):
    """Names a place."""

    review_id: str
    slot: int


@dataclass(slots=True)
class Slot:
    """One place, as events left it.

    Attributes:
        sheet: The review it belongs to.
        number: Which of the review's places.
        purpose: What it is for.
        holder: Who has it, or committed it.
        lease_id: Of the holder.
        claimed_at: When the holder got it.
        lease_until: When the lease ends unless it is renewed.
        seen_by: Everybody who ever had it.
        lapsed: Lease by account, of those whose lease ran out while they were at it.
        blind: The event of the blind assessment.
        final: The event of the final one, unless it was taken back.
        shown: As it was shown last, while nothing has changed since.
    """

    sheet: Sheet
    number: int
    purpose: Purpose
    holder: str | None = None
    lease_id: str = ""
    claimed_at: datetime | None = None
    lease_until: datetime | None = None
    seen_by: set[str] = field(default_factory=set)
    lapsed: dict[str, str] = field(default_factory=dict)
    blind: DeskEvent | None = None
    final: DeskEvent | None = None
    shown: Place | None = None

    @property
    def id(self) -> PlaceId:
        """Its name."""
        return PlaceId(self.sheet.id, self.number)

    @property
    def state(self) -> PlaceState:
        """How far it has come."""
        if self.final is not None:
            return PlaceState.FINISHED
        if self.blind is not None:
            return PlaceState.COMMITTED
        return PlaceState.WAITING if self.holder is None else PlaceState.HELD

    @property
    def is_waiting(self) -> bool:
        """Whether nobody has it, and somebody should."""
        return self.holder is None and not self.is_closed

    @property
    def is_closed(self) -> bool:
        """Whether a decision made it pointless; places that shape none stay open."""
        return self.sheet.decided and self.purpose in SHAPING


@dataclass(slots=True)
class Sheet:
    """One review with all its places.

    Attributes:
        id: Of the review.
        item: What it is of; None while only events are known.
        author: Pseudonym of whoever wrote the submission.
        key: Where it stands in the queue: a smaller one is served earlier.
        slots: Its places by number.
        decided: Whether the decision is kept.
        people: Who has one of its places, or committed one.
        planted: Levels that a lead made it a gold item with.
        barred: Who skipped it or was told who wrote it: it is not served to them.
        flags: Flags, and commits that object to a check.
        differs: Whether its first two final assessments differ too much; None while nobody has looked.
        begun_at: When somebody had any of its places first; None while nobody has.
    """

    id: str
    item: DeskItem | None = None
    author: str = ""
    key: float = 0.0
    slots: dict[int, Slot] = field(default_factory=dict)
    decided: bool = False
    people: set[str] = field(default_factory=set)
    planted: dict[str, int] = field(default_factory=dict)
    barred: set[str] = field(default_factory=set)
    flags: list[DeskEvent] = field(default_factory=list)
    differs: bool | None = None
    begun_at: datetime | None = None

    def slots_for(self, *purposes: Purpose) -> list[Slot]:
        """Return its places of some purposes, in order."""
        return [slot for slot in self.slots.values() if slot.purpose in purposes]

    @property
    def next_number(self) -> int:
        """The number that another place gets."""
        return max(self.slots) + 1


class Board:
    """Every review and place; whoever uses it from several threads brings a lock.

    Args:
        order: Where a review stands in the queue: a smaller key is served earlier.
        lease: How long a lease lasts from its claim.
    """

    def __init__(self, order: Callable[[DeskItem], float], lease: timedelta) -> None:
        self.lease = lease
        self.sheets: dict[str, Sheet] = {}
        self.held: dict[PlaceId, Slot] = {}
        self.gold: dict[str, Sheet] = {}
        self.tally = Tally()
        self._order = order
        self._known: dict[str, PlaceId] = {}
        self._waiting: list[tuple[float, PlaceId]] = []
        self._adjudications: list[tuple[float, PlaceId]] = []
        self._begun: dict[str, dict[PlaceId, Slot]] = {}
        self._finished: dict[str, dict[PlaceId, Slot]] = {}
        self._lapsed: dict[str, dict[PlaceId, Slot]] = {}
        self._concluding: dict[str, Sheet] = {}
        self._met: dict[str, dict[str, Sheet]] = {}

    # What happens

    def add(self, item: DeskItem, author: str) -> bool:
        """Take in a review; False if it was known."""
        sheet = self._sheet(item.review.id)
        if sheet.item is not None:
            return False
        sheet.decided = sheet.decided or item.decided
        sheet.item, sheet.author = item.model_copy(update={"decided": sheet.decided}), author
        sheet.key = self._order(item)
        self._sort(sheet)
        return True

    def reorder(self) -> None:
        """Ask anew where each review stands in the queue."""
        for sheet in self.sheets.values():
            if sheet.item is not None:
                sheet.key = self._order(sheet.item)
        for entries in (self._waiting, self._adjudications):
            entries[:] = sorted(self._entry(self.sheets[name].slots[number]) for _, (name, number) in entries)

    def reword(self, review_id: str, rubric: str) -> None:
        """Show a review with the words of another version of its rubric."""
        sheet = self.sheets[review_id]
        if sheet.item is not None:
            sheet.item = sheet.item.model_copy(update={"rubric": rubric})
            self._sort(sheet)

    def close(self, review_ids: Iterable[str]) -> None:
        """Take in that reviews are decided."""
        for review_id in review_ids:
            sheet = self._sheet(review_id)
            if not sheet.decided:
                sheet.decided = True
                if sheet.item is not None:
                    sheet.item = sheet.item.model_copy(update={"decided": True})
                self._sort(sheet)

    def apply(self, event: DeskEvent) -> None:
        """Take in an event; one that is known changes nothing."""
        if event.id in self._known:
            return
        self._known[event.id] = PlaceId(event.review_id, event.slot)
        sheet = self._sheet(event.review_id)
        action = event.action
        if isinstance(action, Claimed | Committed):
            sheet.begun_at = min(event.at, sheet.begun_at or event.at)
        if isinstance(action, SlotOpened):
            sheet.slots.setdefault(event.slot, Slot(sheet, event.slot, action.purpose))
        elif isinstance(action, Planted):
            sheet.planted = dict(action.levels)
            self.gold.pop(sheet.id, None)
            if sheet.planted:
                self.gold[sheet.id] = sheet
        elif isinstance(action, Unblinded):
            sheet.barred.add(event.actor)
            self._met.setdefault(event.actor, {})[sheet.id] = sheet
        elif isinstance(action, Flagged):
            sheet.flags.append(event)
        elif event.slot in sheet.slots:
            self._apply_to(sheet.slots[event.slot], event)
        self._sort(sheet)

    def _apply_to(self, slot: Slot, event: DeskEvent) -> None:
        action = event.action
        if isinstance(action, Claimed) and slot.blind is None:
            self._release(slot)
            slot.holder, slot.lease_id, slot.claimed_at = event.actor, action.lease_id, event.at
            slot.lease_until = event.at + self.lease
            self._meet(slot, event.actor)
            slot.lapsed.pop(event.actor, None)
        elif isinstance(action, Released) and slot.blind is None and slot.lease_id == action.lease_id:
            holder = slot.holder or ""
            self._release(slot)
            if action.why == "expired":
                slot.lapsed[holder] = action.lease_id
            elif action.why == "skipped":
                slot.sheet.barred.add(holder)
        elif isinstance(action, Committed) and slot.blind is None:
            self._release(slot)
            slot.holder, slot.blind = event.actor, event
            self._meet(slot, event.actor)
            slot.lapsed.clear()
            if action.assessment.objections:
                slot.sheet.flags.append(event)
        elif isinstance(action, Finished) and slot.blind is not None:
            slot.final, slot.sheet.differs = event, None
        elif isinstance(action, Reopened):
            slot.final, slot.sheet.differs = None, None

    # What there is

    def knows(self, event_id: str) -> PlaceId | None:
        """Return the place of an event that was taken in, or None."""
        return self._known.get(event_id)

    def list_waiting(self) -> Iterator[Slot]:
        """Give every first and second review that nobody has, in the order of the queue."""
        return (self.sheets[name].slots[number] for _, (name, number) in self._waiting)

    def list_adjudications(self) -> Iterator[Slot]:
        """Give every adjudication that nobody has, in the order of the queue."""
        return (self.sheets[name].slots[number] for _, (name, number) in self._adjudications)

    def list_begun(self, account: str) -> list[Slot]:
        """Return what somebody has and has not finished, the oldest first."""
        return list(self._begun.get(account, {}).values())

    def list_lapsed(self, account: str) -> list[Slot]:
        """Return what somebody was at when the lease ran out, and nobody has now."""
        return list(self._lapsed.get(account, {}).values())

    def list_finished(self, account: str) -> list[Slot]:
        """Return what somebody finished, the newest first."""
        return list(reversed(self._finished.get(account, {}).values()))

    def list_met(self, account: str) -> list[Sheet]:
        """Return reviews that somebody had a place of once, or was told the author of."""
        return list(self._met.get(account, {}).values())

    def list_concluding(self) -> list[Sheet]:
        """Return reviews that are not decided and have a final assessment."""
        return list(self._concluding.values())

    def _sheet(self, review_id: str) -> Sheet:
        sheet = self.sheets.get(review_id)
        if sheet is None:
            sheet = self.sheets[review_id] = Sheet(review_id)
            sheet.slots[0] = Slot(sheet, 0, Purpose.FIRST)
        return sheet

    def _release(self, slot: Slot) -> None:
        holder, slot.holder, slot.lease_until = slot.holder, None, None
        if holder is not None:
            self._begun.get(holder, {}).pop(slot.id, None)
            # History that another desk wrote may give one person two places of one review.
            if all(other.holder != holder for other in slot.sheet.slots.values()):
                slot.sheet.people.discard(holder)

    def _meet(self, slot: Slot, account: str) -> None:
        slot.seen_by.add(account)
        slot.sheet.people.add(account)
        self._met.setdefault(account, {})[slot.sheet.id] = slot.sheet

    # Which lists a place is on follows from its state alone

    def _sort(self, sheet: Sheet) -> None:
        if sheet.item is None:
            return
        for slot in sheet.slots.values():
            self._sort_slot(slot, sheet.item.task_id)
        self._concluding.pop(sheet.id, None)
        if not sheet.decided and any(slot.final for slot in sheet.slots.values() if slot.purpose in SHAPING):
            self._concluding[sheet.id] = sheet

    def _entry(self, slot: Slot) -> tuple[float, PlaceId]:
        # A second review stands right behind the first: whoever comes next completes the grade.
        return slot.sheet.key + slot.number / 1000, slot.id

    def _sort_slot(self, slot: Slot, task_id: str) -> None:
        state, is_open = slot.state, not slot.is_closed
        name = slot.id
        waits = slot.is_waiting
        slot.shown = None
        entry = self._entry(slot)
        change = _keep(self._waiting, entry, waits and slot.purpose in (Purpose.FIRST, Purpose.SECOND))
        if change:
            self.tally.add(task_id, slot.sheet.author, slot.purpose, change)
        _keep(self._adjudications, entry, waits and slot.purpose is Purpose.ADJUDICATION)
        _set(self.held, name, slot, state is PlaceState.HELD and is_open)
        if slot.holder is not None:
            begun = state in (PlaceState.HELD, PlaceState.COMMITTED) and is_open
            _set(self._begun.setdefault(slot.holder, {}), name, slot, begun)
            _set(self._finished.setdefault(slot.holder, {}), name, slot, state is PlaceState.FINISHED)
        for account in slot.seen_by:
            lapsed = waits and account in slot.lapsed
            _set(self._lapsed.setdefault(account, {}), name, slot, lapsed)


def _keep(entries: list[tuple[float, PlaceId]], entry: tuple[float, PlaceId], wanted: bool) -> int:
    """Put an entry in or take it out, and return by how many there are more."""
    at = bisect_left(entries, entry)
    there = at < len(entries) and entries[at] == entry
    if wanted and not there:
        insort(entries, entry)
    elif there and not wanted:
        del entries[at]
    return wanted - there


def _set(places: dict[PlaceId, Slot], name: PlaceId, slot: Slot, wanted: bool) -> None:
    if wanted:
        places.setdefault(name, slot)
    else:
        places.pop(name, None)
