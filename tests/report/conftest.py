from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.report.collect import Detail
from pipeline.store import Store, open_store
from tests.report.examples import fill, load


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A database with the batch of `tests.report.examples`."""
    path: Path = tmp_path_factory.mktemp("report") / "grades.duckdb"
    with open_store(path) as opened:
        fill(opened)
        yield opened


@pytest.fixture
def detail(store: Store) -> Detail:
    """A correct submission that waits for a person: one criterion scored, one not."""
    return load(store, "correct")
