"""Running a submission again for whoever reviews it: who may ask, how much at a time, and what came of it.

A rerun is something to look at and no fact: it changes neither the grading nor the grade, no event tells of
it, and it is kept in memory alone.
"""

from __future__ import annotations

import builtins
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.types import Account, CaseResult, Fault, Verdict

__all__ = [
    "MOST_EACH",
    "MOST_OPEN",
    "MOST_PER_HOUR",
    "Rerun",
    "RerunCase",
    "RerunKind",
    "RerunOutcome",
    "RerunState",
    "Reruns",
]

#: Reruns that may wait or run: at the whole desk, and of one person.
MOST_OPEN: Final = 20
MOST_EACH: Final = 2
#: Reruns that one person may ask for within an hour.
MOST_PER_HOUR: Final = 20
#: Reruns whose outcome is remembered; each has some dozen cases.
_REMEMBERED: Final = 200


class RerunKind(StrEnum):
    """What is run."""

    REPLAY = "replay"  # the recorded run, from its seed
    FRESH = "fresh"  # the same programs on inputs from a new secret seed


class RerunState(StrEnum):
    """How far a rerun has come."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class RerunCase:
    """One draw of one case.

    Attributes:
        result: What came of it now; what was recorded if it was not reached.
        differences: Of a replay, what is not as recorded.
    """

    result: CaseResult
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RerunOutcome:
    """What came of a rerun.

    Attributes:
        verdict: Of all cases together.
        cases: In the order in which they ran.
        seed_id: Tells seeds apart without giving them away.
        notes: What is not as it was when the run was recorded, for which results may differ.
    """

    verdict: Verdict
    cases: tuple[RerunCase, ...]
    seed_id: str
    notes: tuple[str, ...] = ()

    @property
    def differing(self) -> int:
        """Cases that did not come out as recorded."""
        return sum(1 for case in self.cases if case.differences)

    @property
    def failing(self) -> int:
        """Cases that are not correct."""
        return sum(1 for case in self.cases if case.result.verdict is not Verdict.CORRECT)


@dataclass(frozen=True, slots=True)
class Rerun:
    """One rerun, as it was asked for and as far as it has come.

    Attributes:
        id: Of this rerun.
        grading_id: Whose programs are run.
        review_id: Place that it was asked for from, with `slot`.
        slot: See `review_id`.
        account: Who asked, and alone sees it.
        kind: What is run.
        key: Of the request; the same key is the same request.
        asked_at: When it was asked for.
        state: How far it has come.
        ended_at: When it ended.
        outcome: What came of it; None where it failed.
        fault: Why it failed.
    """

    id: str
    grading_id: str
    review_id: str
    slot: int
    account: str
    kind: RerunKind
    key: str
    asked_at: datetime
    state: RerunState = RerunState.WAITING
    ended_at: datetime | None = None
    outcome: RerunOutcome | None = None
    fault: Fault | None = None

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.state is not RerunState.ENDED


class Reruns:
    """The reruns of one desk; any number of threads may use it.

    Whoever runs them takes one at a time and settles it: see `pipeline.graph.reruns`.
    """

    def __init__(self, desk: Desk, clock: Callable[[], datetime] | None = None) -> None:
        """Take requests of people who have a place at `desk`; `clock` (UTC) is for tests."""
        self._desk = desk
        self._now = clock or (lambda: datetime.now(UTC))
        self._asked: OrderedDict[str, Rerun] = OrderedDict()
        self._changed = threading.Condition()

    def ask(self, account: Account, review_id: str, slot: int, kind: RerunKind, *, key: str) -> Rerun:
        """Have the submission of a place run again; asking again while it waits or runs gives that rerun.

        Raises:
            DeskError: As `pipeline.review.desk.Desk.open`; ``too_many`` if a limit is reached.
        """
        grading_id = self._desk.open(account, review_id, slot).item.review.grading_id
        with self._changed:
            here = self._list(account, review_id, slot)
            for rerun in here:
                if rerun.key == key or (rerun.is_open and rerun.kind is kind):
                    return rerun
            self._refuse_too_many(account, here)
            made = Rerun(
                id=f"again-{uuid.uuid4().hex[:16]}",
                grading_id=grading_id,
                review_id=review_id,
                slot=slot,
                account=account.name,
                kind=kind,
                key=key,
                asked_at=self._now(),
            )
            self._asked[made.id] = made
            self._forget()
            self._changed.notify()
        return made

    def list(self, account: Account, review_id: str, slot: int) -> builtins.list[Rerun]:
        """Return what `account` asked for at a place, newest first, as far as it is remembered."""
        with self._changed:
            return self._list(account, review_id, slot)

    def count_before(self, rerun: Rerun) -> int:
        """Return how many come before one that waits."""
        with self._changed:
            opened = [one.id for one in self._asked.values() if one.is_open]
        return opened.index(rerun.id) if rerun.id in opened else 0

    # For whoever runs them

    def take(self, patience: float) -> Rerun | None:
        """Return the next one, which runs from now on, or None if there is none within `patience` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._next() is not None, patience)
            following = self._next()
            if following is None:
                return None
            return self._keep(replace(following, state=RerunState.RUNNING))

    def settle(self, rerun: Rerun, came: RerunOutcome | Fault) -> Rerun:
        """Keep what came of one that ran."""
        outcome, fault = (None, came) if isinstance(came, Fault) else (came, None)
        with self._changed:
            return self._keep(
                replace(rerun, state=RerunState.ENDED, ended_at=self._now(), outcome=outcome, fault=fault)
            )

    # All of these under the lock

    def _refuse_too_many(self, account: Account, here: builtins.list[Rerun]) -> None:
        opened = [rerun for rerun in self._asked.values() if rerun.is_open]
        own = [rerun for rerun in self._asked.values() if rerun.account == account.name]
        now = self._now()
        if any(rerun.is_open for rerun in here):
            raise _too_many("this item is being run again already, in the other way", "wait until that ends")
        if sum(rerun.is_open for rerun in own) >= MOST_EACH:
            raise _too_many(
                f"{MOST_EACH} reruns of yours wait or run, the most for one person",
                "wait until one of them ends",
            )
        # What a clock that went back has put into the future counts no longer.
        if sum(timedelta() <= now - rerun.asked_at < timedelta(hours=1) for rerun in own) >= MOST_PER_HOUR:
            raise _too_many(
                f"you asked for {MOST_PER_HOUR} reruns within an hour, the most for one person",
                "go on without, or try again later",
            )
        if len(opened) >= MOST_OPEN:
            raise _too_many(
                f"{MOST_OPEN} reruns wait or run, the most at one desk", "try again in a few minutes"
            )

    def _list(self, account: Account, review_id: str, slot: int) -> builtins.list[Rerun]:
        return [
            rerun
            for rerun in reversed(self._asked.values())
            if (rerun.account, rerun.review_id, rerun.slot) == (account.name, review_id, slot)
        ]

    def _next(self) -> Rerun | None:
        waiting = (rerun for rerun in self._asked.values() if rerun.state is RerunState.WAITING)
        return next(waiting, None)

    def _keep(self, rerun: Rerun) -> Rerun:
        self._asked[rerun.id] = rerun
        return rerun

    def _forget(self) -> None:
        ended = [rerun.id for rerun in self._asked.values() if not rerun.is_open]
        for rerun_id in ended[: max(0, len(self._asked) - _REMEMBERED)]:
            del self._asked[rerun_id]


def _too_many(message: str, remedy: str) -> DeskError:
    return DeskError("too_many", message, remedy)
