"""Whatever kills the grader, the next run ends where an undisturbed one would have."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.store import open_store
from tests.e2e.commands import TINY_SOLUTIONS, TINY_TASKS, command, environment, grade_tiny, run, run_json
from tests.e2e.killer import DECISION_POINTS, POINTS

KILLER = Path(__file__).with_name("killer.py")
REVIEWED = "good_add.py"


def canonical_hash(db: Path) -> str:
    with open_store(db, read_only=True) as store:
        return store.canonical_hash()


def decide_arguments(db: Path) -> list[str | Path]:
    reviews = run_json("review", "list", "--db", db)
    chosen = next(review for review in reviews if review["grading"]["origin"].endswith(REVIEWED))
    return [
        "review", "decide", chosen["review"]["id"], "--db", db, "--reviewer", "ada",
        "--level", "judgement=3", "--comment", "explained well",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Hashes after grading, and after one decision on top of it, with nothing killed."""
    db = tmp_path_factory.mktemp("undisturbed") / "grader.duckdb"
    assert grade_tiny(db).returncode == 0
    graded = canonical_hash(db)
    decided = run(*decide_arguments(db))
    assert decided.returncode == 0, decided.stderr
    assert canonical_hash(db) != graded
    return graded, canonical_hash(db)


def run_killer(point: str, count: int, *arguments: str | Path) -> int:
    process = subprocess.run(
        [sys.executable, str(KILLER), point, str(count), *map(str, arguments)],
        env=environment() | {"PYTHONPATH": str(KILLER.parents[2])},
        capture_output=True,
        timeout=240,
        check=False,
    )
    return process.returncode


def grade_arguments(db: Path) -> list[str | Path]:
    return ["grade", TINY_SOLUTIONS, "--tasks", TINY_TASKS, "--db", db]


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_grading_killed_at_a_stage_boundary_or_inside_a_stage_ends_as_if_undisturbed(
    point: str, tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    db = tmp_path / "grader.duckdb"
    count = 1 if point.startswith(("close_batch", "snapshot")) else 2
    assert run_killer(point, count, *grade_arguments(db)) == -signal.SIGKILL
    resumed = grade_tiny(db)
    assert resumed.returncode == 0, resumed.stderr
    assert canonical_hash(db) == undisturbed[0]


@pytest.mark.slow
@pytest.mark.parametrize("point", DECISION_POINTS)
def test_a_decision_killed_at_any_step_is_either_refused_or_kept_whole(
    point: str, tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    db = tmp_path / "grader.duckdb"
    assert grade_tiny(db).returncode == 0
    arguments = decide_arguments(db)
    assert run_killer(point, 1, *arguments) == -signal.SIGKILL
    run(*arguments)
    assert grade_tiny(db).returncode == 0
    assert canonical_hash(db) == undisturbed[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_killed_at_a_random_moment_it_ends_as_if_undisturbed(
    seed: int, tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    db = tmp_path / "grader.duckdb"
    moments = random.Random(seed)
    kill_after(moments.uniform(0.3, 5.0), *grade_arguments(db))
    resumed = grade_tiny(db)
    assert resumed.returncode == 0, resumed.stderr
    assert canonical_hash(db) == undisturbed[0]
    arguments = decide_arguments(db)
    kill_after(moments.uniform(0.3, 3.0), *arguments)
    run(*arguments)
    assert grade_tiny(db).returncode == 0
    assert canonical_hash(db) == undisturbed[1]


def kill_after(seconds: float, *arguments: str | Path) -> None:
    process = subprocess.Popen(
        command(*arguments), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.wait()
