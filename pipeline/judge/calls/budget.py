"""Caps on money: per run and per UTC day, held before anything is sent."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Protocol

from pipeline.errors import GraderError
from pipeline.judge.calls.clock import Clock
from pipeline.judge.protocol import JudgmentDeferred
from pipeline.types import Fault, JudgeSetup, Owner

__all__ = ["Budget", "Reservation", "SpendingStopped"]

_MICRO = 1_000_000
#: Seconds after which the ledger is asked again what other processes spent from the same database. A sum over
#: the day's calls before each of them would cost more time than the calls' own rows.
_LOOK_SECONDS = 10.0


class SpendingStopped(GraderError, JudgmentDeferred):
    """A cap on cost is reached; nothing was sent, and a later run goes on from here."""


class _Ledger(Protocol):
    def spent(self, since: datetime | None) -> int: ...


@dataclass(eq=False, slots=True)
class Reservation:
    """Money set aside for one call.

    Attributes:
        amount: Micro-dollars.
        day: UTC day that the call counts to.
        recorded: Whether the ledger counts it, because the call's intent is written.
        open: Whether it is still to be settled.
    """

    amount: int
    day: date
    recorded: bool = False
    open: bool = True


@dataclass(slots=True)
class _Tally:
    """Micro-dollars of this process: settled, set aside, and what of both the ledger counts as well."""

    settled: int = 0
    reserved: int = 0
    recorded: int = 0


class Budget:
    """Lets calls pass while what was spent and what is set aside stay within the caps.

    A run is the life of this object. The day's spending is what the ledger says (calls of every process,
    those without an end at their estimate) plus what this process has set aside since. Another process that
    spends at the same time is seen within ten seconds, so two runs together may pass the cap of the day by
    what they spend meanwhile.

    Estimates are far above what calls cost, because they assume the longest answer. When only they stand in
    the way, the next call waits for others to end instead of stopping the run. Once a cap is reached the
    budget stays closed: a run ends at a definite point and does not go on to pick the cheap submissions.
    """

    def __init__(self, setup: JudgeSetup, ledger: _Ledger, clock: Clock) -> None:
        """Hold the caps of `setup`."""
        self._run_cap = _to_micro(setup.max_cost)
        self._day_cap = _to_micro(setup.max_cost_per_day)
        self._ledger = ledger
        self._clock = clock
        self._run = _Tally()
        self._days: defaultdict[date, _Tally] = defaultdict(_Tally)
        self._looked_at: tuple[date, float] | None = None
        self._elsewhere = 0
        self._stopped: Fault | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Lock()
        self._settled = asyncio.Event()

    @property
    def stopped(self) -> Fault | None:
        """Which cap was reached, or None."""
        return self._stopped

    @property
    def spent(self) -> int:
        """Micro-dollars that this run has spent."""
        return self._run.settled

    @property
    def reserved(self) -> int:
        """Micro-dollars that are set aside for calls under way."""
        return self._run.reserved

    async def reserve(self, amount: int) -> Reservation:
        """Set `amount` micro-dollars aside, after whoever came before.

        Raises:
            SpendingStopped: If a cap would not hold even after every call under way has ended at no cost.
        """
        if self._run_cap is None and self._day_cap is None:
            return self._set_aside(amount)
        self._adopt_loop()
        async with self._turn:
            while not self._fits(amount):
                self._settled.clear()
                await self._settled.wait()
            return self._set_aside(amount)

    def reserve_now(self, amount: int) -> Reservation | None:
        """Set `amount` micro-dollars aside without waiting, or return None while others are in the way.

        Raises:
            SpendingStopped: If a cap would not hold even after every call under way has ended at no cost.
        """
        return self._set_aside(amount) if self._fits(amount) else None

    def record(self, reservation: Reservation, started_at: datetime) -> None:
        """Note that the ledger has the intent of the call, as started then."""
        day = started_at.date()
        if day != reservation.day:
            self._days[reservation.day].reserved -= reservation.amount
            self._days[day].reserved += reservation.amount
            reservation.day = day
        reservation.recorded = True
        self._days[day].recorded += reservation.amount

    def settle(self, reservation: Reservation, cost: int) -> None:
        """Replace `reservation` by what the call cost, in micro-dollars; 0 if it was never sent.

        To be called together with writing the end row. Settling what is settled changes nothing.
        """
        if not reservation.open:
            return
        reservation.open = False
        for tally in (self._run, self._days[reservation.day]):
            tally.reserved -= reservation.amount
            tally.settled += cost
        if reservation.recorded:
            self._days[reservation.day].recorded += cost - reservation.amount
        self._settled.set()

    def _set_aside(self, amount: int) -> Reservation:
        reservation = Reservation(amount, self._clock.today().date())
        self._run.reserved += amount
        self._days[reservation.day].reserved += amount
        return reservation

    def _fits(self, amount: int) -> bool:
        """Whether `amount` may be set aside now; False if it may be later.

        Raises:
            SpendingStopped: If it never will be.
        """
        if self._stopped is not None:
            raise SpendingStopped(self._stopped)
        if self._run_cap is not None:
            spent, reserved = self._run.settled, self._run.reserved
            if spent + reserved + amount > self._run_cap:
                if spent + amount > self._run_cap:
                    self._stop("this run has", spent, self._run_cap, amount, "--max-cost", "")
                return False
        if self._day_cap is not None:
            today = self._days[self._clock.today().date()]
            self._look(fresh=False)
            if self._elsewhere + today.settled + today.reserved + amount > self._day_cap:
                # What other processes had set aside may have settled lower since.
                self._look(fresh=True)
                spent = self._elsewhere + today.settled
                if spent + today.reserved + amount > self._day_cap:
                    if spent + amount > self._day_cap:
                        self._stop(
                            "this database has",
                            spent,
                            self._day_cap,
                            amount,
                            "--max-cost-per-day",
                            " today (UTC)",
                        )
                    return False
        return True

    def _stop(self, who: str, spent: int, cap: int, amount: int, option: str, when: str) -> None:
        wait = " or wait for tomorrow" if when else ""
        self._stopped = Fault(
            owner=Owner.ENVIRONMENT,
            code="spending_cap",
            message=f"{who} spent ${_dollars(spent)}{when} of at most ${_dollars(cap)}, and the next call may"
            f" cost ${_dollars(amount)}",
            remedy=f"raise {option}{wait}, then run the same command again: stored answers cost nothing",
        )
        # Whoever waits for money must hear that there will be none.
        self._settled.set()
        raise SpendingStopped(self._stopped)

    def _look(self, *, fresh: bool) -> None:
        """Ask the ledger what this day has cost apart from what this process counts itself."""
        today, now = self._clock.today().date(), self._clock.now()
        if not fresh and self._looked_at is not None:
            day, then = self._looked_at
            if day == today and now - then < _LOOK_SECONDS:
                return
        since = datetime.combine(today, time(), tzinfo=UTC)
        self._elsewhere = max(0, self._ledger.spent(since) - self._days[today].recorded)
        self._looked_at = (today, now)

    def _adopt_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._turn = asyncio.Lock()
            self._settled = asyncio.Event()


def _to_micro(dollars: float | None) -> int | None:
    return None if dollars is None else round(dollars * _MICRO)


def _dollars(amount: int) -> str:
    """Return micro-dollars in dollars and cents, with as many digits more as they have."""
    whole, micro = divmod(amount, _MICRO)
    return f"{whole}.{f'{micro:06d}'.rstrip('0'):0<2}"
