"""Bad input gets one clear line or a verdict with the right owner, and harms nobody else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.commands import (
    TINY_SOLUTIONS,
    TINY_TASKS,
    command,
    environment,
    grade_tiny,
    run,
    run_json,
)

GOOD = (TINY_SOLUTIONS / "good_add.py").read_text()

#: File content, the verdict it gets, and a word that its fault's message must contain.
SUBMISSIONS: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "compile_error", "empty"),
    "binary": (b"\x7fELF\x00\x01\x02", "compile_error", "binary"),
    "not_utf8": ("# caf\xe9\n".encode("latin-1") + GOOD.encode(), "compile_error", "UTF-8"),
    "five_megabytes": (b"#" * (5 << 20), "too_large", "256"),
    "syntax_error": (b"def kernel(x, y:\n    return x\n", "compile_error", "line"),
    "missing_entry": (GOOD.replace("def kernel", "def kernels").encode(), "compile_error", "kernel"),
    "wrong_signature": (GOOD.replace("kernel(x, y)", "kernel(x)").encode(), "compile_error", "kernel"),
    "endless_import": (b"while True:\n    pass\n", "timeout", "2 s"),
    "exits": (b"import os\nos._exit(0)\n" + GOOD.encode(), "runtime_error", "exit"),
    "ten_gigabytes": (b"hoard = bytearray(10 << 30)\n" + GOOD.encode(), "too_large", "memory"),
    "raises": (
        GOOD.replace("    out = ", "    1 / 0\n    out = ").encode(),
        "runtime_error",
        "ZeroDivisionError",
    ),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Every bad submission and a good one, graded together."""
    folder = tmp_path_factory.mktemp("bad") / "tiny_add"
    folder.mkdir()
    for name, (content, _, _) in SUBMISSIONS.items():
        (folder / f"{name}.py").write_bytes(content)
    (folder / "endless_printing.py").write_text("while True:\n    print('x' * 1000)\n")
    (folder / "good.py").write_text(GOOD)
    db = folder.parent / "grader.duckdb"
    completed = run("grade", folder, "--task", "tiny_add", "--tasks", TINY_TASKS, "--db", db, "--json")
    assert completed.returncode == 0, completed.stderr
    gradings = _gradings(completed.stdout)
    return {
        Path(grading["origin"]).stem: run_json("show", grading["grading_id"], "--db", db)
        for grading in gradings
    }


def _gradings(printed: str) -> list[dict[str, Any]]:
    import json

    return list(json.loads(printed)["gradings"])


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_a_bad_submission_gets_its_verdict_and_a_fault_that_is_its_own(
    name: str, results: dict[str, dict[str, Any]]
) -> None:
    _, verdict, word = SUBMISSIONS[name]
    shown = results[name]
    assert shown["verdict"] == verdict
    fault = shown["inspection"]["fault"]
    assert fault["owner"] == "submission"
    assert word in str(fault)
    assert "\n" not in fault["message"]


def test_endless_printing_is_stopped_and_bounded(results: dict[str, dict[str, Any]]) -> None:
    shown = results["endless_printing"]
    assert shown["verdict"] in ("timeout", "too_large")
    assert shown["inspection"]["fault"]["owner"] == "submission"
    assert len(shown["build"]["log"]) <= 70_000


def test_the_good_submission_beside_them_is_unharmed(results: dict[str, dict[str, Any]]) -> None:
    assert results["good"]["verdict"] == "correct"
    assert results["good"]["inspection"]["fault"] is None


def one_line(errors: str) -> str:
    lines = errors.strip().splitlines()
    assert len(lines) == 1, errors
    return lines[0]


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    completed = run("grade", tmp_path / "nowhere", "--db", tmp_path / "g.duckdb")
    assert completed.returncode == 2
    assert "nowhere" in one_line(completed.stderr)
    assert not (tmp_path / "g.duckdb").exists()


def test_an_unknown_task_is_named_with_those_there_are(tmp_path: Path) -> None:
    completed = run(
        "grade", TINY_SOLUTIONS, "--task", "no_such", "--tasks", TINY_TASKS, "--db", tmp_path / "g.duckdb"
    )
    assert completed.returncode == 2
    line = one_line(completed.stderr)
    assert "no_such" in line
    assert "tiny_add" in line


@pytest.fixture
def task_copy(tmp_path: Path) -> Path:
    shutil.copytree(TINY_TASKS, tmp_path / "tasks")
    return tmp_path / "tasks" / "tiny_add"


def test_a_broken_task_file_names_file_key_and_remedy(task_copy: Path, tmp_path: Path) -> None:
    file = task_copy / "task.toml"
    file.write_text(file.read_text().replace('kind = "scored"', 'kind = "scorde"'))
    completed = run("grade", TINY_SOLUTIONS, "--tasks", task_copy.parent, "--db", tmp_path / "g.duckdb")
    assert completed.returncode == 2
    line = one_line(completed.stderr)
    assert "task.toml" in line
    assert "cases" in line
    assert "scorde" in line


def test_a_reference_that_hangs_is_the_tasks_fault_and_the_submission_is_held(
    task_copy: Path, tmp_path: Path
) -> None:
    (task_copy / "reference.py").write_text(
        "def make_inputs(rng, axes, case):\n    while True:\n        pass\n\n\n"
        "def reference(inputs, axes):\n    return {}\n"
    )
    file = task_copy / "task.toml"
    file.write_text(file.read_text().replace("wall_seconds = 2.0", "wall_seconds = 2.0\nrun_seconds = 1.0"))
    db = tmp_path / "g.duckdb"
    completed = run(
        "grade", TINY_SOLUTIONS / "good_add.py", "--task", "tiny_add", "--tasks", task_copy.parent,
        "--db", db, "--json",
    )  # fmt: skip
    (grading,) = _gradings(completed.stdout)
    assert grading["state"] == "held"
    assert "reference.py did not finish within 1 s" in grading["reason"]


def test_a_read_only_folder_is_one_clear_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    completed = grade_tiny(blocked / "g.duckdb")
    assert completed.returncode == 2
    assert str(blocked) in one_line(completed.stderr)


def test_an_unwritable_folder_is_one_clear_line() -> None:
    # Not even root can create a file there.
    completed = grade_tiny(Path("/proc/grader.duckdb"), "--report", "/tmp/never-written.html")
    assert completed.returncode != 0
    assert "/proc" in one_line(completed.stderr)
    assert not Path("/tmp/never-written.html").exists()


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    db = tmp_path / "notes.duckdb"
    db.write_text("these are my notes, not a database" * 100)
    completed = grade_tiny(db)
    assert completed.returncode == 2
    assert "not a DuckDB database" in one_line(completed.stderr)
    assert db.read_text().startswith("these are my notes")


def test_a_full_standard_output_is_one_clear_line() -> None:
    with Path("/dev/full").open("w") as full:
        completed = subprocess.run(
            command("tasks", "list"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            check=False,
        )
    assert completed.returncode == 1
    assert "No space left on device" in one_line(completed.stderr)


def test_a_reader_that_has_seen_enough_is_told_nothing() -> None:
    with subprocess.Popen(
        command("tasks", "list", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_closed_standard_output_is_never_the_database(tmp_path: Path) -> None:
    db = tmp_path / "g.duckdb"
    grade = command("grade", TINY_SOLUTIONS / "good_add.py", "--tasks", TINY_TASKS, "--db", db)
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *grade],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        check=False,
    )
    assert (closed.returncode, closed.stderr) == (0, "")
    (waiting,) = run_json("review", "list", "--db", db)
    assert waiting["decision"] is None
