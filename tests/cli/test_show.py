"""``show`` and ``report``: anything that was graded, by any of its names."""

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


def test_a_submission_is_shown_from_verdict_to_code(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    ended = run("show", rows["bad_syntax"]["submission_id"], "--db", graded)
    assert ended.code == 0
    assert "verdict     compile_error" in ended.out
    assert "fault of the submission: " in ended.out
    assert "state       graded" in ended.out
    for heading in ("Scores", "Feedback", "What must change", "Checks", "Code, around the lines cited"):
        assert f"\n{heading}" in ended.out
    assert "> " in ended.out[ended.out.index("Code, around") :]


def test_facts_say_how_each_number_came_about(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    ended = run("show", rows["good_add"]["grading_id"], "--db", graded)
    facts = ended.out[ended.out.index("\nFacts\n") : ended.out.index("\nCases\n")].splitlines()[3:-1]
    assert facts
    for line in facts:
        assert any(f" {how} " in line for how in ("counted", "emulated", "modelled", "measured"))


def test_how_limits_were_derived_is_told_with_the_cases(
    graded: Path, rows: dict[str, dict[str, Any]]
) -> None:
    ended = run("show", rows["good_add"]["grading_id"], "--db", graded)
    told = ended.out[ended.out.index("\nCases\n") :]
    assert "\nlimits of output out, case " in told
    assert "\n  • " in told


def test_every_name_of_a_grading_shows_the_same(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    row = rows["good_add"]
    shown = {
        run("show", name, "--db", graded).out
        for name in (row["grading_id"], row["submission_id"], row["review_id"], row["grading_id"][:10])
    }
    assert len(shown) == 1


def test_a_waiting_grading_is_a_draft(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    ended = run("show", rows["good_add"]["grading_id"], "--db", graded)
    assert "Feedback (draft)" in ended.out
    assert "state       waiting" in ended.out


def test_json_holds_everything(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    data = run("show", rows["good_add"]["grading_id"], "--db", graded, "--json").data
    assert data["verdict"] == "correct"
    assert "nki" in data["submission"]["code"]
    assert {fact["provenance"] for fact in data["facts"]} <= {"counted", "emulated", "modelled"}
    assert data["grade"] is None
    assert data["reviews"][0]["decision"] is None


@pytest.mark.parametrize(("name", "message"), [("zzz", "'zzz'"), ("", "''"), ("g-", "several ids")])
def test_a_name_that_means_nothing_or_too_much_is_one_line(graded: Path, name: str, message: str) -> None:
    ended = run("show", name, "--db", graded)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_a_batch_is_pointed_to_its_report(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    batch = rows["batch"]["id"]
    ended = run("show", batch, "--db", graded)
    assert ended.code == 2
    assert f"nki-grader report {batch}" in ended.err


@pytest.mark.parametrize(
    "command", [("show", "g-1"), ("report",), ("review", "list"), ("review", "decide", "r-1")]
)
def test_looking_into_a_database_that_is_not_there_makes_none(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    ended = run(*command, "--db", tmp_path / "none.duckdb")
    assert (ended.code, ended.out) == (2, "")
    assert "grade something first" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_the_report_of_the_latest_batch_is_written_where_it_is_wanted(graded: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.html"
    ended = run("report", "--db", graded, "--output", output)
    assert (ended.code, ended.out) == (0, f"Report: {output}\n")
    assert output.read_bytes() == graded.with_name("grades.report.html").read_bytes()


def test_the_report_of_something_else_is_refused(graded: Path, rows: dict[str, dict[str, Any]]) -> None:
    ended = run("report", rows["good_add"]["grading_id"], "--db", graded)
    assert ended.code == 2
    assert "is no batch" in ended.err
