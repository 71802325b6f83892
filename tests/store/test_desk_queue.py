"""What the desk reads of the queue, and that an audit changes nothing for a grade that stands."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.store import DeskItem, Store, open_store
from pipeline.types import Batch, Decision, Destination, Review, Verdict
from tests.store.desk_examples import audit, committed
from tests.store.examples import (
    NOON,
    ROUTE,
    batch,
    database,
    decision,
    grade,
    grading,
    review,
    save_waiting,
    stage,
    submission,
)


def save_accepted(store: Store, *names: str) -> None:
    """Store everything of gradings whose grade was released without a person."""
    for name in names:
        store.save_submissions([submission(name)])
        store.save_gradings([grading(name)])
        store.record_stage(stage(name))
        store.link_stages(f"g-{name}", {"run": f"k-{name}"})
        store.save_route(f"g-{name}", ROUTE.model_copy(update={"destination": Destination.ACCEPT}))
        store.save_grade(grade(name))


def decide_audit(store: Store, name: str) -> None:
    store.decide(Decision(review_id=f"audit-{name}", reviewer="ben", levels={"clarity": 0}, decided_at=NOON))


def test_a_submission_is_of_the_first_author_that_it_was_declared_to_be_of(store: Store) -> None:
    both = batch("any", "a", "b").items

    def handed_in(name: str, hours: float, *authors: str) -> Batch:
        items = tuple(
            item.model_copy(update={"author": author}) for item, author in zip(both, authors, strict=True)
        )
        return Batch(id=f"b-{name}", opened_at=NOON + timedelta(hours=hours), items=items)

    save_waiting(store, "a", "b")
    for given in (handed_in("z", 0, "", ""), handed_in("y", 1, "zoë", ""), handed_in("x", 2, "max", "max")):
        store.open_batch(given)
    expected = {"s-a": "zoë", "s-b": "max"}
    assert store.desk.list_authors(["s-a", "s-b", "s-none"]) == expected
    assert store.desk.list_authors([]) == {}
    assert {item.submission_id: item.author for _, item in store.desk.list_items()} == expected
    assert {place.submission_id: place.author for place in store.drafts.list_places()} == expected
    for lines in (
        store.list_gradings(),
        store.list_gradings("b-x"),
        [store.load_summary(f"g-{x}") for x in "ab"],
    ):
        assert {line.submission_id: line.author for line in lines} == expected


def test_items_say_what_is_drawn_by_and_are_followed_by_their_number(store: Store) -> None:
    store.open_batch(batch("one", "a"))
    save_waiting(store, "a", "b")
    (first, item), (second, other) = store.desk.list_items()
    assert item == DeskItem(
        review=review("a"),
        submission_id="s-a",
        task_id="matmul_tiled",
        origin="a.py",
        destination=Destination.REVIEW,
        verdict=Verdict.CORRECT,
        rubric="r1",
        decided=False,
    )
    assert (other.review, other.origin) == (review("b"), "")
    assert store.desk.list_items(first) == [(second, other)]
    assert store.desk.list_items(second) == []
    save_waiting(store, "c")
    assert [item.review.id for _, item in store.desk.list_items(second)] == ["r-c"]


def test_items_come_in_the_order_they_were_kept_whatever_their_times_and_ids(store: Store) -> None:
    save_waiting(store, "b")
    save_waiting(store, "a")
    assert [item.review.id for _, item in store.desk.list_items()] == ["r-b", "r-a"]


def test_a_decision_is_seen_on_the_item_and_in_the_list_of_decided_ones(store: Store) -> None:
    save_waiting(store, "a", "b")
    assert store.desk.list_decided_ids() == set()
    store.decide(decision("a"))
    assert store.desk.list_decided_ids() == {"r-a"}
    assert {item.review.id: item.decided for _, item in store.desk.list_items()} == {
        "r-a": True,
        "r-b": False,
    }


def test_a_review_whose_grading_was_lost_is_no_item(store: Store) -> None:
    store.open_review(review("lost"))
    save_waiting(store, "a")
    assert [item.review.id for _, item in store.desk.list_items()] == ["r-a"]


def test_grades_that_stand_alone_are_listed_and_followed_by_their_number(store: Store) -> None:
    assert store.desk.list_accepted() == []
    store.open_batch(batch("one", "a"))
    save_accepted(store, "a", "b")
    save_waiting(store, "decided by a person", "waiting")
    store.decide(decision("decided by a person"))
    store.save_grade(grade("decided by a person"))
    (first, alone), (second, other) = store.desk.list_accepted()
    assert alone == store.load_summary("g-a")
    assert (alone.state, alone.destination, alone.origin, alone.verdict, alone.overall, alone.passed) == (
        "graded",
        Destination.ACCEPT,
        "a.py",
        Verdict.CORRECT,
        0.8,
        True,
    )
    assert other.grading_id == "g-b"
    assert store.desk.list_accepted(first) == [(second, other)]
    assert store.desk.list_accepted(second) == []
    save_accepted(store, "c")
    assert [summary.grading_id for _, summary in store.desk.list_accepted(second)] == ["g-c"]


def test_a_grade_without_an_overall_number_that_stands_alone_shows_none(store: Store) -> None:
    save_accepted(store, "a")
    bare = grade("a").overall.model_copy(update={"value": None, "passed": None})
    store.save_grade(grade("a").model_copy(update={"overall": bare}))
    ((_, summary),) = store.desk.list_accepted()
    assert (summary.overall, summary.passed) == (None, None)


def test_an_audited_grade_no_longer_stands_alone(store: Store) -> None:
    save_accepted(store, "a", "b")
    store.open_review(audit("a"))
    assert [summary.grading_id for _, summary in store.desk.list_accepted()] == ["g-b"]
    assert [item.review for _, item in store.desk.list_items()] == [audit("a")]


def test_an_audit_open_or_decided_leaves_its_grading_graded(store: Store) -> None:
    save_accepted(store, "a")
    before, results = store.load_summary("g-a"), store.canonical_hash()
    store.open_review(audit("a"))
    for _ in range(2):
        assert store.load_summary("g-a") == before
        assert before.state == "graded"
        assert store.finished(["g-a"]) == {"g-a": "graded"}
        assert store.list_decided() == []
        assert store.canonical_hash() == results
        if not store.desk.list_decided_ids():
            decide_audit(store, "a")
    assert store.desk.list_decided_ids() == {"audit-a"}


def test_an_audit_waits_in_the_queue_like_any_review(store: Store) -> None:
    save_accepted(store, "a")
    store.open_review(audit("a"))
    assert [state.review for state in store.list_reviews()] == [audit("a")]
    decide_audit(store, "a")
    assert store.list_reviews() == []
    assert [state.review for state in store.list_reviews_of("g-a")] == [audit("a")]


@pytest.mark.parametrize("decided", [False, True])
def test_an_audit_does_not_hold_up_a_grading_that_has_lost_its_grade(store: Store, decided: bool) -> None:
    store.save_submissions([submission("a")])
    store.save_gradings([grading("a")])
    store.open_review(audit("a"))
    if decided:
        decide_audit(store, "a")
    assert store.load_summary("g-a").state == "open"
    assert store.finished(["g-a"]) == {}
    assert store.list_decided() == []


def test_an_open_audit_does_not_keep_a_decision_from_being_applied(store: Store) -> None:
    save_waiting(store, "a")
    store.open_review(audit("a"))
    store.decide(decision("a"))
    assert store.load_summary("g-a").state == "decided"
    assert store.list_decided() == ["g-a"]


def test_a_closed_batch_is_whole_whatever_becomes_of_its_audits(tmp_path: Path) -> None:
    path = database(tmp_path)
    with open_store(path) as store:
        store.open_batch(batch("one", "a"))
        save_accepted(store, "a")
        store.open_review(audit("a"))
        store.close_batch("b-one")
    path.unlink()
    with open_store(path) as store:
        assert not store.is_batch_closed("b-one")
        store.open_batch(batch("one", "a"))
        save_accepted(store, "a")
    with open_store(path) as store:
        assert store.notices == []
        assert store.is_batch_closed("b-one")
        store.open_review(audit("a"))
        decide_audit(store, "a")
        store.desk.record([committed("a").model_copy(update={"review_id": "audit-a"})])
        store.close_batch("b-one")
    with open_store(path) as store:
        assert store.notices == []
        assert store.is_batch_closed("b-one")


def test_an_older_review_is_one_that_was_routed() -> None:
    old = '{"id":"r-a","grading_id":"g-a","reason":"why","opened_at":"2026-11-30T12:00:00Z"}'
    assert Review.model_validate_json(old).kind == "route"
