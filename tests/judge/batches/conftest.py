from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.store import Store, open_store
from tests.judge.calls.fakes import write_models
from tests.judge.loopback.fixtures import loopback

__all__ = ["loopback"]


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that open nothing, and models at prices that are read off at a glance."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-a-key-that-opens-nothing")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-opens-nothing")
    monkeypatch.setenv("NKI_GRADER_MODELS", str(write_models(tmp_path)))


@pytest.fixture
def store(tmp_path: Path, empty_database: Path) -> Iterator[Store]:
    with open_store(shutil.copy(empty_database, tmp_path / "grades.duckdb")) as opened:
        yield opened


@pytest.fixture(params=("anthropic", "openai"))
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)
