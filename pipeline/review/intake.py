"""What comes to the desk from elsewhere: new reviews, decisions and signatures, and audits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC

from pipeline.review.audit_draw import AuditDraw
from pipeline.review.board import PlaceId
from pipeline.review.floor import DESK, Floor
from pipeline.review.rubric_succession import Successions, read_successions
from pipeline.store.records import DeskItem
from pipeline.types import DeskEvent, Destination, Purpose, SlotOpened, hash_text

__all__ = ["Intake"]


class Intake:
    """Takes in what is new, on one floor."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._audits = AuditDraw(floor.store, floor.secret)
        self._items_seen = 0
        self._events_seen = 0
        self._successions = Successions()
        self._one_at_a_time = threading.Lock()

    def take_in(self) -> None:
        """Take in reviews, events and decisions that are new in the store, and draw audits."""
        floor = self._floor
        with self._one_at_a_time:
            floor.read_settings()
            self._audits.draw(floor.settings.audit_rate, floor.now())
            items = floor.store.desk.list_items(self._items_seen)
            events = floor.store.desk.list_events(self._events_seen)
            decided = floor.store.desk.list_decided_ids()
            # One at a time: people are served between any two of thousands.
            for _, item in items:
                floor.add(item)
            for _, event in events:
                floor.apply(event)
            floor.close(decided)
            self._reword(items)
            for _, item in items:
                # Under the review's lock, so that nobody opens a place under the same number meanwhile.
                with floor.lock_of(item.review.id):
                    openings = self._open_seconds(item)
                    if openings:
                        floor.keep(openings)
            self._items_seen = max((number for number, _ in items), default=self._items_seen)
            self._events_seen = max((number for number, _ in events), default=self._events_seen)

    def _reword(self, items: Sequence[tuple[int, DeskItem]]) -> None:
        """Show reviews with the newest words that a lead signed, those that are begun with theirs of then."""
        floor, board = self._floor, self._floor.board
        successions = read_successions(floor.store)
        is_new = len(successions) != len(self._successions)
        self._successions = successions
        if not successions:
            return
        with floor.lock:
            # What is known and begun is in front of somebody: its words stay, whenever they were signed.
            waiting = [sheet for sheet in board.sheets.values() if is_new and sheet.begun_at is None]
            for sheet in (*waiting, *(board.sheets[item.review.id] for _, item in items)):
                if sheet.item is None or (sheet.decided and sheet.begun_at is None):
                    continue
                wording = successions.wording(sheet.item.rubric, sheet.begun_at or floor.now())
                if wording != sheet.item.rubric:
                    board.reword(sheet.id, wording)

    def _open_seconds(self, item: DeskItem) -> list[DeskEvent]:
        """Return the opening of a second review where the route asks for two."""
        sheet = self._floor.board.sheets[item.review.id]
        wanted = item.destination is Destination.SECOND_REVIEW and item.review.kind == "route"
        if not wanted or sheet.decided or sheet.slots_for(Purpose.SECOND):
            return []
        return [
            DeskEvent(
                id="e-" + hash_text("route asks for two", item.review.id)[:40],
                review_id=item.review.id,
                slot=PlaceId(item.review.id, sheet.next_number).slot,
                actor=DESK,
                at=item.review.opened_at.astimezone(UTC),
                action=SlotOpened(purpose=Purpose.SECOND, reason="its route asks for two reviews"),
            )
        ]
