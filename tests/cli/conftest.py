from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import TINY_SOLUTIONS, TINY_TASKS, run


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two correct, an incorrect and a broken submission of the tiny task."""
    folder = tmp_path_factory.mktemp("graded")
    for name in ("good_add.py", "good_add_swapped.py", "bad_multiplies.py", "bad_syntax.py"):
        (folder / "tiny_add").mkdir(exist_ok=True)
        shutil.copy(TINY_SOLUTIONS / name, folder / "tiny_add" / name)
    database = folder / "grades.duckdb"
    ended = run("grade", folder / "tiny_add", "--tasks", TINY_TASKS, "--db", database)
    assert ended.code == 0, ended.err
    return database


@pytest.fixture
def database(graded: Path, tmp_path: Path) -> Path:
    """A copy of that database, to change at will."""
    copy = tmp_path / "grades.duckdb"
    shutil.copy(graded, copy)
    shutil.copy(f"{graded}.journal.jsonl", f"{copy}.journal.jsonl")
    return copy
