"""Whatever kills the grader, the next run ends where an undisturbed one would have."""

from __future__ import annotations

import random
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.store import open_store
from tests.e2e.commands import TINY_SOLUTIONS, TINY_TASKS, copy_database, run, run_json
from tests.e2e.killer import DECISION_POINTS, POINTS

KILLER = "tests.e2e.killer:install"
NO_REPORT = "tests.e2e.killer:leave_out_report"
REVIEWED = "good_add.py"
ENDLESS = "bad_endless.py"

pytestmark = pytest.mark.slow


def canonical_hash(db: Path) -> str:
    with open_store(db, read_only=True) as store:
        return store.canonical_hash()


def grade_arguments(db: Path) -> list[str | Path]:
    return ["grade", TINY_SOLUTIONS, "--tasks", TINY_TASKS, "--db", db]


def finish(db: Path, *arguments: str) -> None:
    done = run(*grade_arguments(db), *arguments, patch=NO_REPORT)
    assert done.returncode == 0, done.stderr


def decide_arguments(db: Path, review_id: str) -> list[str | Path]:
    return [
        "review", "decide", review_id, "--db", db, "--reviewer", "ada",
        "--level", "judgement=3", "--comment", "explained well",
    ]  # fmt: skip


def kill_at(point: str, count: int, *arguments: str | Path) -> None:
    killed = run(*arguments, patch=KILLER, plan={"point": point, "count": count})
    assert killed.returncode == -signal.SIGKILL, killed.stderr


def kill_after(seconds: float, *arguments: str | Path) -> None:
    with suppress(subprocess.TimeoutExpired):
        run(*arguments, timeout=seconds)


@dataclass(frozen=True)
class Undisturbed:
    """What comes of grading, and of one decision on top of it, when nothing is killed."""

    graded: Path
    review_id: str
    hash_graded: str
    hash_decided: str


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    graded, decided = folder / "graded.duckdb", folder / "decided.duckdb"
    finish(graded)
    reviews = run_json("review", "list", "--db", graded)
    chosen = next(review for review in reviews if review["grading"]["origin"].endswith(REVIEWED))
    review_id = chosen["review"]["id"]
    copy_database(graded, decided)
    done = run(*decide_arguments(decided, review_id))
    assert done.returncode == 0, done.stderr
    assert canonical_hash(decided) != canonical_hash(graded)
    return Undisturbed(graded, review_id, canonical_hash(graded), canonical_hash(decided))


@dataclass(frozen=True)
class Begun:
    """A database in which the one submission that takes its time is graded, and what it comes to."""

    db: Path
    hash_graded: str


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    folder = tmp_path_factory.mktemp("begun")
    begun, graded = folder / "begun.duckdb", folder / "graded.duckdb"
    done = run("grade", TINY_SOLUTIONS / ENDLESS, "--tasks", TINY_TASKS, "--db", begun)
    assert done.returncode == 0, done.stderr
    copy_database(begun, graded)
    finish(graded)
    return Begun(begun, canonical_hash(graded))


@pytest.mark.parametrize("point", POINTS)
def test_grading_killed_at_a_stage_boundary_or_inside_a_stage_ends_as_if_undisturbed(
    point: str, tmp_path: Path, begun: Begun
) -> None:
    db = tmp_path / "grader.duckdb"
    copy_database(begun.db, db)
    count = 1 if point.startswith(("close_batch", "snapshot")) else 2
    # One worker has as many submissions in flight as two, and is started in half the time.
    kill_at(point, count, *grade_arguments(db), "--workers", "1")
    finish(db, "--workers", "1")
    assert canonical_hash(db) == begun.hash_graded


@pytest.mark.parametrize("point", DECISION_POINTS)
def test_a_decision_killed_at_any_step_is_either_refused_or_kept_whole(
    point: str, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    db = tmp_path / "grader.duckdb"
    copy_database(undisturbed.graded, db)
    arguments = decide_arguments(db, undisturbed.review_id)
    kill_at(point, 1, *arguments)
    run(*arguments)
    finish(db)
    assert canonical_hash(db) == undisturbed.hash_decided


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_a_random_moment_it_ends_as_if_undisturbed(
    seed: int, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    db = tmp_path / "grader.duckdb"
    moments = random.Random(seed)
    kill_after(moments.uniform(0.0, 3.0), *grade_arguments(db))
    finish(db)
    assert canonical_hash(db) == undisturbed.hash_graded
    arguments = decide_arguments(db, undisturbed.review_id)
    kill_after(moments.uniform(0.0, 0.6), *arguments)
    run(*arguments)
    finish(db)
    assert canonical_hash(db) == undisturbed.hash_decided
