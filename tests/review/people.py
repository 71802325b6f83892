"""People at the desk, and a clock that stands until it is moved."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline.store import Store, open_store
from pipeline.types import Account, Role

ANNA = Account(name="anna", role=Role.REVIEWER)
BEN = Account(name="ben", role=Role.REVIEWER)
CARLA = Account(name="carla", role=Role.ADJUDICATOR)
DORA = Account(name="dora", role=Role.LEAD)
VERA = Account(name="vera", role=Role.VIEWER)

PASSWORD = "four words of nonsense"

#: A Monday noon.
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, **time: float) -> None:
        """Move by so many seconds, minutes, hours or days."""
        self.now += timedelta(**time)


@contextmanager
def open_copy(empty_database: Path, folder: Path) -> Iterator[Store]:
    """Open an empty store of one's own."""
    shutil.copy(empty_database, folder / "desk.duckdb")
    with open_store(folder / "desk.duckdb") as store:
        yield store
