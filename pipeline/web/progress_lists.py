"""The reviews behind a number of the progress page."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from threading import Lock
from typing import Literal

from pipeline.review.labels import Label, Labels
from pipeline.review.progress import AGES
from pipeline.store import DeskItem, Store
from pipeline.types import (
    Cause,
    Claimed,
    Committed,
    DeskEvent,
    Finished,
    Purpose,
    Released,
    Reopened,
    Rubric,
    SlotOpened,
)

__all__ = ["Listed", "ProgressLists", "Side"]

#: Whom a table of agreement compares: people with people, the judge with people, or with imported labels.
Side = Literal["people", "judge", "imported"]

_Place = tuple[str, int]
_REVIEWS = (Purpose.FIRST, Purpose.SECOND)


@dataclass(frozen=True, slots=True)
class Listed:
    """One review in a list.

    Attributes:
        review_id: The review.
        task_id: Its task.
        at: When what is counted happened; for one that waits, since when it does.
        words: What is counted of it, such as two levels.
    """

    review_id: str
    task_id: str
    at: datetime
    words: str


class ProgressLists:
    """Lists over one store.

    Keep one per desk, it reads every event once; any number of threads may use it.
    """

    def __init__(self, store: Store) -> None:
        """Follow the events of `store`."""
        self._store = store
        self._labels = Labels(store)
        self._lock = Lock()
        self._events_cursor = 0
        self._items_cursor = 0
        self._items: dict[str, DeskItem] = {}
        self._opened: dict[_Place, tuple[Purpose, datetime]] = {}
        self._held: dict[_Place, tuple[str, str]] = {}
        self._committed: dict[_Place, DeskEvent] = {}
        self._finished: dict[_Place, DeskEvent] = {}
        self._rubrics: dict[str, str] = {}

    def committed_on(self, day: date) -> list[Listed]:
        """Return the blind assessments of a day (UTC)."""
        with self._lock:
            self._follow()
            return self._of_day(self._committed, day)

    def finished_on(self, day: date) -> list[Listed]:
        """Return the final assessments of a day (UTC) that stand."""
        with self._lock:
            self._follow()
            return self._of_day(self._finished, day)

    def waiting(self, age: str, now: datetime) -> list[Listed]:
        """Return what waits for a blind assessment, the longest wait first; of one age, or of any for ""."""
        with self._lock:
            self._follow()
            decided = self._store.desk.list_decided_ids()
            since = {(name, 0): item.review.opened_at for name, item in self._items.items()}
            since |= {place: at for place, (_, at) in self._opened.items()}
            waiting = [
                self._list(place[0], at, "held" if place in self._held else "waiting")
                for place, at in since.items()
                if place[0] not in decided
                and place not in self._committed
                and (not age or _name_age(max(now - at, timedelta())) == age)
            ]
        return sorted(waiting, key=lambda listed: listed.at)

    def changed(self, cause: Cause | None, viewer: str) -> list[Listed]:
        """Return levels of decided reviews that were changed after the judge's were seen, newest first."""
        with self._lock:
            self._follow()
            shown = self._shown_to(viewer)
            changed = [
                self._list(
                    place[0],
                    event.at,
                    f"{revision.criterion}: {_say(revision.before)} → {_say(revision.after)},"
                    f" {revision.cause.value.replace('_', ' ')}",
                )
                for place, event in self._finished.items()
                if place[0] in shown
                and self._purpose_of(place) in _REVIEWS
                and isinstance(event.action, Finished)
                for revision in event.action.revisions
                if revision.before != revision.after and cause in (None, revision.cause)
            ]
        return sorted(changed, key=lambda listed: listed.at, reverse=True)

    def compared(
        self,
        side: Side,
        rubric: str,
        criterion: str,
        levels: tuple[int, int] | None,
        viewer: str,
    ) -> list[Listed]:
        """Return the decided reviews of a table of agreement, or of its one cell with these two levels."""
        with self._lock:
            self._follow()
            shown = self._shown_to(viewer)
            labels = [
                label
                for label in self._labels.read()
                if label.criterion == criterion
                and label.review_id in shown
                and (label.source != "desk" if side == "imported" else label.is_independent)
                and self._name_rubric(label.rubric) == rubric
            ]
            pairs = self._pair_people(labels) if side == "people" else self._pair_judge(labels)
            names = ("first", "second") if side == "people" else ("judge", "person")
            return [
                self._list(label.review_id, label.at, f"{names[0]} {one}, {names[1]} {other}")
                for label, one, other in pairs
                if levels in (None, (one, other))
            ]

    def audited(self, viewer: str) -> list[Listed]:
        """Return the decided audits that were assessed."""
        with self._lock:
            self._follow()
            shown = self._shown_to(viewer)
            return [
                self._list(place[0], event.at, "audit")
                for place, event in self._committed.items()
                if place[0] in shown and self._items[place[0]].review.kind == "audit" and place[1] == 0
            ]

    def _follow(self) -> None:
        for number, event in self._store.desk.list_events(self._events_cursor):
            self._events_cursor = number
            place = (event.review_id, event.slot)
            match event.action:
                case SlotOpened(purpose=purpose):
                    self._opened.setdefault(place, (purpose, event.at))
                case Claimed(lease_id=lease_id):
                    self._held[place] = (lease_id, event.actor)
                case Released(lease_id=lease_id) if self._held.get(place, ("",))[0] == lease_id:
                    del self._held[place]
                case Committed():
                    self._committed.setdefault(place, event)
                case Finished():
                    self._finished[place] = event
                case Reopened():
                    self._finished.pop(place, None)
        # After the events: every review that one of them is of is in the list by now.
        for number, item in self._store.desk.list_items(self._items_cursor):
            self._items_cursor = number
            self._items[item.review.id] = item

    def _shown_to(self, viewer: str) -> set[str]:
        """Return the decided reviews that `viewer` is not about to assess."""
        at_it = {
            place[0]
            for place, (_, holder) in self._held.items()
            if holder == viewer and place not in self._committed
        }
        return (self._store.desk.list_decided_ids() & self._items.keys()) - at_it

    def _of_day(self, events: dict[_Place, DeskEvent], day: date) -> list[Listed]:
        return [
            self._list(place[0], event.at, "")
            for place, event in events.items()
            if event.at.astimezone(UTC).date() == day
        ]

    def _pair_judge(self, labels: Iterable[Label]) -> Iterator[tuple[Label, int, int]]:
        labels = [label for label in labels if label.level is not None]
        drafts = {
            (draft.grading_id, draft.criterion): draft.level
            for draft in self._store.list_draft_levels(sorted({label.grading_id for label in labels}))
            if draft.level is not None and not draft.source.startswith("check:")
        }
        for label in labels:
            drafted = drafts.get((label.grading_id, label.criterion))
            if drafted is not None and label.level is not None:
                yield label, drafted, label.level

    def _pair_people(self, labels: Iterable[Label]) -> Iterator[tuple[Label, int, int]]:
        by_review: dict[str, list[Label]] = defaultdict(list)
        for label in labels:
            by_review[label.review_id].append(label)
        for group in by_review.values():
            firsts = [label for label in group if label.purpose is Purpose.FIRST]
            seconds = [label for label in group if label.purpose is Purpose.SECOND]
            for first, second in itertools.product(firsts, seconds):
                if first.rater != second.rater and first.level is not None and second.level is not None:
                    yield second, first.level, second.level

    def _name_rubric(self, sha256: str) -> str:
        if sha256 not in self._rubrics:
            document = self._store.find_document(sha256)
            known = Rubric.model_validate_json(document.text) if document else None
            self._rubrics[sha256] = f"{known.id} {known.version}" if known else sha256[:12]
        return self._rubrics[sha256]

    def _purpose_of(self, place: _Place) -> Purpose:
        return self._opened[place][0] if place in self._opened else Purpose.FIRST

    def _list(self, review_id: str, at: datetime, words: str) -> Listed:
        item = self._items.get(review_id)
        return Listed(review_id, item.task_id if item else "", at, words)


def _name_age(age: timedelta) -> str:
    return next(name for name, limit in AGES if age < limit)


def _say(level: int | None) -> str:
    return "cannot judge" if level is None else str(level)
