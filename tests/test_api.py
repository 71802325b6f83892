"""The Python API beside the command line, on the real pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline import Grader
from pipeline.config import Settings
from pipeline.errors import GraderError
from pipeline.library.tasks import load_task
from pipeline.store import open_store
from pipeline.types import Destination, Owner, Verdict

TASKS = Path(__file__).parent / "fixtures" / "tasks"
SOLUTIONS = TASKS / "tiny_add" / "solutions"
GOOD = (SOLUTIONS / "good_add.py").read_text()
WRONG = (SOLUTIONS / "bad_multiplies.py").read_text()


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """A grader of the tiny task with a database of its own."""
    db = tmp_path_factory.mktemp("api") / "grader.duckdb"
    with Grader(db, Settings(tasks=TASKS)) as open_grader:
        yield open_grader


def test_a_right_kernel_is_correct_and_waits_for_a_person(grader: Grader) -> None:
    result = grader.grade("tiny_add", GOOD)
    assert result.verdict is Verdict.CORRECT
    assert result.fault is None
    assert result.route.destination is Destination.REVIEW
    assert not result.final
    assert {fact.id: fact.value for fact in result.facts}["run.cases_passed"] == sum(
        case.seeds for case in load_task(TASKS / "tiny_add").cases
    )


def test_a_wrong_kernel_is_final_with_feedback_that_names_the_place(grader: Grader) -> None:
    result = grader.grade("tiny_add", WRONG)
    assert result.verdict is Verdict.INCORRECT
    assert result.final
    assert result.overall is not None
    assert result.overall.value == 0.0
    assert any("differs at [" in item.text for item in result.feedback)


def test_an_input_that_is_written_and_returned_is_called_by_the_name_of_the_input(grader: Grader) -> None:
    result = grader.grade("tiny_add", GOOD.replace("dst=out", "dst=y").replace("return out", "return y"))
    assert result.verdict is Verdict.SUSPECT
    assert any("writes to input y, which" in item.text for item in result.feedback)


def test_many_submissions_come_back_in_their_order_duplicates_included(grader: Grader) -> None:
    results = grader.grade_many("tiny_add", [WRONG, GOOD, WRONG])
    assert [result.verdict for result in results] == [Verdict.INCORRECT, Verdict.CORRECT, Verdict.INCORRECT]
    assert results[0].grading_id == results[2].grading_id


def test_who_wrote_code_is_kept_with_it_and_nothing_else_changes(tmp_path: Path) -> None:
    with Grader(tmp_path / "g.duckdb", Settings(tasks=TASKS)) as grader:
        plain = grader.grade("tiny_add", GOOD)
        assert grader.grade("tiny_add", GOOD, author="model 7") == plain
        grader.grade_many("tiny_add", [GOOD, WRONG], author="model 8")
        with pytest.raises(GraderError, match="author: no name of 1 to 200 printable characters"):
            grader.grade("tiny_add", GOOD, author="a\nb")
    with open_store(tmp_path / "g.duckdb") as store:
        found = {place.submission_id: place.author for place in store.drafts.list_places()}
        good = store.load_grading(plain.grading_id).submission_id
        assert found.pop(good) == "model 7", "the first to hand it in"
        assert list(found.values()) == ["model 8"]
        assert [batch.closed for batch in store.list_batches()] == [True, True]


async def test_it_can_be_awaited(grader: Grader) -> None:
    result = await grader.grade_async("tiny_add", GOOD)
    assert result.verdict is Verdict.CORRECT


async def test_the_synchronous_call_works_where_a_loop_runs_as_in_a_notebook(grader: Grader) -> None:
    assert grader.grade("tiny_add", GOOD + "\n# in a notebook\n").verdict is Verdict.CORRECT


def test_what_is_no_source_is_a_result_not_an_exception(grader: Grader) -> None:
    result = grader.grade("tiny_add", "def kernel(x, y:\n")
    assert result.verdict is Verdict.COMPILE_ERROR
    assert result.fault is not None
    assert result.fault.owner is Owner.SUBMISSION


def test_an_unknown_task_is_an_exception_that_lists_those_there_are(grader: Grader) -> None:
    with pytest.raises(GraderError) as error:
        grader.grade("no_such", GOOD)
    assert "tiny_add" in error.value.fault.remedy


def test_a_second_grader_finds_what_the_first_one_graded(tmp_path: Path) -> None:
    db = tmp_path / "grader.duckdb"
    with Grader(db, Settings(tasks=TASKS)) as first:
        before = first.grade("tiny_add", WRONG)
    with Grader(db, Settings(tasks=TASKS)) as second:
        assert second.grade("tiny_add", WRONG) == before


def test_code_that_is_no_text_is_a_type_error(grader: Grader) -> None:
    with pytest.raises(TypeError, match="one string"):
        grader.grade("tiny_add", 5)  # type: ignore[arg-type]
