"""The main job on real input: a folder of submissions in; database, feedback, queue and report out."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.library.lock import lock_new_versions
from pipeline.library.roots import tasks_root
from pipeline.store import open_store
from pipeline.store.ownership import read_owner
from tests.e2e.commands import (
    ROOT,
    TINY_SOLUTIONS,
    TINY_TASKS,
    command,
    copy_database,
    decide,
    environment,
    grade_tiny,
    run,
    run_json,
)

SHIPPED = sorted(tasks_root().glob("*/solutions"))


def canonical_hash(db: Path) -> str:
    with open_store(db, read_only=True) as store:
        return store.canonical_hash()


def stage_counts(db: Path) -> dict[str, int]:
    with duckdb.connect(str(db), read_only=True) as connection:
        return dict(connection.execute("SELECT stage, count(*) FROM stages GROUP BY stage").fetchall())


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the tiny task's solutions graded."""
    db = tmp_path_factory.mktemp("graded") / "grader.duckdb"
    completed = grade_tiny(db)
    assert completed.returncode == 0, completed.stderr
    return db


@pytest.mark.slow
def test_every_shipped_solution_gets_the_verdict_its_task_declares(shipped: Path) -> None:
    output = (shipped / "output.txt").read_text()
    match = re.search(r"(\d+) of (\d+) verdicts as expected", output)
    assert match, output
    assert match[1] == match[2]
    assert int(match[2]) >= 16
    assert (shipped / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert "nki-grader review list" in output


def test_grading_the_same_again_does_no_work_and_changes_nothing(graded: Path) -> None:
    before, stages = canonical_hash(graded), stage_counts(graded)
    again = grade_tiny(graded, "--json")
    assert again.returncode == 0
    assert '"computed": 0' in again.stdout
    assert canonical_hash(graded) == before
    assert stage_counts(graded) == stages


def test_another_rubric_version_repeats_judging_and_nothing_before(graded: Path, tmp_path: Path) -> None:
    db = tmp_path / "grader.duckdb"
    copy_database(graded, db)
    before = stage_counts(db)
    rubrics = tmp_path / "rubrics"
    shutil.copytree(ROOT / "rubrics", rubrics)
    first = rubrics / "performance_quality" / "v1.toml"
    changed = first.read_text().replace('version = "v1"', 'version = "v2"')
    (rubrics / "performance_quality" / "v2.toml").write_text(changed)
    lock_new_versions(rubrics, ".toml")
    completed = grade_tiny(db, "--rubrics", rubrics, "--rubric", "performance_quality=v2")
    assert completed.returncode == 0, completed.stderr
    after = stage_counts(db)
    assert {stage: after[stage] - before[stage] for stage in ("build", "run", "profile", "inspect")} == {
        "build": 0,
        "run": 0,
        "profile": 0,
        "inspect": 0,
    }
    assert after["judge"] == 2 * before["judge"]


def test_a_decision_in_another_process_resumes_the_waiting_thread(graded: Path, tmp_path: Path) -> None:
    db = tmp_path / "grader.duckdb"
    copy_database(graded, db)
    review = run_json("review", "list", "--db", db)[0]
    decided = decide(db, review["review"]["id"])
    assert decided.returncode == 0, decided.stderr
    shown = run_json("show", review["grading"]["grading_id"], "--db", db)
    assert shown["grade"]["decided_by"] == "ada"


def test_an_invalid_decision_is_refused_and_the_thread_still_waits(graded: Path) -> None:
    review = run_json("review", "list", "--db", graded)[0]
    refused = decide(graded, review["review"]["id"], "--level", "no_such_criterion=3")
    assert refused.returncode == 2
    assert "no_such_criterion" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert review["review"]["id"] in {r["review"]["id"] for r in run_json("review", "list", "--db", graded)}


def test_deleting_every_checkpoint_loses_nothing(graded: Path, tmp_path: Path) -> None:
    db = tmp_path / "grader.duckdb"
    copy_database(graded, db)
    with duckdb.connect(str(db)) as connection:
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%checkpoint%'"
        ).fetchall()
        assert tables
        for (table,) in tables:
            connection.execute(f'DELETE FROM "{table}"')
    review = run_json("review", "list", "--db", db)[0]
    decided = decide(db, review["review"]["id"])
    assert decided.returncode == 0, decided.stderr
    assert run_json("show", review["grading"]["grading_id"], "--db", db)["grade"]["decided_by"] == "ada"


@pytest.mark.slow
def test_show_and_decide_work_while_a_batch_writes(graded: Path, tmp_path: Path) -> None:
    db = tmp_path / "grader.duckdb"
    copy_database(graded, db)
    review = run_json("review", "list", "--db", db)[0]
    before = count_stages(db)
    batch = subprocess.Popen(
        command("grade", SHIPPED[0], "--db", db),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for_stages(db, before + 1, batch)
        assert batch.poll() is None
        shown = run("show", review["grading"]["grading_id"], "--db", db)
        assert shown.returncode == 0, shown.stderr
        decided = decide(db, review["review"]["id"])
        assert decided.returncode == 0, decided.stderr
    finally:
        _, errors = batch.communicate(timeout=240)
    assert batch.returncode == 0, errors
    assert run_json("show", review["grading"]["grading_id"], "--db", db)["grade"]["decided_by"] == "ada"


@pytest.mark.slow
def test_ctrl_c_in_the_middle_keeps_what_is_done_and_the_same_command_goes_on(
    graded: Path, tmp_path: Path
) -> None:
    db = tmp_path / "grader.duckdb"
    process = subprocess.Popen(
        command("grade", TINY_SOLUTIONS, "--tasks", TINY_TASKS, "--db", db),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_stages(db, 1, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command" in errors
    assert grade_tiny(db).returncode == 0
    assert canonical_hash(db) == canonical_hash(graded)


def count_stages(db: Path) -> int:
    with open_store(db, read_only=True) as store:
        return store.count_stages()


def wait_for_stages(db: Path, count: int, owner: subprocess.Popen[Any]) -> None:
    """Wait until there are `count` stages in the database, which `owner` has open."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        # Whoever looked before would own it instead.
        if (read_owner(db) or (0,))[0] == owner.pid and count_stages(db) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("the batch never finished a stage")


def test_the_same_code_under_two_names_is_graded_once_and_listed_under_both(tmp_path: Path) -> None:
    folder = tmp_path / "tiny_add"
    folder.mkdir()
    for name in ("one.py", "two.py"):
        shutil.copy(TINY_SOLUTIONS / "good_add.py", folder / name)
    printed = run_json("grade", folder, "--tasks", TINY_TASKS, "--db", tmp_path / "g.duckdb")
    assert printed["total"] == 1
    assert [Path(grading["origin"]).name for grading in printed["gradings"]] == ["one.py", "two.py"]
    plain = run("grade", folder, "--tasks", TINY_TASKS, "--db", tmp_path / "g.duckdb")
    assert "one.py" in plain.stdout
    assert "two.py" in plain.stdout
