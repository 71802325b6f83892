"""A store and a desk over it, whose clock tests set."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import DeskSettings
from tests.review.desk_examples import PLAIN, Clock, copy_store

OpenDesk = Callable[..., Desk]


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Iterator[Store]:
    with copy_store(empty_database, tmp_path) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_desk(store: Store, clock: Clock) -> OpenDesk:
    """Opens a desk over the store, with nothing left to chance unless settings say so."""

    def open_one(settings: DeskSettings = PLAIN) -> Desk:
        store.desk.save_record("settings", "desk", settings)
        return Desk(store, clock=clock, chance=random.Random(7))

    return open_one
