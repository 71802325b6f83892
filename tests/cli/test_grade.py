"""``grade``: real submissions through the whole pipeline."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import TINY_SOLUTIONS, TINY_TASKS, Ended, run
from tests.e2e.commands import copy_database

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def again(graded: Path) -> Ended:
    """The same grading once more."""
    return run("grade", graded.parent / "tiny_add", "--tasks", TINY_TASKS, "--db", graded)


def test_each_submission_is_one_row_with_its_verdict_beside_the_expected_one(again: Ended) -> None:
    rows = {line.split()[1]: line.split()[2:5] for line in again.out.splitlines() if line.startswith("g-")}
    assert rows == {
        "good_add.py": ["tiny_add", "✓", "correct"],
        "good_add_swapped.py": ["tiny_add", "✓", "correct"],
        "bad_multiplies.py": ["tiny_add", "✓", "incorrect"],
        "bad_syntax.py": ["tiny_add", "✓", "compile_error"],
    }
    assert "4 of 4 verdicts as expected" in again.out


def test_the_second_run_works_on_nothing_and_says_so(again: Ended) -> None:
    assert again.code == 0
    assert "(0 worked on now, 4 unchanged)" in again.out


def test_report_and_queue_are_named(graded: Path, again: Ended) -> None:
    report = graded.with_name("grades.report.html")
    assert f"Report: {report}\n" in again.out
    assert f"Queue:  nki-grader review list --db {graded}\n" in again.out
    assert f"Desk:   nki-grader serve --db {graded}\n" in again.out
    assert report.read_text().startswith("<!DOCTYPE html>")


def test_the_id_of_a_row_shows_its_grading(graded: Path, again: Ended) -> None:
    (line,) = [line for line in again.out.splitlines() if "bad_syntax.py" in line]
    assert "bad_syntax.py" in run("show", line.split()[0], "--db", graded).out


def test_submissions_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder, code in (("a", "def kernel(:\n"), ("b", "def kernel(::\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.py").write_text(code)
    given = (tmp_path / "a", tmp_path / "b", "--task", "tiny_add", "--tasks", TINY_TASKS)
    ended = run("grade", *given, "--db", tmp_path / "g.duckdb")
    assert f" {tmp_path}/a/k.py " in ended.out
    assert f" {tmp_path}/b/k.py " in ended.out


def test_who_wrote_it_is_told_to_whoever_holds_the_database(graded: Path, tmp_path: Path) -> None:
    copy_database(graded, tmp_path / "g.duckdb")
    where = ("--tasks", TINY_TASKS, "--db", tmp_path / "g.duckdb")
    row = {"task": "tiny_add", "code": (TINY_SOLUTIONS / "good_add.py").read_text(), "author": "model 7"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row | {"author": "a\nb"}) + "\n")
    ended = run(
        "grade", tmp_path / "rows.jsonl", graded.parent / "tiny_add", *where, "--author", "zoe", "--json"
    )
    assert ended.data["computed"] == 0, "nothing is graded again for it"
    authors = {Path(row["origin"]).name: row["author"] for row in ended.data["gradings"]}
    assert authors["rows.jsonl:1"] == authors["good_add.py"] == "model 7", "equal code is one submission"
    assert authors["good_add_swapped.py"] == "zoe"
    assert (
        "'author' is no name of 1 to 200 printable characters"
        in ended.data["rejections"][0]["fault"]["message"]
    )
    shown = run("show", ended.data["gradings"][0]["grading_id"], *where[2:])
    assert re.search(r"^author +model 7$", shown.out, re.MULTILINE)
    again = run(
        "grade",
        graded.parent / "tiny_add",
        *where[:2],
        "--author",
        "zoe\x1b[2J",
        "--db",
        tmp_path / "none.duckdb",
    )
    assert (again.code, again.out, (tmp_path / "none.duckdb").exists()) == (2, "", False)
    assert "--author: no name of 1 to 200 printable characters on one line" in again.err


def test_json_holds_what_the_table_shows(graded: Path) -> None:
    ended = run("grade", graded.parent / "tiny_add", "--tasks", TINY_TASKS, "--db", graded, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert (ended.data["total"], ended.data["computed"], ended.data["interrupted"]) == (4, 0, False)
    verdicts = {Path(row["origin"]).name: (row["verdict"], row["expected"]) for row in ended.data["gradings"]}
    assert verdicts["bad_syntax.py"] == ("compile_error", "compile_error")
    assert all(row["as_expected"] for row in ended.data["gradings"])


def test_a_verdict_that_differs_from_the_expected_one_is_exit_code_3(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(TINY_TASKS / "tiny_add", tasks / "tiny_add")
    description = tasks / "tiny_add" / "task.toml"
    description.write_text(
        description.read_text().replace('"bad_syntax.py" = "compile_error"', '"bad_syntax.py" = "timeout"')
    )
    ended = run(
        "grade",
        tasks / "tiny_add" / "solutions" / "bad_syntax.py",
        "--tasks",
        tasks,
        "--db",
        tmp_path / "g.duckdb",
    )
    assert ended.code == 3
    assert "✗ compile_error, expected timeout" in ended.out
    assert "0 of 1 verdicts as expected" in ended.out


def test_rejected_inputs_are_listed_with_the_reason_and_harm_nobody(tmp_path: Path) -> None:
    rows = [
        {"task": "tiny_add", "code": (TINY_SOLUTIONS / "bad_syntax.py").read_text()},
        {"task": "no_such_task", "code": "x"},
    ]
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = run("grade", source, "--tasks", TINY_TASKS, "--db", tmp_path / "g.duckdb")
    assert ended.code == 0
    assert "1 submission: 1 graded, 0 waiting for a person, 0 held, 1 rejected" in ended.out
    assert "rows.jsonl:2" in ended.out
    assert "no_such_task" in ended.out


def test_a_command_whose_every_input_is_rejected_is_bad_input(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("x = 1\n")
    ended = run("grade", kernel, "--tasks", TINY_TASKS, "--db", tmp_path / "g.duckdb")
    assert ended.code == 2
    assert ended.out.startswith("rejected: ")
    assert ended.err == "error: there was nothing to grade: every input was rejected\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--task", "nothing"), "no task is called 'nothing'"),
        (("--judge", "nobody"), "there is no judge 'nobody'"),
        (("--rubric", "nothing=v1"), "nothing"),
        (("--report", "/does/not/exist/r.html"), "there is no folder /does/not/exist"),
        (("--target", "trn9"), "trn9"),
    ],
)
def test_a_bad_option_is_one_line_and_leaves_nothing_graded(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    database = tmp_path / "g.duckdb"
    ended = run(
        "grade", TINY_SOLUTIONS / "bad_syntax.py", "--tasks", TINY_TASKS, "--db", database, *arguments
    )
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert message in ended.err
    assert not (tmp_path / "g.report.html").exists()


def test_a_database_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    ended = run("grade", TINY_SOLUTIONS, "--tasks", TINY_TASKS, "--db", tmp_path / "no" / "g.duckdb")
    assert (ended.code, ended.out) == (2, "")
    assert f"there is no folder {tmp_path / 'no'}" in ended.err


def test_what_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "notes.txt"
    database.write_text("notes")
    ended = run("grade", TINY_SOLUTIONS, "--tasks", TINY_TASKS, "--db", database)
    assert (ended.code, ended.out) == (2, "")
    assert "this is not a DuckDB database" in ended.err
    assert database.read_text() == "notes"
