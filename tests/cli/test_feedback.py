"""``nki-grader feedback``: to standard output or a file, in three formats, by any name of a grading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import TINY_TASKS, run

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def rows(graded: Path) -> dict[str, dict[str, Any]]:
    ended = run("grade", graded.parent / "tiny_add", "--tasks", TINY_TASKS, "--db", graded, "--json")
    return {Path(row["origin"]).stem: row for row in ended.data["gradings"]} | {
        "batch": {"id": ended.data["batch"]}
    }


def test_plain_text_is_the_default(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    name = rows["bad_syntax"]["grading_id"]
    plain = run("feedback", name, "--db", graded)
    assert (plain.code, plain.err) == (0, "")
    assert plain.out.startswith("Feedback: ")
    assert "It does not compile." in plain.out
    assert plain.out == run("feedback", name, "--db", graded, "--format", "text").out


@pytest.mark.parametrize(("form", "start"), [("md", "# Feedback: "), ("html", "<!DOCTYPE html>")])
def test_the_format_is_chosen(graded: Path, rows: dict[str, dict[str, Any]], form: str, start: str) -> None:
    ended = run("feedback", rows["good_add"]["grading_id"], "--db", graded, "--format", form)
    assert ended.code == 0
    assert ended.out.startswith(start)


def test_a_format_that_does_not_exist_is_refused(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    ended = run("feedback", rows["good_add"]["grading_id"], "--db", graded, "--format", "pdf")
    assert (ended.code, ended.out) == (2, "")
    assert "'text', 'md', 'html'" in ended.err


def test_every_name_of_a_grading_gives_the_same(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    row = rows["good_add"]
    given = {
        run("feedback", name, "--db", graded).out
        for name in (row["grading_id"], row["submission_id"], row["review_id"], row["grading_id"][:10])
    }
    assert len(given) == 1


def test_a_file_gets_what_standard_output_would(
    graded: Path, rows: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    name, output = rows["good_add"]["grading_id"], tmp_path / "out.md"
    ended = run("feedback", name, "--db", graded, "--format", "md", "--output", output)
    assert (ended.code, ended.out) == (0, f"Feedback: {output}\n")
    assert output.read_text() == run("feedback", name, "--db", graded, "--format", "md").out
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("name", ["missing/out.md", "x" * 300])
def test_a_file_that_cannot_be_written_is_one_line(
    graded: Path, rows: dict[str, dict[str, Any]], tmp_path: Path, name: str
) -> None:
    ended = run("feedback", rows["good_add"]["grading_id"], "--db", graded, "--output", tmp_path / name)
    assert ended.code in (1, 2)
    assert len(ended.err.splitlines()) == 1
    assert "cannot be written" in ended.err or "there is no folder" in ended.err
    assert "give another path" in ended.err
    assert ended.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_draft_is_marked_until_a_person_decides(database: Path, rows: dict[str, dict[str, Any]]) -> None:
    row = rows["good_add"]
    before = run("feedback", row["grading_id"], "--db", database).out
    assert "Draft. A person reads it" in before
    decided = run("review", "decide", row["review_id"], "--db", database, "--comment", "As drafted.")
    assert decided.code == 0, decided.err
    after = run("feedback", row["grading_id"], "--db", database).out
    assert "Draft. A person has decided" in after or "A reviewer decided it." in after
    assert "Draft. A person reads it" not in after


def test_what_is_no_grading_is_refused_in_one_line(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    for name in ("zzz", rows["batch"]["id"]):
        ended = run("feedback", name, "--db", graded)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.count("\n") == 1


def test_looking_into_a_database_that_is_not_there_makes_none(tmp_path: Path) -> None:
    ended = run("feedback", "g-1", "--db", tmp_path / "none.duckdb")
    assert (ended.code, ended.out) == (2, "")
    assert list(tmp_path.iterdir()) == []
