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
from pipeline.review.board import PlaceId
from pipeline.review.concordance import (
    CriterionAgreement,
    ReviewerSpread,
    compare_judge,
    compare_people,
    compare_reviewers,
)
from pipeline.review.errors import DeskError
from pipeline.review.gold import Gold, GoldFigures
from pipeline.review.history import Follower, Happening, History
from pipeline.review.labels import Label, Labels
from pipeline.review.permissions import Permission, may
from pipeline.review.rubric_changes import RubricChange, list_rubric_changes
from pipeline.review.rubric_succession import carry_over
from pipeline.stats.agreement import MINIMUM, Estimate, proportion
from pipeline.stats.intervals import wilson_interval
from pipeline.store import Store, StoreError
from pipeline.types import Account, Cause, Committed, Finished, Rubric

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
    rubric_changes: tuple[tuple[str, tuple[RubricChange, ...]], ...]
    """What adjudicators want rubrics to say, by week, the newest first."""


class Progress:
    """The figures of one desk.

    Keep one per desk, it remembers the last figures; any number of threads may use it.
    """

    def __init__(
        self, store: Store, follower: Follower | None = None, *, clock: Callable[[], datetime] | None = None
    ) -> None:
        """Read from `store`, whose events `follower` follows; `clock` (UTC) is for tests."""
        self._store = store
        self._clock = clock or (lambda: datetime.now(UTC))
        self._follower = follower or Follower(store)
        self._labels = Labels(store, self._follower)
        self._gold = Gold(store, self._follower, clock=clock)
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._report: Report | None = None
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
            history = self._follower.read(items=True)
            given = self._labels.read()
            self._load_documents(given)
            labels = carry_over(self._store, given)
            self._load_documents(labels)
            reviewed = [label for label in labels if label.is_independent]
            imported = [label for label in labels if label.source != "desk"]
            self._report = Report(
                at=now,
                days=_count_days(history, now),
                waiting=self._measure_waiting(history, now),
                pace=_measure_pace(history),
                people=tuple(compare_people(reviewed, self._rubrics)),
                judge=tuple(compare_judge(reviewed, self._drafts, self._rubrics)),
                imported=tuple(compare_judge(imported, self._drafts, self._rubrics)),
                reviewers=compare_reviewers(reviewed),
                changes=self._measure_changes(history),
                fast=self._screen_fast_agreement(history),
                gold=gold,
                audit=measure_audit(reviewed, self._drafts),
                rubric_changes=list_rubric_changes(history, self._rubrics, now),
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

    def _measure_waiting(self, history: History, now: datetime) -> Waiting:
        decided = self._store.desk.list_decided_ids()
        ages = [
            max(now - since, timedelta())
            for place, since in history.list_unassessed()
            if place.review_id not in decided
        ]
        counts = Counter(next(name for name, limit in AGES if age < limit) for age in ages)
        return Waiting(
            places=len(ages),
            oldest=max(ages, default=None),
            by_age=tuple((name, counts[name]) for name, _ in AGES),
        )

    def _measure_changes(self, history: History) -> Changes:
        answers = towards_judge = 0
        causes: Counter[Cause] = Counter()
        for blind in history.list_reviews():
            final = history.finished.get(blind.place)
            if final is None:
                continue
            draft = self._draft_of(blind.place, history)
            answers += len(blind.what.assessment.answers)
            for revision in final.what.revisions:
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

    def _screen_fast_agreement(self, history: History) -> tuple[FastAgreement, ...]:
        reviews = [
            (blind.actor, blind.what.seconds, self._ends_with_draft(final, history))
            for blind in history.list_reviews()
            if (final := history.finished.get(blind.place)) is not None
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

    def _ends_with_draft(self, final: Happening[Finished], history: History) -> bool:
        draft, answers = self._draft_of(final.place, history), final.what.assessment.answers
        compared = [answers[name].level == level for name, level in draft.items() if name in answers]
        return bool(compared) and all(compared)

    def _draft_of(self, place: PlaceId, history: History) -> dict[str, int]:
        item = history.items.get(place.review_id)
        return self._drafts.get(item.review.grading_id, {}) if item else {}


def _require_sight(viewer: Account) -> None:
    if not may(viewer.role, Permission.SEE_PROGRESS):
        raise DeskError("forbidden", "your role does not see the figures of everybody", "ask a lead")


def _count_days(history: History, now: datetime) -> tuple[Day, ...]:
    first = now.astimezone(UTC).date() - timedelta(days=_DAYS - 1)
    kinds: dict[date, Counter[str]] = defaultdict(Counter)
    people: dict[date, set[str]] = defaultdict(set)
    seconds: dict[date, float] = defaultdict(float)
    happenings: list[Happening[Committed] | Happening[Finished]]
    happenings = [*history.committed.values(), *history.finished.values()]
    for done in happenings:
        day = done.at.astimezone(UTC).date()
        if day >= first:
            kinds[day][done.what.kind] += 1
            people[day].add(done.actor)
            seconds[day] += done.what.seconds
    days = (first + timedelta(days=offset) for offset in range(_DAYS))
    return tuple(
        Day(day, kinds[day]["committed"], kinds[day]["finished"], len(people[day]), seconds[day] / 3600)
        for day in days
    )


def _measure_pace(history: History) -> Pace:
    blind = list(history.list_reviews())
    final = [history.finished[done.place] for done in blind if done.place in history.finished]
    return Pace(
        _median([done.what.seconds for done in blind]), _median([done.what.seconds for done in final])
    )


def _median(values: Sequence[float]) -> Estimate:
    n = len(values)
    return Estimate(median(values), n) if n >= MINIMUM else proportion(0, n)
