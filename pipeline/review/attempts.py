"""How often somebody may try a password: guessing must not pay, for one name or from one address."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from pipeline.review.errors import DeskError

__all__ = ["FAILURES", "WINDOW", "Attempts"]

#: So many failures within this time, and the next attempt has to wait.
FAILURES: Final = 5
WINDOW: Final = timedelta(minutes=5)

#: Names and addresses remembered at most; those whose last attempt is longest ago are forgotten first.
_REMEMBERED: Final = 10_000


class Attempts:
    """Failed attempts of the last minutes, in memory; any number of threads may use it.

    An attempt counts as failed from its beginning, so that a hundred at once are no way around the limit.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._failed: OrderedDict[str, list[datetime]] = OrderedDict()

    def begin(self, sources: Iterable[str], now: datetime) -> None:
        """Count an attempt.

        Args:
            sources: What it is counted for, such as the name and the address.
            now: When it is made.

        Raises:
            DeskError: ``forbidden`` if too many failed for one of `sources`; it says when to try again.
        """
        sources = tuple(sources)
        with self._lock:
            recent = {
                source: [at for at in self._failed.get(source, ()) if now - at < WINDOW] for source in sources
            }
            full = [times for times in recent.values() if len(times) >= FAILURES]
            if full:
                again = max(times[-FAILURES] for times in full) + WINDOW
                raise DeskError(
                    "forbidden",
                    f"{FAILURES} logins failed within {WINDOW.seconds // 60} minutes",
                    f"try again {_say_wait(again - now)}, at {again:%H:%M:%S} UTC",
                )
            for source, times in recent.items():
                self._failed[source] = [*times, now]
                self._failed.move_to_end(source)
            while len(self._failed) > _REMEMBERED:
                self._failed.popitem(last=False)

    def succeed(self, name: str, address: str, began: datetime) -> None:
        """Forget the failures of `name`, and that this attempt from `address` was one of its own."""
        with self._lock:
            self._failed.pop(name, None)
            times = self._failed.get(address, [])
            if began in times:
                times.remove(began)


def _say_wait(wait: timedelta) -> str:
    minutes = -int(-wait.total_seconds() // 60)
    return "in a minute" if minutes <= 1 else f"in {minutes} minutes"
