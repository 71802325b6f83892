from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.store import Store, open_store
from tests.judge.calls.case import Case, CaseMaker
from tests.judge.calls.fakes import write_models


@pytest.fixture(autouse=True)
def known_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The models of the tests are known, at prices that are read off at a glance."""
    monkeypatch.setenv("NKI_GRADER_MODELS", str(write_models(tmp_path)))


@pytest.fixture
def store(tmp_path: Path, empty_database: Path) -> Iterator[Store]:
    with open_store(shutil.copy(empty_database, tmp_path / "grades.duckdb")) as opened:
        yield opened


@pytest.fixture
def case(store: Store) -> CaseMaker:
    return lambda *script, **setup: Case(store, *script, **setup)
