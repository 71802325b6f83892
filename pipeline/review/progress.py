"""Progress and agreement, for leads: how far the queue is, and how far its answers can be trusted."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Final

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
from pipeline.stats.agreement import MINIMUM, Estimate
from pipeline.stats.intervals import wilson_interval
from pipeline.store import DeskItem, Store
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

__all__ = ["AGES", "AuditSlice", "Changes", "Day", "FastAgreement", "Pace", "Progress", "Report", "Waiting"]

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
#: Levels this far apart are more than a matter of taste: an adjudicator would be asked.
_FAR: Final = 2

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
class AuditSlice:
    """How often people disagree with grades that stand alone, from a random draw of known probability.

    Attributes:
        differs: Share of accepted grades where any level that the judge gave is another blind.
        far: Share where one lies two or more levels apart.
        unequal: Whether the draws had different probabilities, so that each is weighted by its inverse.
        left_out: Audits without a known probability or without a level to compare.
    """

    differs: Estimate
    far: Estimate
    unequal: bool
    left_out: int


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
        if not may(viewer.role, Permission.SEE_PROGRESS):
            raise DeskError("forbidden", "your role does not see the figures of everybody", "ask a lead")
        now = self._clock()
        gold = self._gold.figures(viewer)
        with self._lock:
            self._follow()
            labels = self._labels.read()
            self._load_documents(labels)
            reviewed = [label for label in labels if label.is_independent]
            imported = [label for label in labels if label.source != "desk"]
            return Report(
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
                audit=_measure_audit(reviewed, self._drafts),
            )

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
        """Read the judge's levels and the rubrics behind `labels`; neither ever changes once a person saw it."""
        labels = list(labels)
        missing = sorted({label.grading_id for label in labels} - self._drafts.keys() - {""})
        for grading_id in missing:
            self._drafts[grading_id] = {}
        for draft in self._store.list_draft_levels(missing) if missing else ():
            if draft.level is not None and not draft.source.startswith("check:"):
                self._drafts[draft.grading_id][draft.criterion] = draft.level
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
            rate=_rate(changed, max(answers, changed)),
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
            share, theirs_share = _rate(sum(own), len(own)), _rate(sum(others), len(others))
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


def _measure_audit(labels: Iterable[Label], drafts: dict[str, dict[str, int]]) -> AuditSlice:
    distances: dict[str, list[int]] = defaultdict(list)
    probabilities: dict[str, float | None] = {}
    for label in labels:
        if label.sampling == "audit" and label.purpose is Purpose.FIRST:
            probabilities[label.review_id] = label.probability
            draft = drafts.get(label.grading_id, {})
            if label.level is not None and label.criterion in draft:
                distances[label.review_id].append(abs(label.level - draft[label.criterion]))
    drawn = [(max(distances[name]), p) for name, p in probabilities.items() if p and distances[name]]
    weights = [1 / p for _, p in drawn]
    return AuditSlice(
        differs=_weighted_rate([distance > 0 for distance, _ in drawn], weights),
        far=_weighted_rate([distance >= _FAR for distance, _ in drawn], weights),
        unequal=len(set(weights)) > 1,
        left_out=len(probabilities) - len(drawn),
    )


def _weighted_rate(hits: Sequence[bool], weights: Sequence[float]) -> Estimate:
    """Return the Horvitz-Thompson share, with the sum of weights for the unknown total (Hajek's ratio).

    Its interval is Wilson's at Kish's effective sample size; with equal weights that is the plain one.
    """
    n = len(hits)
    if n < MINIMUM:
        return _too_few(n)
    if len(set(weights)) == 1:
        return _rate(sum(hits), n)
    share = math.fsum(w for hit, w in zip(hits, weights, strict=True) if hit) / math.fsum(weights)
    effective = int(math.fsum(weights) ** 2 / math.fsum(w * w for w in weights))
    return Estimate(share, n, wilson_interval(min(effective, round(share * effective)), effective))


def _rate(hits: int, n: int) -> Estimate:
    if n < MINIMUM:
        return _too_few(n)
    return Estimate(hits / n, n, wilson_interval(hits, n))


def _median(values: Sequence[float]) -> Estimate:
    return Estimate(median(values), len(values)) if len(values) >= MINIMUM else _too_few(len(values))


def _too_few(n: int) -> Estimate:
    return Estimate(None, n, reason=f"too few: {n} of at least {MINIMUM}")


def _seconds(event: DeskEvent) -> float:
    assert isinstance(event.action, Committed | Finished)
    return event.action.seconds
