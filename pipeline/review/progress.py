"""Progress and agreement, for leads: how far the queue is, and how far its answers can be trusted."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Final

from pipeline.review.audit_slice import AuditSlice, measure_audit
from pipeline.review.concordance import (
    CriterionAgreement,
    ReviewerSpread,
    compare_judge,
    compare_people,
    compare_reviewers,
)
from pipeline.review.errors import DeskError
from pipeline.review.gold import Gold, GoldFigures
from pipeline.review.labels import Label, Labels
from pipeline.review.permissions import Permission, may
from pipeline.stats.agreement import MINIMUM, Estimate, proportion
from pipeline.stats.intervals import wilson_interval
from pipeline.store import DeskItem, Store, StoreError
from pipeline.types import (
    Account,
    Cause,
    Committed,
    DeskEvent,
    Finished,
    Purpose,
    Reopened,
    Rubric,
    SlotOpened,
)

__all__ = ["AGES", "Changes", "Day", "FastAgreement", "Pace", "Progress", "Report", "Waiting"]

#: What waits, by age: a name, and below which age it counts.
AGES: Final[tuple[tuple[str, timedelta], ...]] = (
    ("under 1 hour", timedelta(hours=1)),
    ("under 8 hours", timedelta(hours=8)),
    ("under 1 day", timedelta(days=1)),
    ("under 3 days", timedelta(days=3)),
    ("3 days or more", timedelta.max),
)
#: How many days of throughput are listed.
_DAYS: Final = 14
#: Older figures are measured anew.
_FRESH: Final = timedelta(minutes=1)

_Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Day:
    """What was done on one day (UTC).

    Attributes:
        day: The day.
        committed: Blind assessments.
        finished: Final assessments that stand.
        people: Who made any of these, counted.
        hours: Active time in them.
    """

    day: date
    committed: int
    finished: int
    people: int
    hours: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for a blind assessment.

    Attributes:
        places: How many.
        oldest: Age of the oldest; None where nothing waits.
        by_age: Counts by the names of `AGES`, in their order.
    """

    places: int
    oldest: timedelta | None
    by_age: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """Levels that were changed once the judge's were seen.

    Attributes:
        rate: Changed levels among those of finished first and second reviews.
        changed: How many.
        towards_judge: How many became the judge's: where nearly all do, look whether people give in.
        by_cause: How many by the cause given.
    """

    rate: Estimate
    changed: int
    towards_judge: int
    by_cause: dict[Cause, int]


@dataclass(frozen=True, slots=True)
class Pace:
    """Active time of first and second reviews.

    Attributes:
        blind: Median seconds up to the blind commit.
        final: Median seconds from there to the end.
    """

    blind: Estimate
    final: Estimate


@dataclass(frozen=True, slots=True)
class FastAgreement:
    """Somebody who is fast and ends with all of the judge's levels more often than others: a reason to look.

    Attributes:
        account: Who. It is no verdict on a person: whoever gets the easy tasks looks the same.
        share: Reviews that are among the fastest quarter of all and end with all of the judge's levels.
        others: The same share among everybody else.
    """

    account: str
    share: Estimate
    others: Estimate


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of the page, as of `at`."""

    at: datetime
    days: tuple[Day, ...]
    waiting: Waiting
    pace: Pace
    people: tuple[CriterionAgreement, ...]
    judge: tuple[CriterionAgreement, ...]
    imported: tuple[CriterionAgreement, ...]
    """The judge against what was labelled in other programs; kept apart, as nobody knows how it was drawn."""
    reviewers: ReviewerSpread
    changes: Changes
    fast: tuple[FastAgreement, ...]
    gold: GoldFigures
    audit: AuditSlice


class Progress:
    """The figures of one desk.

    Keep one per desk, it reads every event once; any number of threads may use it.
    """

    def __init__(self, store: Store, *, clock: Callable[[], datetime] | None = None) -> None:
        """Follow the events of `store`; `clock` (UTC) is for tests."""
        self._store = store
        self._clock = clock or (lambda: datetime.now(UTC))
        self._labels, self._gold = Labels(store), Gold(store, clock=clock)
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._report: Report | None = None
        self._events_cursor = 0
        self._items_cursor = 0
        self._items: dict[str, DeskItem] = {}
        self._opened: dict[_Place, tuple[Purpose, datetime]] = {}
        self._committed: dict[_Place, DeskEvent] = {}
        self._finished: dict[_Place, DeskEvent] = {}
        self._drafts: dict[str, dict[str, int]] = {}
        self._rubrics: dict[str, Rubric | None] = {}

    def measure(self, viewer: Account) -> Report:
        """Return the figures as they are now.

        Raises:
            DeskError: ``forbidden``.
        """
        _require_sight(viewer)
        now = self._clock()
        gold = self._gold.figures(viewer)
        with self._lock:
            self._follow()
            labels = self._labels.read()
            self._load_documents(labels)
            reviewed = [label for label in labels if label.is_independent]
            imported = [label for label in labels if label.source != "desk"]
            self._report = Report(
                at=now,
                days=self._count_days(now),
                waiting=self._measure_waiting(now),
                pace=self._measure_pace(),
                people=tuple(compare_people(reviewed, self._rubrics)),
                judge=tuple(compare_judge(reviewed, self._drafts, self._rubrics)),
                imported=tuple(compare_judge(imported, self._drafts, self._rubrics)),
                reviewers=compare_reviewers(reviewed),
                changes=self._measure_changes(),
                fast=self._screen_fast_agreement(),
                gold=gold,
                audit=measure_audit(reviewed, self._drafts),
            )
            return self._report

    def recall(self, viewer: Account) -> Report:
        """Return the last figures at once, for a page; those over a minute old are measured anew meanwhile.

        Raises:
            DeskError: ``forbidden``.
        """
        _require_sight(viewer)
        known = self._report
        if known is None:
            return self.measure(viewer)
        if self._clock() - known.at > _FRESH and self._renewing.acquire(blocking=False):
            threading.Thread(target=self._renew, args=[viewer], name="progress", daemon=True).start()
        return known

    def _renew(self, viewer: Account) -> None:
        try:
            self.measure(viewer)
        except StoreError:
            pass  # It is being closed, or whoever asks next hears of it.
        finally:
            self._renewing.release()

    def _follow(self) -> None:
        for number, event in self._store.desk.list_events(self._events_cursor):
            self._events_cursor = number
            place = (event.review_id, event.slot)
            match event.action:
                case SlotOpened(purpose=purpose):
                    self._opened.setdefault(place, (purpose, event.at))
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

    def _load_documents(self, labels: Iterable[Label]) -> None:
        """Read the judge's levels and the rubrics behind `labels`, unless they are known."""
        labels = list(labels)
        # A draft without a level of the judge's may still be made again.
        missing = sorted({label.grading_id for label in labels} - self._drafts.keys())
        for draft in self._store.list_draft_levels(missing) if missing else ():
            if draft.level is not None and not draft.source.startswith("check:"):
                self._drafts.setdefault(draft.grading_id, {})[draft.criterion] = draft.level
        for sha256 in sorted({label.rubric for label in labels} - self._rubrics.keys()):
            document = self._store.find_document(sha256)
            self._rubrics[sha256] = Rubric.model_validate_json(document.text) if document else None

    def _purpose_of(self, place: _Place) -> Purpose:
        return self._opened[place][0] if place in self._opened else Purpose.FIRST

    def _reviews(self) -> Iterable[tuple[_Place, DeskEvent]]:
        """Return the commits of first and second reviews."""
        for place, event in self._committed.items():
            if self._purpose_of(place) in (Purpose.FIRST, Purpose.SECOND):
                yield place, event

    def _count_days(self, now: datetime) -> tuple[Day, ...]:
        first = now.astimezone(UTC).date() - timedelta(days=_DAYS - 1)
        kinds: dict[date, Counter[str]] = defaultdict(Counter)
        people: dict[date, set[str]] = defaultdict(set)
        seconds: dict[date, float] = defaultdict(float)
        for event in (*self._committed.values(), *self._finished.values()):
            day = event.at.astimezone(UTC).date()
            if day >= first and isinstance(event.action, Committed | Finished):
                kinds[day][event.action.kind] += 1
                people[day].add(event.actor)
                seconds[day] += event.action.seconds
        days = (first + timedelta(days=offset) for offset in range(_DAYS))
        return tuple(
            Day(day, kinds[day]["committed"], kinds[day]["finished"], len(people[day]), seconds[day] / 3600)
            for day in days
        )

    def _measure_waiting(self, now: datetime) -> Waiting:
        decided = self._store.desk.list_decided_ids()
        since = {(name, 0): item.review.opened_at for name, item in self._items.items()}
        since |= {place: at for place, (_, at) in self._opened.items()}
        ages = [
            max(now - at, timedelta())
            for place, at in since.items()
            if place[0] not in decided and place not in self._committed
        ]
        counts = Counter(next(name for name, limit in AGES if age < limit) for age in ages)
        return Waiting(
            places=len(ages),
            oldest=max(ages, default=None),
            by_age=tuple((name, counts[name]) for name, _ in AGES),
        )

    def _measure_pace(self) -> Pace:
        blind, final = [], []
        for place, event in self._reviews():
            blind.append(_seconds(event))
            if place in self._finished:
                final.append(_seconds(self._finished[place]))
        return Pace(_median(blind), _median(final))

    def _measure_changes(self) -> Changes:
        answers = towards_judge = 0
        causes: Counter[Cause] = Counter()
        for place, event in self._reviews():
            finished = self._finished.get(place)
            if finished is None:
                continue
            assert isinstance(event.action, Committed)
            assert isinstance(finished.action, Finished)
            draft = self._draft_of(place)
            answers += len(event.action.assessment.answers)
            for revision in finished.action.revisions:
                if revision.before != revision.after:
                    causes[revision.cause] += 1
                    towards_judge += revision.after is not None and revision.after == draft.get(
                        revision.criterion
                    )
        changed = causes.total()
        return Changes(
            rate=proportion(changed, max(answers, changed)),
            changed=changed,
            towards_judge=towards_judge,
            by_cause={cause: causes[cause] for cause in Cause if causes[cause]},
        )

    def _screen_fast_agreement(self) -> tuple[FastAgreement, ...]:
        reviews = [
            (event.actor, _seconds(event), self._ends_with_draft(place))
            for place, event in self._reviews()
            if place in self._finished
        ]
        if len(reviews) < MINIMUM:
            return ()
        quarter = sorted(seconds for _, seconds, _ in reviews)[len(reviews) // 4]
        marks: dict[str, list[bool]] = defaultdict(list)
        for account, seconds, agrees in reviews:
            marks[account].append(agrees and seconds < quarter)
        found = []
        for account, own in sorted(marks.items()):
            others = [mark for name, theirs in marks.items() if name != account for mark in theirs]
            if len(own) < MINIMUM or len(others) < MINIMUM:
                continue
            share, theirs_share = proportion(sum(own), len(own)), proportion(sum(others), len(others))
            if wilson_interval(sum(own), len(own)).low > sum(others) / len(others):
                found.append(FastAgreement(account, share, theirs_share))
        return tuple(found)

    def _ends_with_draft(self, place: _Place) -> bool:
        draft, finished = self._draft_of(place), self._finished[place].action
        assert isinstance(finished, Finished)
        answers = finished.assessment.answers
        compared = [answers[name].level == level for name, level in draft.items() if name in answers]
        return bool(compared) and all(compared)

    def _draft_of(self, place: _Place) -> dict[str, int]:
        item = self._items.get(place[0])
        return self._drafts.get(item.review.grading_id, {}) if item else {}


def _require_sight(viewer: Account) -> None:
    if not may(viewer.role, Permission.SEE_PROGRESS):
        raise DeskError("forbidden", "your role does not see the figures of everybody", "ask a lead")


def _median(values: Sequence[float]) -> Estimate:
    n = len(values)
    return Estimate(median(values), n) if n >= MINIMUM else proportion(0, n)


def _seconds(event: DeskEvent) -> float:
    assert isinstance(event.action, Committed | Finished)
    return event.action.seconds
