"""Audits: which grades that stand alone are reviewed nevertheless."""

from __future__ import annotations

from pipeline.review.audit_draw import AuditDraw
from pipeline.review.chances import load_secret
from pipeline.review.places import ReviewStanding
from pipeline.review.queue import review_id_of
from pipeline.store import Store
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import (
    ANNA,
    NOON,
    PLAIN,
    Clock,
    add_accepted,
    add_graded,
    add_waiting,
    review_once,
)

ALL = PLAIN.model_copy(update={"audit_rate": 1})
SOME = PLAIN.model_copy(update={"audit_rate": 0.3})


def test_a_grade_that_stands_alone_comes_to_the_queue_with_its_probability(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_accepted(store, "alone")
    add_graded(store, "unfinished")
    add_waiting(store, "waits")
    desk = open_desk(ALL)
    found = {place.item.review.grading_id: place.item.review for place in desk.list_places()}
    assert set(found) == {"g-alone", "g-waits"}
    audit = found["g-alone"]
    assert (audit.kind, audit.probability, audit.opened_at) == ("audit", 1.0, clock.now)
    assert audit.id.startswith("r-"), "its id tells nobody what it is"
    assert audit.id != review_id_of("g-alone"), "a route may still ask for that one"


def test_an_audit_never_changes_the_released_grade(store: Store, open_desk: OpenDesk, clock: Clock) -> None:
    add_accepted(store, "alone")
    released = store.load_grade("g-alone")
    desk = open_desk(ALL)
    place = review_once(desk, ANNA)
    clock.pass_by(11)
    (decision,) = desk.decide_due()
    assert decision.review_id == place.item.review.id
    assert desk.place(decision.review_id, 0).standing is ReviewStanding.DECIDED
    assert store.list_decided() == []
    assert store.load_grade("g-alone") == released
    assert store.load_summary("g-alone").state == "graded"


def test_chance_chooses_about_the_share_that_was_asked_for_and_the_same_again(
    store: Store, open_desk: OpenDesk
) -> None:
    for number in range(40):
        add_accepted(store, f"n{number}")
    chosen = {place.item.review.grading_id for place in open_desk(SOME).list_places()}
    # 12 expected, with a standard deviation of 2.9.
    assert 5 <= len(chosen) <= 22
    desk = open_desk(ALL)
    desk.refresh()
    assert {place.item.review.grading_id for place in desk.list_places()} == chosen, (
        "each grade is asked about once, at the rate of its day"
    )


def test_nothing_is_drawn_at_rate_zero(store: Store, open_desk: OpenDesk) -> None:
    add_accepted(store, "alone")
    assert open_desk(PLAIN).list_places() == []


def test_what_a_certificate_accepted_was_drawn_when_it_was_routed_and_is_not_asked_about_again(
    store: Store,
) -> None:
    for name in ("settled", "certified"):
        add_accepted(store, name)
    grade = store.load_grade("g-certified")
    assert grade is not None
    store.save_grade(grade.model_copy(update={"decided_by": "certificate"}))
    drawn = AuditDraw(store, load_secret(store)).draw(1.0, NOON)
    assert [review.grading_id for review in drawn] == ["g-settled"]
