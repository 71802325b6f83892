"""What one person may see of one review, so that nobody is led before they have said what they think."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.review.permissions import Permission, may
from pipeline.types import Account, Claimed, Committed, DeskEvent, Planted, Purpose, Released, SlotOpened

__all__ = ["Sight", "find_sight"]


@dataclass(frozen=True, slots=True)
class Sight:
    """What is shown of a review beside the code and what checks established.

    Attributes:
        judge: The judge's draft, the route, and chance's part in it.
        others: What other people said, the decision, and the grade.
        people: Who did what, by name, and what each place is for.
        gold: Whether it is a gold item, which people who review never learn.
    """

    judge: bool
    others: bool
    people: bool
    gold: bool = field(default=False, compare=False)


def find_sight(
    account: Account, events: Sequence[DeskEvent], *, decided: bool, in_session: bool = False
) -> Sight:
    """Return what `account` may see of the review that `events` are of.

    Whoever holds a place of it that is not committed yet sees nothing that could lead them, whatever their
    role. A decided review is open to everybody, unless it serves again as a gold item or in a norming
    session: then only to leads and to those who have committed to it. Whoever was served it as a gold item
    sees no more than of a review that is not decided, since it was to look like one.
    """
    leads = may(account.role, Permission.MANAGE)
    committed = {event.slot for event in events if _is_by(event, account) and _commits(event)}
    if _held_slots(account, events) - committed:
        return Sight(judge=False, others=False, people=False)
    served_again = (in_session or _is_gold(events)) and not leads
    judge = bool(committed) or (decided and not served_again)
    gold_alone = bool(committed) and committed <= _gold_slots(events)
    others = decided and judge and (leads or not gold_alone)
    return Sight(judge=judge, others=others, people=leads or others, gold=leads)


def _is_by(event: DeskEvent, account: Account) -> bool:
    return event.actor == account.name


def _commits(event: DeskEvent) -> bool:
    return isinstance(event.action, Committed)


def _held_slots(account: Account, events: Sequence[DeskEvent]) -> set[int]:
    """Return the slots whose last lease is the account's and was not ended."""
    leases: dict[int, tuple[str, str]] = {}
    for event in events:
        if isinstance(event.action, Claimed):
            leases[event.slot] = (event.action.lease_id, event.actor)
        elif isinstance(event.action, Released) and leases.get(event.slot, ("",))[0] == event.action.lease_id:
            del leases[event.slot]
    return {slot for slot, (_, holder) in leases.items() if holder == account.name}


def _gold_slots(events: Sequence[DeskEvent]) -> set[int]:
    return {
        event.slot
        for event in events
        if isinstance(event.action, SlotOpened) and event.action.purpose is Purpose.GOLD
    }


def _is_gold(events: Sequence[DeskEvent]) -> bool:
    planted = [event.action.levels for event in events if isinstance(event.action, Planted)]
    return bool(planted and planted[-1])
