"""The history of a desk: what happened at every place so far, read from the store once for all figures."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from pipeline.review.board import PlaceId
from pipeline.store import DeskItem, Store
from pipeline.types import (
    Claimed,
    Committed,
    DeskEvent,
    Finished,
    Planted,
    Purpose,
    Released,
    Reopened,
    SlotOpened,
)

__all__ = ["REVIEWS", "Follower", "Happening", "History"]

#: The places where a person reviews a submission of the stream, knowing nothing of what others said.
REVIEWS: Final = frozenset({Purpose.FIRST, Purpose.SECOND})

What = TypeVar("What", SlotOpened, Committed, Finished, Claimed)


@dataclass(frozen=True, slots=True)
class Happening(Generic[What]):
    """One thing that happened at a place.

    Attributes:
        place: Where.
        actor: Who did it.
        at: When.
        what: What it was.
    """

    place: PlaceId
    actor: str
    at: datetime
    what: What


@dataclass(frozen=True, slots=True)
class History:
    """What had happened up to some event; it never changes.

    Attributes:
        items: Every review, by id.
        opened: How each place beyond the first of a review was opened.
        held: Claims of places that were not released.
        committed: Blind assessments, in the order of commits.
        finished: Final assessments that were not taken back.
        planted: Known levels of gold items, by review; the newest counts.
    """

    items: Mapping[str, DeskItem]
    opened: Mapping[PlaceId, Happening[SlotOpened]]
    held: Mapping[PlaceId, Happening[Claimed]]
    committed: Mapping[PlaceId, Happening[Committed]]
    finished: Mapping[PlaceId, Happening[Finished]]
    planted: Mapping[str, Mapping[str, int]]

    def purpose_of(self, place: PlaceId) -> Purpose:
        """Return what a place is for."""
        opened = self.opened.get(place)
        return opened.what.purpose if opened is not None else Purpose.FIRST

    def list_reviews(self) -> Iterator[Happening[Committed]]:
        """Give the blind assessments of first and second reviews, in the order of commits."""
        return (done for place, done in self.committed.items() if self.purpose_of(place) in REVIEWS)

    def list_unassessed(self) -> Iterator[tuple[PlaceId, datetime]]:
        """Give every place without a blind assessment, with the time when it was opened."""
        since = {PlaceId(name, 0): item.review.opened_at for name, item in self.items.items()}
        since |= {place: opened.at for place, opened in self.opened.items()}
        return ((place, at) for place, at in since.items() if place not in self.committed)


class Follower:
    """Reads the events of one store, each once; any number of threads may use it.

    Keep one per desk and share it: a parsed event is the larger part of what any figure costs.
    """

    def __init__(self, store: Store) -> None:
        """Follow the events of `store`."""
        self._records = store.desk
        self._lock = threading.Lock()
        self._events_cursor = 0
        self._items_cursor = 0
        self._items: dict[str, DeskItem] = {}
        self._opened: dict[PlaceId, Happening[SlotOpened]] = {}
        self._held: dict[PlaceId, Happening[Claimed]] = {}
        self._committed: dict[PlaceId, Happening[Committed]] = {}
        self._finished: dict[PlaceId, Happening[Finished]] = {}
        self._planted: dict[str, Mapping[str, int]] = {}
        self._history: History | None = None

    def read(self, *, items: bool = False) -> History:
        """Return the history up to now.

        Reviews that nothing has happened to are read the first time and with `items` only: a page needs
        none of them, and beside a batch there are new ones every moment.
        """
        with self._lock:
            events = self._records.list_events(self._events_cursor)
            for number, event in events:
                self._events_cursor = number
                self._take_in(event)
            # After the events: every review that one of them is of is in the list by now.
            unknown = any(event.review_id not in self._items for _, event in events)
            new = []
            if items or unknown or self._history is None:
                new = self._records.list_items(self._items_cursor)
            for number, item in new:
                self._items_cursor = number
                self._items[item.review.id] = item
            if self._history is None or events or new:
                self._history = History(
                    items=self._items.copy(),
                    opened=self._opened.copy(),
                    held=self._held.copy(),
                    committed=self._committed.copy(),
                    finished=self._finished.copy(),
                    planted=self._planted.copy(),
                )
            return self._history

    def _take_in(self, event: DeskEvent) -> None:
        place, actor, at = PlaceId(event.review_id, event.slot), event.actor, event.at
        match event.action:
            case SlotOpened() as what:
                self._opened.setdefault(place, Happening(place, actor, at, what))
            case Claimed() as what:
                self._held[place] = Happening(place, actor, at, what)
            case Released(lease_id=lease_id):
                if place in self._held and self._held[place].what.lease_id == lease_id:
                    del self._held[place]
            case Committed() as what:
                self._committed.setdefault(place, Happening(place, actor, at, what))
            case Finished() as what:
                self._finished[place] = Happening(place, actor, at, what)
            case Reopened():
                self._finished.pop(place, None)
            case Planted(levels=levels):
                self._planted[event.review_id] = levels
