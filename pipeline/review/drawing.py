"""What somebody is served next, and what they could be served."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from pipeline.review.board import Board, Sheet, Slot
from pipeline.review.permissions import Permission, may
from pipeline.review.places import PlaceState, ReviewStanding
from pipeline.types import Account, Purpose

__all__ = ["Drawing"]


class Drawing:
    """The draw over one board; whoever calls it holds the board's lock.

    Args:
        board: The board.
        is_within: Whether a task is among somebody's skills.
        standing: How far a review has come.
        chance: Decides when a gold item comes.
    """

    def __init__(
        self,
        board: Board,
        is_within: Callable[[str, tuple[str, ...]], bool],
        standing: Callable[[Sheet], ReviewStanding],
        chance: random.Random,
    ) -> None:
        self._board = board
        self._is_within = is_within
        self._standing = standing
        self._chance = chance

    def is_eligible(self, account: Account, sheet: Sheet) -> bool:
        """Whether a review may be served to somebody at all."""
        name = account.name
        return name not in sheet.people and name not in sheet.barred and self._could_be_served(account, sheet)

    def find_lapsed(self, account: Account) -> Slot | None:
        """Return what the account was at when its lease ran out, if nobody has it now."""
        return self._first(account, self._board.list_lapsed(account.name))

    def find_next(self, account: Account) -> Slot | None:
        """Return the place to serve next: an adjudication to those who may, else the queue's first."""
        return next(self.list_adjudications(account), None) or self._first(
            account, self._board.list_waiting()
        )

    def find_gold(self, account: Account, rate: float) -> Sheet | None:
        """Return a gold item for the account, with chance `rate` where there is one."""
        if not self._board.gold or self._chance.random() >= rate:
            return None
        known = [
            sheet for sheet in self._board.gold.values() if sheet.decided and self.is_eligible(account, sheet)
        ]
        return self._chance.choice(known) if known else None

    def count_waiting(self, account: Account) -> Counter[Purpose]:
        """Return how many places could be served to the account now, by purpose, without adjudications."""
        board = self._board
        counts = board.tally.count(
            lambda task_id: self._is_within(task_id, account.skills), account.conflicts
        )
        for sheet in board.list_met(account.name):
            mine = account.name in sheet.people or account.name in sheet.barred
            if mine and self._could_be_served(account, sheet):
                waiting = (slot for slot in sheet.slots_for(Purpose.FIRST, Purpose.SECOND) if slot.is_waiting)
                counts.subtract(slot.purpose for slot in waiting)
        return counts

    def count_seconds(self) -> int:
        """Return how many second reviews are not committed, whoever may do or has them.

        Whoever draws an item must not see this figure move: it would tell what the place is for.
        """
        waiting = self._board.tally.count(lambda task_id: True, ())[Purpose.SECOND]
        return waiting + sum(slot.purpose is Purpose.SECOND for slot in self._board.held.values())

    def list_adjudications(self, account: Account) -> Iterator[Slot]:
        """Give the adjudications that the account could be served now."""
        if not may(account.role, Permission.ADJUDICATE):
            return iter(())
        return (slot for slot in self.list_differing() if self.is_eligible(account, slot.sheet))

    def list_differing(self) -> Iterator[Slot]:
        """Give every adjudication that waits, whoever may do it."""
        for slot in self._board.list_adjudications():
            if self._standing(slot.sheet) is ReviewStanding.DIFFERS:
                yield slot

    def find_spare(self, sheet: Sheet, purpose: Purpose) -> Slot | None:
        """Return a place of some purpose that was opened for somebody who did not take it."""
        return next(
            (
                slot
                for slot in sheet.slots_for(purpose)
                if slot.state is PlaceState.WAITING and not slot.lapsed
            ),
            None,
        )

    def _could_be_served(self, account: Account, sheet: Sheet) -> bool:
        item = sheet.item
        return (
            item is not None
            and sheet.author not in account.conflicts
            and self._is_within(item.task_id, account.skills)
        )

    def _first(self, account: Account, slots: Iterable[Slot]) -> Slot | None:
        return next((slot for slot in slots if self.is_eligible(account, slot.sheet)), None)
