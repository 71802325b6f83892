"""What an earlier release left behind goes on under this one."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tests.e2e.commands import decide, grade_tiny, run_json

RELEASES = Path(__file__).parents[1] / "fixtures" / "releases"


@pytest.fixture(params=sorted(RELEASES.glob("*.duckdb.gz")), ids=lambda path: path.name)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A database as a release left it, with its journal."""
    packed: Path = request.param
    db = tmp_path / "grader.duckdb"
    with gzip.open(packed) as source, db.open("wb") as target:
        shutil.copyfileobj(source, target)
    shutil.copy(packed.with_name(packed.name.removesuffix(".gz") + ".journal.jsonl"), f"{db}.journal.jsonl")
    return db


def test_a_thread_that_waited_under_an_earlier_release_resumes_under_this_one(database: Path) -> None:
    waiting = run_json("review", "list", "--db", database)
    assert waiting
    chosen = waiting[0]
    level = ("--level", "judgement=3", "--comment", "well explained")
    decided = decide(database, chosen["review"]["id"], *level)
    assert decided.returncode == 0, decided.stderr
    grade = run_json("show", chosen["grading"]["grading_id"], "--db", database)["grade"]
    assert grade["decided_by"] == "ada"
    assert {score["criterion"]: score["level"] for score in grade["scores"]}["judgement"] == 3


def test_submissions_of_an_earlier_release_can_be_graded_again(database: Path) -> None:
    assert grade_tiny(database).returncode == 0
