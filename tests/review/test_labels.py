"""Labels: blind levels with where they come from, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.review.labels import ImportedAssessment, Labels, keep_imported, read_labels
from pipeline.store import Store
from pipeline.types import Answer, Cause, Purpose, Revision
from tests.review.desk_examples import ANNA, BEN, CARLA, DORA, HASH, NOON, TASK
from tests.review.labelled import Teller, add_review


@pytest.fixture
def teller(store: Store) -> Teller:
    return Teller(store)


def test_a_commit_gives_one_label_per_criterion_with_all_that_it_belongs_to(
    store: Store, teller: Teller
) -> None:
    add_review(store, "a", kind="audit", probability=0.05)
    teller.commit(ANNA, "a", clarity=3, safety=None, seconds=90)
    teller.keep()
    clarity, safety = read_labels(store)
    assert clarity.model_dump() == {
        "review_id": "r-a",
        "slot": 0,
        "grading_id": "g-a",
        "submission_id": "s-a",
        "task_id": TASK.id,
        "rubric": HASH,
        "criterion": "clarity",
        "state": "judged",
        "level": 3,
        "reason": "",
        "rater": "anna",
        "source": "desk",
        "purpose": Purpose.FIRST,
        "sampling": "audit",
        "probability": 0.05,
        "calibration": None,
        "seconds": 90.0,
        "at": NOON,
    }
    assert (safety.state, safety.level, safety.reason) == ("cannot_judge", None, "out of sight")


def test_final_levels_never_become_labels(store: Store, teller: Teller) -> None:
    add_review(store, "a")
    teller.commit(ANNA, "a", clarity=3, safety=3)
    change = Revision(criterion="clarity", before=3, after=1, cause=Cause.SLIP)
    teller.finish(ANNA, "a", revisions=(change,), clarity=1, safety=3)
    teller.keep()
    assert [(label.criterion, label.level) for label in read_labels(store)] == [("clarity", 3), ("safety", 3)]


def test_what_a_place_is_for_is_told_and_only_own_views_are_independent(store: Store, teller: Teller) -> None:
    add_review(store, "a")
    teller.commit(ANNA, "a", clarity=3)
    purposes = (Purpose.SECOND, Purpose.ADJUDICATION, Purpose.GOLD, Purpose.NORMING)
    for slot, purpose in enumerate(purposes, 1):
        teller.open(DORA, "a", slot, purpose, 0.15 if purpose is Purpose.SECOND else None)
        teller.commit(BEN if slot == 1 else CARLA, "a", slot, clarity=2)
    teller.keep()
    labels = read_labels(store)
    assert [label.purpose for label in labels] == [Purpose.FIRST, *purposes]
    assert [label.probability for label in labels] == [None, 0.15, None, None, None]
    assert [label.is_independent for label in labels] == [True, True, False, False, False]


def test_a_reader_takes_in_what_is_new(store: Store, teller: Teller) -> None:
    labels = Labels(store)
    assert labels.read() == []
    add_review(store, "a")
    teller.commit(ANNA, "a", clarity=3)
    teller.keep()
    assert len(labels.read()) == 1
    add_review(store, "b")
    teller.commit(BEN, "b", clarity=2)
    teller.keep()
    assert labels.read() == read_labels(store)
    assert [label.rater for label in labels.read()] == ["anna", "ben"]


def imported(level: int, days: int = 0) -> ImportedAssessment:
    return ImportedAssessment(
        review_id="r-a",
        rater="ada@example.org",
        source="label_studio",
        answers={"clarity": Answer(level=level)},
        rubric=HASH,
        at=NOON + timedelta(days=days),
        imported_by="dora",
        imported_at=NOON,
    )


def test_imported_answers_are_labels_that_say_so_and_belong_to_no_stream(store: Store) -> None:
    add_review(store, "a")
    keep_imported(store, [imported(2)])
    (label,) = read_labels(store)
    assert (label.source, label.rater, label.level) == ("label_studio", "ada@example.org", 2)
    assert (label.slot, label.purpose, label.seconds) == (None, None, None)
    assert label.submission_id == "s-a"
    assert not label.is_independent


@pytest.mark.parametrize("order", [1, -1])
def test_what_one_person_said_last_counts_in_whatever_order_it_is_imported(store: Store, order: int) -> None:
    add_review(store, "a")
    for assessment in [imported(2), imported(4, days=1)][::order]:
        keep_imported(store, [assessment])
    assert [label.level for label in read_labels(store)] == [4]


def test_a_file_without_times_that_is_imported_again_changes_nothing(store: Store) -> None:
    add_review(store, "a")
    for days in (0, 1):
        now = NOON + timedelta(days=days)
        keep_imported(store, [imported(2, days).model_copy(update={"imported_at": now})])
    assert [label.at for label in read_labels(store)] == [NOON]


def test_a_pseudonym_is_one_person_s_for_good_and_hides_the_name(store: Store, teller: Teller) -> None:
    add_review(store, "a")
    teller.commit(ANNA, "a", clarity=3, safety=2)
    teller.open(DORA, "a", 1, Purpose.SECOND)
    teller.commit(BEN, "a", 1, clarity=3)
    teller.keep()
    first, again = Labels(store), Labels(store)
    names = [first.hide_rater(label).rater for label in first.read()]
    assert names == [again.hide_rater(label).rater for label in again.read()]
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("rater-") and "ann" not in name and "ben" not in name for name in names)
