"""Faults of people, networks and machines at the desk: nothing is lost, doubled, or told too early."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.store import Store
from pipeline.types import (
    Account,
    DeskEvent,
    DeskSettings,
    Destination,
    Finished,
    LineComment,
    Purpose,
    Role,
)
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import (
    ANNA,
    BEN,
    CARLA,
    DORA,
    EVE,
    PLAIN,
    Clock,
    add_waiting,
    assess,
    commit,
    finish,
    review_once,
)

TWICE = DeskSettings(second_review_rate=1, gold_rate=0, audit_rate=0)


def finish_differently(desk: Desk, store: Store) -> str:
    review_id = add_waiting(store, "k")
    desk.refresh()
    first = desk.draw(ANNA, key="draw-a")
    assert first is not None
    finish(desk, ANNA, commit(desk, ANNA, first, assess(4, 4)))
    return review_id


def test_a_place_taken_back_after_its_commit_calls_an_adjudicator_where_it_differs(
    open_desk: OpenDesk, store: Store
) -> None:
    desk = open_desk(TWICE)
    review_id = finish_differently(desk, store)
    second = desk.draw(BEN, key="draw-b")
    assert second is not None
    commit(desk, BEN, second, assess(0, 0))
    desk.take_back(DORA, review_id, second.slot, "ben is ill", key="take-back")
    adjudication = desk.draw(CARLA, key="draw-c")
    assert adjudication is not None
    assert adjudication.purpose is Purpose.ADJUDICATION


def test_a_server_killed_right_after_the_second_final_assessment_still_calls_an_adjudicator(
    open_desk: OpenDesk, store: Store, clock: Clock
) -> None:
    desk = open_desk(TWICE)
    review_id = finish_differently(desk, store)
    second = desk.draw(BEN, key="draw-b")
    assert second is not None
    committed = commit(desk, BEN, second, assess(0, 0))
    assert committed.submitted is not None
    # What is on the disk when the server is killed there: the assessment, and nothing that follows from it.
    store.desk.record(
        [
            DeskEvent(
                id="e-last",
                review_id=review_id,
                slot=second.slot,
                actor="ben",
                at=clock(),
                action=Finished(assessment=committed.submitted.blind, seconds=1),
            )
        ]
    )
    adjudication = open_desk(TWICE).draw(CARLA, key="draw-c")
    assert adjudication is not None
    assert adjudication.purpose is Purpose.ADJUDICATION


def test_a_replayed_join_of_a_norming_place_that_was_handed_back_is_served_again(
    open_desk: OpenDesk, store: Store
) -> None:
    add_waiting(store, "k")
    desk = open_desk()
    place = desk.join(ANNA, "r-k", key="join")
    desk.hand_back(ANNA, "r-k", place.slot, place.lease_id, reason="", skip=False)
    again = desk.join(ANNA, "r-k", key="join")
    assert again.holder == "anna"
    assert again.slot == place.slot


def test_one_decision_that_cannot_be_made_keeps_no_other_waiting(
    open_desk: OpenDesk, store: Store, clock: Clock
) -> None:
    add_waiting(store, "k", minute=0)
    add_waiting(store, "l", minute=1)
    desk = open_desk()
    blind = assess(comments=(LineComment(first_line=1, last_line=3, text="x" * 4000),), note="n" * 20_000)
    review_once(desk, ANNA, blind)
    review_once(desk, ANNA)
    clock.pass_by(60)
    assert {decision.review_id for decision in desk.decide_due()} == {"r-k", "r-l"}


@pytest.mark.parametrize("skips", [False, True])
def test_a_gold_item_takes_as_much_from_the_count_of_what_waits_as_any_other(
    open_desk: OpenDesk, store: Store, clock: Clock, skips: bool
) -> None:
    add_waiting(store, "gold", minute=0)
    desk = open_desk()
    review_once(desk, BEN)
    clock.pass_by(60)
    desk.decide_due()
    desk.plant(DORA, "r-gold", {"clarity": 3}, key="plant")
    for minute in (1, 2, 3):
        add_waiting(store, f"k{minute}", minute=minute)
    desk.change_settings(DORA, PLAIN.model_copy(update={"gold_rate": 1}))
    desk.refresh()
    before = desk.describe_queue(ANNA)
    place = desk.draw(ANNA, key="draw")
    assert place is not None
    assert place.purpose is Purpose.GOLD
    held = desk.describe_queue(ANNA)
    assert held.waiting == before.waiting - 1
    if skips:
        desk.hand_back(ANNA, "r-gold", place.slot, place.lease_id, reason="too hard", skip=True)
    else:
        finish(desk, ANNA, commit(desk, ANNA, place))
    assert desk.describe_queue(ANNA).waiting == before.waiting - 1


def test_the_counts_do_not_tell_a_reviewer_that_the_item_drawn_is_a_second_review(
    open_desk: OpenDesk, store: Store
) -> None:
    add_waiting(store, "k", destination=Destination.SECOND_REVIEW)
    desk = open_desk()
    review_once(desk, ANNA)
    before = desk.describe_queue(BEN)
    place = desk.draw(BEN, key="draw")
    assert place is not None
    assert place.purpose is Purpose.SECOND
    assert desk.describe_queue(BEN).second == before.second


def test_an_adjudicator_reads_no_assessments_of_a_gold_item_that_may_still_be_served(
    open_desk: OpenDesk, store: Store, clock: Clock
) -> None:
    add_waiting(store, "gold")
    desk = open_desk()
    review_once(desk, BEN)
    clock.pass_by(60)
    desk.decide_due()
    desk.plant(DORA, "r-gold", {"clarity": 3}, key="plant")
    with pytest.raises(DeskError) as refused:
        desk.others(CARLA, "r-gold")
    assert refused.value.code == "forbidden"


def test_a_norming_place_and_a_second_review_opened_at_once_are_two_places(
    open_desk: OpenDesk, store: Store
) -> None:
    names = [f"k{number}" for number in range(30)]
    for number, name in enumerate(names):
        add_waiting(store, name, minute=number)
    desk = open_desk(TWICE)
    people = [Account(name=f"p{number}", role=Role.REVIEWER) for number in range(len(names))]
    places = [desk.draw(account, key="draw") for account in people]
    with ThreadPoolExecutor(2) as pool:
        for account, place in zip(people, places, strict=True):
            assert place is not None
            both = [
                pool.submit(commit, desk, account, place),
                pool.submit(desk.join, EVE, place.item.review.id, key="join"),
            ]
            assert all(one.result() for one in both)
    for again in (desk, open_desk(TWICE)):
        purposes = [place.purpose for place in again.list_places()]
        assert purposes.count(Purpose.SECOND) == len(names)
        assert purposes.count(Purpose.NORMING) == len(names)
