"""How often somebody may try a password: guessing must not pay, and nobody may lock another out by it."""

from __future__ import annotations

import ipaddress
import threading
from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from pipeline.review.errors import DeskError

__all__ = ["FAILURES", "FAILURES_IN_ALL", "WINDOW", "Attempts"]

#: So many failures for one name from one address within this time, and the next attempt has to wait.
FAILURES: Final = 5
WINDOW: Final = timedelta(minutes=5)

#: So many for one name from anywhere, or from one address for any name.
FAILURES_IN_ALL: Final = 20

#: For so long after a success only failures for this very name from this very address count.
_TRUSTED: Final = timedelta(days=30)

#: Names and addresses remembered at most; those used longest ago are forgotten first.
_REMEMBERED: Final = 10_000


class _Source(NamedTuple):
    """What failures are counted for; an empty part is any."""

    name: str
    address: str

    @property
    def limit(self) -> int:
        return FAILURES if self.name and self.address else FAILURES_IN_ALL


class Attempts:
    """Failed attempts of the last minutes, in memory; any number of threads may use it.

    An attempt counts as failed from its beginning, so that a hundred at once are no way around the limit.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._failed: OrderedDict[_Source, list[datetime]] = OrderedDict()
        self._succeeded: OrderedDict[_Source, datetime] = OrderedDict()

    def begin(self, name: str, address: str, now: datetime) -> None:
        """Count an attempt.

        Args:
            name: Whose password is tried.
            address: From where.
            now: When it is made.

        Raises:
            DeskError: ``forbidden`` if too many failed; it says when to try again.
        """
        sources = _sources(name, address)
        with self._lock:
            recent = {
                source: [at for at in self._failed.get(source, ()) if _is_within(WINDOW, at, now)]
                for source in sources
            }
            # Whoever knows a name, or shares an address, locks out nobody who was in from there before.
            counting = sources[:1] if self._is_trusted(sources[0], now) else sources
            full = [source for source in counting if len(recent[source]) >= source.limit]
            if full:
                again = max(recent[source][-source.limit] for source in full) + WINDOW
                raise DeskError(
                    "forbidden",
                    f"{full[0].limit} logins failed within {WINDOW.seconds // 60} minutes",
                    f"try again {_say_wait(again - now)}, at {again:%H:%M:%S} UTC",
                )
            for source, times in recent.items():
                self._failed[source] = [*times, now]
                _keep_newest(self._failed, source)

    def succeed(self, name: str, address: str, began: datetime) -> None:
        """Forget that the attempt of `began` failed, and all failures for `name` from `address`."""
        own, *wider = _sources(name, address)
        with self._lock:
            self._failed.pop(own, None)
            for source in wider:
                times = self._failed.get(source, [])
                if began in times:
                    times.remove(began)
            self._succeeded[own] = began
            _keep_newest(self._succeeded, own)

    def _is_trusted(self, source: _Source, now: datetime) -> bool:
        at = self._succeeded.get(source)
        return at is not None and _is_within(_TRUSTED, at, now)


def _sources(name: str, address: str) -> tuple[_Source, _Source, _Source]:
    network = _network_of(address)
    return _Source(name, network), _Source(name, ""), _Source("", network)


def _network_of(address: str) -> str:
    """Return what one person can be expected to have: an address of IPv4, but a whole network of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100] or "unknown"
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found), 64), strict=False))


def _is_within(span: timedelta, at: datetime, now: datetime) -> bool:
    """Whether `at` is less than `span` ago; what a clock that went back has put into the future is not."""
    return timedelta() <= now - at < span


def _keep_newest(
    remembered: OrderedDict[_Source, list[datetime]] | OrderedDict[_Source, datetime], used: _Source
) -> None:
    remembered.move_to_end(used)
    while len(remembered) > _REMEMBERED:
        remembered.popitem(last=False)


def _say_wait(wait: timedelta) -> str:
    minutes = -int(-wait.total_seconds() // 60)
    return "in a minute" if minutes <= 1 else f"in {minutes} minutes"
