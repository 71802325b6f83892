"""Timesheets, which people are paid by, and how long a task takes everybody; never person against person."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from pipeline.review.errors import DeskError
from pipeline.review.history import Follower
from pipeline.review.permissions import Permission, may
from pipeline.review.spreadsheets import to_csv
from pipeline.store import Store
from pipeline.types import Account, Activity, Purpose

__all__ = [
    "ENOUGH",
    "ENOUGH_PEOPLE",
    "Day",
    "Pace",
    "TaskPace",
    "Timesheet",
    "Week",
    "Work",
    "export_timesheet",
    "make_timesheet",
    "name_week",
    "read_all_timesheets",
    "read_timesheet",
]

#: A median of fewer reviews is no figure.
ENOUGH: Final = 20
#: A median of fewer people's would tell one about another.
ENOUGH_PEOPLE: Final = 3


@dataclass(frozen=True, slots=True)
class Work:
    """Work at one item on one day.

    Attributes:
        review_id: The review.
        slot: Its place.
        began_at: When work at it began that day.
        ended_at: When it ended.
        seconds: Active seconds.
    """

    review_id: str
    slot: int
    began_at: datetime
    ended_at: datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class Day:
    """One day's work, by UTC.

    Attributes:
        day: The day.
        seconds: Active seconds. Two items open at once are not worked at twice, so this may be less than
            theirs together.
        work: Per item, in the order of beginning.
    """

    day: date
    seconds: float
    work: tuple[Work, ...]


@dataclass(frozen=True, slots=True)
class Week:
    """One week's work.

    Attributes:
        monday: Its first day.
        days: Those with work, in order.
    """

    monday: date
    days: tuple[Day, ...]

    @property
    def seconds(self) -> float:
        """Active seconds of all days."""
        return sum(day.seconds for day in self.days)

    @property
    def name(self) -> str:
        """The week by ISO 8601, such as ``2026-W49``."""
        return name_week(self.monday)


@dataclass(frozen=True, slots=True)
class Timesheet:
    """What one person worked.

    Attributes:
        account: Whose it is.
        weeks: Those with work, the latest first.
    """

    account: str
    weeks: tuple[Week, ...]

    @property
    def seconds(self) -> float:
        """Active seconds of all weeks."""
        return sum(week.seconds for week in self.weeks)


def name_week(day: date) -> str:
    """Return the week of a day by ISO 8601."""
    year, number, _ = day.isocalendar()
    return f"{year}-W{number:02}"


def read_timesheet(store: Store, account: Account, since: date | None = None) -> Timesheet:
    """Return one's own timesheet, from the day `since` on."""
    return make_timesheet(account.name, store.desk.list_activity(account.name, _since(since)))


def read_all_timesheets(store: Store, lead: Account, since: date | None = None) -> list[Timesheet]:
    """Return everybody's timesheet, by name, for whoever pays them.

    Raises:
        DeskError: ``forbidden``.
    """
    if not may(lead.role, Permission.EXPORT):
        raise DeskError("forbidden", "only a lead sees the hours of others", "your own are on your timesheet")
    by_account: dict[str, list[Activity]] = defaultdict(list)
    for activity in store.desk.list_activity(None, _since(since)):
        by_account[activity.account].append(activity)
    return [make_timesheet(name, activities) for name, activities in sorted(by_account.items())]


def make_timesheet(account: str, activities: Sequence[Activity]) -> Timesheet:
    """Return the timesheet that stretches of work make; one over midnight is split in proportion."""
    parts: dict[date, list[Activity]] = defaultdict(list)
    for activity in activities:
        for part in _split_at_midnight(activity):
            parts[part.started_at.date()].append(part)
    weeks: dict[date, list[Day]] = defaultdict(list)
    for day, stretches in sorted(parts.items()):
        weeks[day - timedelta(days=day.weekday())].append(_make_day(day, stretches))
    return Timesheet(
        account, tuple(Week(monday, tuple(days)) for monday, days in sorted(weeks.items(), reverse=True))
    )


def export_timesheet(sheets: Iterable[Timesheet]) -> str:
    """Return timesheets as CSV, one row per day, oldest first: hours are what a day is paid by."""
    return to_csv(
        ("account", "week", "day", "items", "active_seconds", "active_hours"),
        (
            (
                sheet.account,
                week.name,
                day.day.isoformat(),
                len(day.work),
                round(day.seconds),
                round(day.seconds / 3600, 2),
            )
            for sheet in sheets
            for week in reversed(sheet.weeks)
            for day in week.days
        ),
    )


#: What a place may be for that takes its own time: deciding between others is no review, nor is talking.
_OTHER_WORK: Final = frozenset({Purpose.ADJUDICATION, Purpose.NORMING})


@dataclass(frozen=True, slots=True)
class TaskPace:
    """How long reviews of one task take.

    Attributes:
        task_id: The task.
        reviews: Blind assessments of everybody.
        median_seconds: Of everybody, active time up to the final assessment; None where that is too few.
        mine: One's own assessments.
        my_median_seconds: Of these; None where there are none.
    """

    task_id: str
    reviews: int
    median_seconds: float | None
    mine: int
    my_median_seconds: float | None


class Pace:
    """How long reviews take, in aggregate.

    Any number of threads may use it.
    """

    def __init__(self, store: Store, follower: Follower | None = None) -> None:
        """Read from `store`, whose events `follower` follows."""
        self._follower = follower or Follower(store)

    def compare(self, account: Account) -> list[TaskPace]:
        """Return, per task, how long everybody takes and how long `account` does, by task.

        Everybody's median is missing below `ENOUGH` reviews or `ENOUGH_PEOPLE` people.
        """
        everybody: dict[str, list[float]] = defaultdict(list)
        mine: dict[str, list[float]] = defaultdict(list)
        people: dict[str, set[str]] = defaultdict(set)
        history = self._follower.read()
        for place, blind in history.committed.items():
            if history.purpose_of(place) in _OTHER_WORK:
                continue
            item, final = history.items.get(place.review_id), history.finished.get(place)
            task_id = item.task_id if item else ""
            seconds = blind.what.seconds + (final.what.seconds if final else 0.0)
            everybody[task_id].append(seconds)
            people[task_id].add(blind.actor)
            if blind.actor == account.name:
                mine[task_id].append(seconds)
        return [
            TaskPace(
                task_id=task_id,
                reviews=len(seconds),
                median_seconds=statistics.median(seconds)
                if len(seconds) >= ENOUGH and len(people[task_id]) >= ENOUGH_PEOPLE
                else None,
                mine=len(mine[task_id]),
                my_median_seconds=statistics.median(mine[task_id]) if mine[task_id] else None,
            )
            for task_id, seconds in sorted(everybody.items())
        ]


def _make_day(day: date, stretches: list[Activity]) -> Day:
    places: dict[tuple[str, int], list[Activity]] = defaultdict(list)
    for stretch in sorted(stretches, key=lambda stretch: stretch.started_at):
        places[stretch.review_id, stretch.slot].append(stretch)
    work = tuple(
        Work(
            review_id=review_id,
            slot=slot,
            began_at=parts[0].started_at,
            ended_at=max(part.ended_at for part in parts),
            seconds=_active_seconds(parts),
        )
        for (review_id, slot), parts in places.items()
    )
    return Day(day, _active_seconds(stretches), work)


def _active_seconds(stretches: Iterable[Activity]) -> float:
    """Return the active seconds of stretches, of each at most the time that no earlier one covers."""
    active, until = 0.0, datetime.min.replace(tzinfo=UTC)
    for stretch in sorted(stretches, key=lambda stretch: stretch.started_at):
        uncovered = (stretch.ended_at - max(stretch.started_at, until)).total_seconds()
        active += min(stretch.active_seconds, max(0.0, uncovered))
        until = max(until, stretch.ended_at)
    return active


def _split_at_midnight(activity: Activity) -> Iterable[Activity]:
    start, end = activity.started_at.astimezone(UTC), activity.ended_at.astimezone(UTC)
    whole = (end - start).total_seconds()
    while start < end:
        until = min(end, _midnight(start.date() + timedelta(days=1)))
        share = (until - start).total_seconds() / whole
        yield activity.model_copy(
            update={
                "started_at": start,
                "ended_at": until,
                "active_seconds": activity.active_seconds * share,
            }
        )
        start = until


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _since(day: date | None) -> datetime | None:
    return None if day is None else _midnight(day)
