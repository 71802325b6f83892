"""Constructed labels: for shipped solutions only, and never among what experts said."""

from __future__ import annotations

from pathlib import Path

from pipeline.library.rubrics import load_rubric
from pipeline.review.constructed import RATER, constructed_labels
from pipeline.review.exchange.expert_labels import import_expert_labels
from pipeline.review.exports import export_labels
from pipeline.review.labels import read_labels
from pipeline.store import Document, Store
from pipeline.types import Grading, Rubric, Submission
from tests.review.desk_examples import FINGERPRINT, TASK

PUBLISHED = load_rubric(TASK.rubric)
SOLUTION = next(solution for solution in TASK.solutions if solution.levels)


def add(store: Store, code: str, rubric: Rubric = PUBLISHED) -> Submission:
    submission = Submission(
        id=Submission.identify(TASK.id, code.encode()), task_id=TASK.id, code=code, received=""
    )
    sha256 = rubric.content_hash()
    text = rubric.model_dump_json()
    store.save_documents(
        [Document(kind="rubric", id=rubric.id, version=rubric.version, sha256=sha256, text=text)]
    )
    store.save_submissions([submission])
    made = FINGERPRINT.model_copy(update={"rubric": sha256})
    grading_id = made.grading_id(submission.id)
    store.save_gradings([Grading(id=grading_id, submission_id=submission.id, fingerprint=made)])
    store.flush()
    return submission


def test_a_graded_solution_has_the_levels_that_its_author_wrote(store: Store) -> None:
    submission = add(store, SOLUTION.code)
    labels = list(constructed_labels(store))
    wanted = {
        criterion.id: SOLUTION.levels[criterion.id].level
        for criterion in PUBLISHED.criteria
        if criterion.source == "judge"
    }
    assert wanted
    assert {label.criterion: label.level for label in labels} == wanted
    assert {(label.submission_id, label.source, label.rater) for label in labels} == {
        (submission.id, "constructed", RATER)
    }
    assert {label.probability for label in labels} == {None}
    assert list(constructed_labels(store)) == labels


def test_nothing_but_a_solution_as_it_was_shipped_has_any(store: Store) -> None:
    add(store, SOLUTION.code + "\n")
    add(store, SOLUTION.code, PUBLISHED.model_copy(update={"version": "v99"}))
    assert list(constructed_labels(store)) == []


def test_they_are_in_no_store_and_come_into_none(store: Store, tmp_path: Path) -> None:
    add(store, SOLUTION.code)
    labels = list(constructed_labels(store))
    assert read_labels(store) == []
    result = import_expert_labels(store, tmp_path / "x", export_labels(labels, "csv"), imported_by="eve")
    assert result.labels == 0
    assert {row.reason for row in result.bad} == {"a task's author constructed it; it is no expert's"}
    assert read_labels(store) == []
