from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import TINY_SOLUTIONS, TINY_TASKS, run
from tests.conftest import ShareFolder


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def graded(share_folder: ShareFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two correct, an incorrect and a broken submission of the tiny task."""
    own = tmp_path_factory.mktemp("graded") / "of_this_worker"
    # Tests grade into it once more, so that every worker has its own.
    return shutil.copytree(share_folder("graded", _grade_tiny), own) / "grades.duckdb"


def _grade_tiny(folder: Path) -> None:
    (folder / "tiny_add").mkdir(exist_ok=True)
    for name in ("good_add.py", "good_add_swapped.py", "bad_multiplies.py", "bad_syntax.py"):
        shutil.copy(TINY_SOLUTIONS / name, folder / "tiny_add" / name)
    ended = run("grade", folder / "tiny_add", "--tasks", TINY_TASKS, "--db", folder / "grades.duckdb")
    assert ended.code == 0, ended.err


@pytest.fixture
def database(graded: Path, tmp_path: Path) -> Path:
    """A copy of that database, to change at will."""
    copy = tmp_path / "grades.duckdb"
    shutil.copy(graded, copy)
    shutil.copy(f"{graded}.journal.jsonl", f"{copy}.journal.jsonl")
    return copy
