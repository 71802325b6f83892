"""Gold items: how well people agree with known levels, as a figure for themselves and in aggregate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from pipeline.review.errors import DeskError
from pipeline.review.history import Follower, Happening, History
from pipeline.review.permissions import Permission, may
from pipeline.stats.intervals import Interval, wilson_interval
from pipeline.store import Store
from pipeline.types import Account, Committed, Purpose

__all__ = ["ENOUGH", "Accuracy", "Gold", "GoldFigures"]

#: A rate of fewer levels is no figure.
ENOUGH: Final = 20


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many levels were the known ones.

    Attributes:
        items: Gold items assessed.
        levels: Levels given where one is known.
        exact: Those that are the known one.
        within_one: Those that differ by one at most.
        unjudged: Known levels where a person could not judge; not among `levels`.
    """

    items: int
    levels: int
    exact: int
    within_one: int
    unjudged: int

    @property
    def enough(self) -> bool:
        """Whether there are enough levels for a rate."""
        return self.levels >= ENOUGH

    @property
    def interval(self) -> Interval:
        """Wilson's interval at 95 % of the exact rate, with every level as a trial of its own."""
        return wilson_interval(self.exact, self.levels)


@dataclass(frozen=True, slots=True)
class GoldFigures:
    """How well everybody agrees with what is known.

    Attributes:
        people: How many assessed a gold item.
        overall: Of all levels.
        by_criterion: Per criterion that a level is known of.
    """

    people: int
    overall: Accuracy
    by_criterion: dict[str, Accuracy]


class Gold:
    """Blind assessments of gold items beside their known levels.

    Only assessments made in places opened for it count, not those that the known levels come from. Any number
    of threads may use it.
    """

    def __init__(
        self, store: Store, follower: Follower | None = None, *, clock: Callable[[], datetime] | None = None
    ) -> None:
        """Read from `store`, whose events `follower` follows; `clock` (UTC) is for tests."""
        self._follower = follower or Follower(store)
        self._clock = clock or (lambda: datetime.now(UTC))

    def own_accuracy(self, account: Account) -> Accuracy:
        """Return how well `account` agrees with what is known, up to yesterday (UTC).

        Today's are left out: a figure that moves after a commit would tell that the item was a gold one.
        """
        today: date = self._clock().astimezone(UTC).date()
        history = self._follower.read()
        mine = [
            done
            for done in _list_assessed(history)
            if done.actor == account.name and done.at.astimezone(UTC).date() < today
        ]
        return _measure(_compare(mine, history))

    def figures(self, lead: Account) -> GoldFigures:
        """Return how well everybody agrees with what is known; no figure is one person's.

        Raises:
            DeskError: ``forbidden``.
        """
        if not may(lead.role, Permission.SEE_PROGRESS):
            raise DeskError(
                "forbidden", "your role does not see figures of everybody", "your own are on your timesheet"
            )
        history = self._follower.read()
        compared = _compare(_list_assessed(history), history)
        by_criterion: dict[str, list[_Compared]] = defaultdict(list)
        for pair in compared:
            by_criterion[pair.criterion].append(pair)
        return GoldFigures(
            people=len({pair.account for pair in compared}),
            overall=_measure(compared),
            by_criterion={name: _measure(pairs) for name, pairs in sorted(by_criterion.items())},
        )


@dataclass(frozen=True, slots=True)
class _Compared:
    review_id: str
    account: str
    criterion: str
    known: int
    given: int | None


def _list_assessed(history: History) -> Iterator[Happening[Committed]]:
    return (done for place, done in history.committed.items() if history.purpose_of(place) is Purpose.GOLD)


def _compare(assessed: Iterable[Happening[Committed]], history: History) -> list[_Compared]:
    """Return answers where a level is known; the newest known level counts, for older answers too."""
    return [
        _Compared(done.place.review_id, done.actor, criterion, known, given.level)
        for done in assessed
        for criterion, known in history.planted.get(done.place.review_id, {}).items()
        if (given := done.what.assessment.answers.get(criterion)) is not None
    ]


def _measure(compared: Iterable[_Compared]) -> Accuracy:
    compared = list(compared)
    distances = [abs(pair.given - pair.known) for pair in compared if pair.given is not None]
    return Accuracy(
        items=len({(pair.review_id, pair.account) for pair in compared}),
        levels=len(distances),
        exact=distances.count(0),
        within_one=sum(distance <= 1 for distance in distances),
        unjudged=len(compared) - len(distances),
    )
