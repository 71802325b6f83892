"""How the queue stands for one person."""

from __future__ import annotations

from itertools import islice
from typing import Final

from pipeline.review.drawing import Drawing
from pipeline.review.floor import Floor
from pipeline.review.places import QueueState
from pipeline.types import Account, Purpose

__all__ = ["describe_queue"]

#: Finished places that the queue's page lists.
_RECENT: Final = 20


def describe_queue(floor: Floor, drawing: Drawing, account: Account) -> QueueState:
    """Return what the queue's page says to `account`."""
    midnight = floor.now().replace(hour=0, minute=0, second=0, microsecond=0)
    worked = floor.store.desk.list_activity(account.name, since=midnight)
    with floor.lock:
        waiting = drawing.count_waiting(account)
        adjudications = sum(1 for _ in drawing.list_adjudications(account))
        held = [slot for slot in floor.board.held.values() if slot.holder != account.name]
        begun = floor.board.list_begun(account.name)
        finished = floor.board.list_finished(account.name)
        could_be_served = waiting.total() + adjudications
        # A gold item takes nothing from the queue; a count that stays would tell that it was one.
        gold = sum(
            account.name in slot.seen_by and slot.claimed_at is not None and slot.claimed_at >= midnight
            for sheet in floor.board.list_met(account.name)
            if account.name in sheet.people or account.name in sheet.barred
            for slot in sheet.slots_for(Purpose.GOLD)
        )
        return QueueState(
            waiting=max(could_be_served - gold, min(could_be_served, 1)),
            held=len(held),
            held_until=min((slot.lease_until for slot in held if slot.lease_until), default=None),
            second=drawing.count_seconds(),
            adjudication=sum(1 for _ in drawing.list_differing()),
            mine=tuple(floor.show(slot) for slot in begun),
            done_today=sum(1 for slot in finished if slot.final and slot.final.at >= midnight),
            recent=tuple(floor.show(slot) for slot in islice(finished, _RECENT)),
            seconds_today=sum(stretch.active_seconds for stretch in worked),
            paused=floor.settings.paused,
        )
