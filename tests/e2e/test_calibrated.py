"""From graded solutions and constructed labels to a report, and to grades that still nothing lets stand."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from pipeline.library.roots import tasks_root
from pipeline.routing.calibration_result import NOT_EVIDENCE
from tests.e2e.commands import run

#: A task that is graded quickly; its good solutions close no gate, so that the rules judge drafts them.
TASK = "rmsnorm"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of shipped good solutions, and a database in which they are graded."""
    folder = tmp_path_factory.mktemp("calibrated")
    (folder / "in" / TASK).mkdir(parents=True)
    for solution in (tasks_root() / TASK / "solutions").glob("good_*.py"):
        shutil.copy(solution, folder / "in" / TASK / solution.name)
    db = folder / "grades.duckdb"
    completed = run("grade", folder / "in", "--db", db)
    assert completed.returncode == 0, completed.stderr
    return folder / "in", db


def test_constructed_labels_go_all_the_way_and_let_nothing_stand(
    graded: tuple[Path, Path], tmp_path: Path
) -> None:
    submissions, db = graded
    report, data = tmp_path / "calibration.html", tmp_path / "calibration.json"
    ended = run("calibrate", "--constructed", "--db", db, "--report", report, "--json", data)
    assert ended.returncode == 3, ended.stderr
    assert NOT_EVIDENCE in ended.stdout
    # So few can promise nothing, whether or not chance gave one of them to the fit split, and it says so.
    assert "Accept nothing: there are no probabilities to go by, " in ended.stdout
    html = report.read_text(encoding="utf-8")
    assert NOT_EVIDENCE in html
    assert "too few" in html
    assert not re.search(r"\b(nan|NaN|inf)\b", html)
    scopes = json.loads(data.read_text())
    assert scopes
    assert all(scope["constructed"] and scope["note"] == NOT_EVIDENCE for scope in scopes)

    again = run("grade", submissions, "--db", db, "--json")
    assert again.returncode == 0, again.stderr
    routes = {row["destination"] for row in json.loads(again.stdout)["gradings"]}
    assert routes == {"review"}

    listed = run("certificates", "list", "--db", db, "--json")
    kept = json.loads(listed.stdout)
    assert kept
    assert {row["state"] for row in kept} == {"refused"}
    assert all(row["certificate"]["constructed"] for row in kept)


def test_a_dry_run_touches_no_label_that_certifies(graded: tuple[Path, Path], tmp_path: Path) -> None:
    _, graded_db = graded
    db = tmp_path / "grades.duckdb"
    shutil.copy(graded_db, db)
    shutil.copy(f"{graded_db}.journal.jsonl", f"{db}.journal.jsonl")
    before = run("certificates", "list", "--db", db, "--json").stdout
    ended = run("calibrate", "--constructed", "--dry-run", "--db", db)
    assert ended.returncode == 0, ended.stderr
    assert "Dry run: nothing is in force" in ended.stdout
    assert run("certificates", "list", "--db", db, "--json").stdout == before
