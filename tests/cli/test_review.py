"""``review``: the queue, and decisions that stand or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import TINY_SOLUTIONS, TINY_TASKS, run

pytestmark = pytest.mark.sandbox


def waiting(database: Path) -> dict[str, dict[str, Any]]:
    """Return the queue by name of the submission's file."""
    queue = run("review", "list", "--db", database, "--json").data
    return {Path(state["grading"]["origin"]).stem: state for state in queue}


@pytest.fixture
def review(database: Path) -> str:
    """Id of the review of the correct submission."""
    return str(waiting(database)["good_add"]["review"]["id"])


def a_criterion(database: Path, review: str) -> str:
    """Return a criterion that the draft left to a person."""
    shown = run("review", "show", review, "--db", database, "--json").data
    return str(next(c["id"] for c in shown["grading"]["rubric"]["criteria"] if c["source"] == "judge"))


def test_the_queue_names_what_waits_and_why(database: Path, review: str) -> None:
    ended = run("review", "list", "--db", database)
    (line,) = [line for line in ended.out.splitlines() if line.startswith(review[:10])]
    assert "good_add.py" in line
    assert "no certificate" in line
    assert f"nki-grader review show ID --db {database}" in ended.out


def test_a_long_queue_says_that_there_is_more(database: Path) -> None:
    assert set(waiting(database)) == {"good_add", "good_add_swapped"}
    ended = run("review", "list", "--db", database, "--limit", "1")
    assert "There are more than 1" in ended.out


def test_a_review_shows_every_level_that_can_be_chosen(database: Path, review: str) -> None:
    shown = run("review", "show", review, "--db", database)
    rubric = run("review", "show", review, "--db", database, "--json").data["grading"]["rubric"]
    for criterion in rubric["criteria"]:
        assert f"{criterion['id']} — {criterion['question']}" in shown.out
        for level in criterion["levels"]:
            assert f"  {level['level']}  {level['anchor']}" in shown.out


def test_a_decision_releases_the_grade_and_leaves_the_queue(database: Path, review: str) -> None:
    criterion = a_criterion(database, review)
    ended = run(
        "review", "decide", review, "--db", database, "--level", f"{criterion}=3",
        "--comment", "Clear.", "--reviewer", "ada", "--json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert ended.data["grade"]["decided_by"] == "ada"
    levels = {score["criterion"]: score["level"] for score in ended.data["grade"]["scores"]}
    assert levels[criterion] == 3
    assert "good_add" not in waiting(database)
    everything = run("review", "list", "--all", "--db", database)
    (line,) = [line for line in everything.out.splitlines() if line.startswith(review[:10])]
    assert "  ada  " in line
    shown = run("show", review, "--db", database)
    assert f"decided by ada: {criterion}=3. Clear." in shown.out
    assert "state       graded" in shown.out


def test_a_second_decision_is_refused_and_the_first_stands(database: Path, review: str) -> None:
    assert run("review", "decide", review, "--db", database, "--reviewer", "ada").code == 0
    ended = run("review", "decide", review, "--db", database, "--reviewer", "bob")
    assert ended.code == 2
    assert "already decided by ada" in ended.err
    assert run("show", review, "--db", database, "--json").data["grade"]["decided_by"] == "ada"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--level", "no_such_criterion=3"), "no criterion 'no_such_criterion'"),
        (("--level", "CRITERION=9"), "has no level 9"),
        (("--level", "CRITERION"), "is not CRITERION=N"),
        (("--level", "CRITERION=-1"), "is not CRITERION=N"),
        (("--level", "CRITERION=1", "--level", "CRITERION=2"), "given twice"),
        (("--fail",), "needs a comment"),
        (("--reviewer", " "), "1 to 200 characters"),
        (("--comment", "x" * 20_001), "at most 20,000"),
    ],
)
def test_an_invalid_decision_is_refused_and_the_review_still_waits(
    database: Path, review: str, arguments: tuple[str, ...], message: str
) -> None:
    criterion = a_criterion(database, review)
    given = [argument.replace("CRITERION", criterion) for argument in arguments]
    ended = run("review", "decide", review, "--db", database, *given)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert waiting(database)["good_add"]["decision"] is None


def test_what_no_person_was_asked_about_cannot_be_decided(database: Path) -> None:
    graded = run("grade", TINY_SOLUTIONS / "bad_syntax.py", "--tasks", TINY_TASKS, "--db", database, "--json")
    (row,) = graded.data["gradings"]
    ended = run("review", "decide", row["grading_id"], "--db", database)
    assert (ended.code, ended.out) == (2, "")
    assert "no person was asked about" in ended.err


def test_an_empty_queue_says_so(database: Path) -> None:
    for state in waiting(database).values():
        assert run("review", "decide", state["review"]["id"], "--db", database, "--reviewer", "ada").code == 0
    ended = run("review", "list", "--db", database)
    assert (ended.code, ended.out) == (0, "Nothing waits for a person.\n")
    assert run("review", "list", "--db", database, "--json").data == []


@pytest.mark.parametrize("option", ["--comment", "--reviewer", "--db"])
def test_bytes_that_are_no_text_are_refused_by_option(option: str, database: Path, review: str) -> None:
    ended = run("review", "decide", review, "--db", database, option, "caf\udce9")
    assert (ended.code, ended.out) == (2, "")
    assert option in ended.err
    assert "UTF-8" in ended.err
    assert waiting(database)["good_add"]["decision"] is None
