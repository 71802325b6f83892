"""Active time: people are paid by it, so a page is believed no more than the clock allows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pipeline.review.board import Slot
from pipeline.review.floor import Floor
from pipeline.types import Activity, SavedDraft

__all__ = ["Stretch", "WorkingTime", "count_active_seconds"]


def count_active_seconds(signs: Iterable[datetime], idle_seconds: float) -> float:
    """Return the seconds between signs of life, without pauses longer than `idle_seconds`."""
    ordered = sorted(signs)
    gaps = ((after - before).total_seconds() for before, after in itertools.pairwise(ordered))
    return sum(gap for gap in gaps if gap <= idle_seconds)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Work at one place since the last sign of life.

    Attributes:
        seconds: Active seconds.
        total: Active seconds of this stage so far, these included.
        until: When it ended.
    """

    seconds: float
    total: float
    until: datetime


class WorkingTime:
    """Measures and keeps active time, on one floor."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor

    def measure(
        self,
        slot: Slot,
        account: str,
        stage: Literal["blind", "final"],
        claimed: float | None,
        previous: SavedDraft | None,
    ) -> Stretch:
        """Return the work since the last sign of life, of which this is the next; before a lease is renewed.

        Args:
            slot: Where.
            account: Whose.
            stage: Of the assessment.
            claimed: Active seconds of the whole stage, as the page counted them: at most the time that passed
                is believed. None where nobody counted: then a pause too long for work counts for nothing.
            previous: The draft that was kept last.
        """
        before = previous.active_seconds if previous is not None and previous.stage == stage else 0.0
        now, since = self._floor.now(), _last_sign(slot, account, previous)
        if since is None or since >= now:
            seconds = 0.0
        elif claimed is None:
            seconds = count_active_seconds((since, now), self._floor.settings.idle_seconds)
        else:
            seconds = min(max(claimed - before, 0.0), (now - since).total_seconds())
        return Stretch(seconds, before + seconds, now)

    def keep(self, slot: Slot, account: str, stretch: Stretch) -> None:
        """Keep a stretch for the timesheet."""
        if stretch.seconds > 0:
            self._floor.store.desk.add_activity(
                Activity(
                    account=account,
                    review_id=slot.sheet.id,
                    slot=slot.number,
                    started_at=stretch.until - timedelta(seconds=stretch.seconds),
                    ended_at=stretch.until,
                    active_seconds=stretch.seconds,
                )
            )


def _last_sign(slot: Slot, account: str, previous: SavedDraft | None) -> datetime | None:
    signs = [previous.saved_at] if previous is not None else []
    if slot.holder == account:
        signs += [slot.claimed_at] if slot.claimed_at is not None else []
        signs += [event.at for event in (slot.blind, slot.final) if event is not None]
    return max(signs, default=None)
