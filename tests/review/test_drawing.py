"""Who is served what, in which order, and how long it stays theirs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.review.places import PlaceState, ReviewStanding
from pipeline.store import Store
from pipeline.types import Account, Destination, Purpose, Role
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import (
    ANNA,
    BEN,
    CARLA,
    DORA,
    EVE,
    OTHER_TASK,
    PLAIN,
    VERA,
    Clock,
    add_waiting,
    assess,
    commit,
    finish,
    review_once,
)


def refusal(error: pytest.ExceptionInfo[DeskError]) -> str:
    return error.value.code


def test_the_longest_wait_is_served_first(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "newer", minute=2)
    older = add_waiting(store, "older", minute=1)
    place = open_desk().draw(ANNA, key="1")
    assert place is not None
    assert (place.item.review.id, place.slot, place.state) == (older, 0, PlaceState.HELD)
    assert (place.holder, place.purpose) == ("anna", Purpose.FIRST)


def test_an_empty_queue_serves_nothing(open_desk: OpenDesk) -> None:
    assert open_desk().draw(ANNA, key="1") is None


def test_what_one_has_begun_comes_first(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one", minute=1)
    add_waiting(store, "two", minute=2)
    desk = open_desk()
    first = desk.draw(ANNA, key="1")
    assert first is not None
    again = desk.draw(ANNA, key="2")
    assert again == first
    committed = commit(desk, ANNA, first)
    assert desk.draw(ANNA, key="3") == committed


def test_two_people_are_served_different_items(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    assert desk.draw(ANNA, key="1") is not None
    assert desk.draw(BEN, key="1") is None
    state = desk.describe_queue(BEN)
    assert (state.waiting, state.held, state.held_until) == (0, 1, desk.place("r-one", 0).lease_until)


def test_twenty_people_who_draw_at_once_get_twenty_places(store: Store, open_desk: OpenDesk) -> None:
    for number in range(20):
        add_waiting(store, f"n{number}", minute=number)
    desk = open_desk()
    people = [Account(name=f"p{number}", role=Role.REVIEWER) for number in range(20)]
    start = threading.Barrier(20)

    def draw(account: Account) -> str:
        start.wait()
        place = desk.draw(account, key="same for all")
        assert place is not None
        assert place.holder == account.name
        return place.item.review.id

    with ThreadPoolExecutor(20) as threads:
        assert len(set(threads.map(draw, people))) == 20


def test_one_person_who_draws_twice_at_once_gets_one_place(store: Store, open_desk: OpenDesk) -> None:
    for number in range(8):
        add_waiting(store, f"n{number}")
    desk = open_desk()
    start = threading.Barrier(8)

    def draw(key: int) -> str:
        start.wait()
        place = desk.draw(ANNA, key=str(key % 2))
        assert place is not None
        return place.item.review.id

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(draw, range(8)))) == 1


def test_the_same_key_returns_the_same_place_after_it_is_finished(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one", minute=1)
    add_waiting(store, "two", minute=2)
    desk = open_desk()
    first = desk.draw(ANNA, key="1")
    assert first is not None
    finish(desk, ANNA, commit(desk, ANNA, first))
    again, following = desk.draw(ANNA, key="1"), desk.draw(ANNA, key="2")
    assert again is not None
    assert following is not None
    assert (again.item.review.id, again.state) == ("r-one", PlaceState.FINISHED)
    assert following.item.review.id == "r-two"


def test_nobody_is_served_a_review_twice(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one", destination=Destination.SECOND_REVIEW)
    desk = open_desk()
    review_once(desk, ANNA)
    assert desk.draw(ANNA, key="2") is None
    second = desk.draw(BEN, key="1")
    assert second is not None
    assert (second.item.review.id, second.purpose) == ("r-one", Purpose.SECOND)


def test_a_task_outside_of_somebodys_skills_is_not_served(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one", task_id=OTHER_TASK.id)
    desk = open_desk()
    by_id = ANNA.model_copy(update={"skills": ("matmul_tiled",)})
    assert desk.draw(by_id, key="1") is None
    assert desk.describe_queue(by_id).waiting == 0
    by_family = ANNA.model_copy(update={"skills": (OTHER_TASK.family.value,)})
    assert desk.describe_queue(by_family).waiting == 1
    assert desk.draw(by_family, key="2") is not None


def test_an_author_one_has_a_conflict_with_is_not_served(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one", minute=1, origin="team/zoe/kernel.py")
    add_waiting(store, "two", minute=2, origin="team/zoe/again.py")
    add_waiting(store, "three", minute=3, origin="team/max/kernel.py")
    desk = open_desk()
    friend = ANNA.model_copy(update={"conflicts": (desk.pseudonym("r-one"),)})
    assert desk.describe_queue(friend).waiting == 1
    place = desk.draw(friend, key="1")
    assert place is not None
    assert place.item.review.id == "r-three"


def test_what_one_skipped_is_not_served_again_but_others_get_it(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    desk.hand_back(ANNA, "r-one", 0, place.lease_id, reason="I do not know this engine", skip=True)
    assert desk.describe_queue(ANNA).waiting == 0
    assert desk.draw(ANNA, key="2") is None
    assert desk.draw(BEN, key="1") is not None


def test_what_one_handed_back_may_be_served_again(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    desk.hand_back(ANNA, "r-one", 0, place.lease_id, reason="", skip=False)
    desk.hand_back(ANNA, "r-one", 0, place.lease_id, reason="sent twice", skip=False)
    again = desk.draw(ANNA, key="2")
    assert again is not None
    assert again.lease_id != place.lease_id


def test_leads_who_were_told_the_author_are_not_served_the_item(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one", origin="team/zoe/kernel.py")
    desk = open_desk()
    assert desk.unblind(DORA, "r-one", "she asked for it", key="1") == "team/zoe/kernel.py"
    assert desk.draw(DORA, key="1") is None
    assert desk.describe_queue(DORA).waiting == 0


def test_viewers_draw_nothing(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one")
    with pytest.raises(DeskError) as refused:
        open_desk().draw(VERA, key="1")
    assert refusal(refused) == "forbidden"


def test_while_paused_only_what_is_begun_is_served(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one")
    add_waiting(store, "two")
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    desk.change_settings(DORA, PLAIN.model_copy(update={"paused": True}))
    assert desk.draw(ANNA, key="2") == place
    with pytest.raises(DeskError) as refused:
        desk.draw(BEN, key="1")
    assert refusal(refused) == "paused"
    assert desk.describe_queue(BEN).paused


def test_a_lease_that_is_not_renewed_runs_out_and_others_are_served(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    mine = desk.draw(ANNA, key="1")
    assert mine is not None
    clock.pass_by(30 * 60 - 1)
    assert desk.draw(BEN, key="1") is None
    clock.pass_by(1)
    theirs = desk.draw(BEN, key="2")
    assert theirs is not None
    assert theirs.holder == "ben"
    with pytest.raises(DeskError) as refused:
        desk.renew(ANNA, "r-one", 0, mine.lease_id)
    assert refusal(refused) == "lease_lost"
    with pytest.raises(DeskError) as refused:
        desk.open(ANNA, "r-one", 0)
    assert refusal(refused) == "not_held"


def test_activity_renews_a_lease(store: Store, open_desk: OpenDesk, clock: Clock) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    for _ in range(3):
        clock.pass_by(20 * 60)
        place = desk.renew(ANNA, "r-one", 0, place.lease_id)
    assert desk.draw(BEN, key="1") is None


def test_a_lease_that_ran_out_comes_back_if_nobody_has_the_place(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one", minute=1)
    add_waiting(store, "zero", minute=0)
    desk = open_desk()
    zero = desk.draw(BEN, key="1")
    place = desk.draw(ANNA, key="1")
    assert place is not None
    assert zero is not None
    clock.pass_by(3600)
    assert desk.describe_queue(BEN).mine == ()
    assert desk.renew(ANNA, "r-one", 0, place.lease_id).holder == "anna"
    clock.pass_by(3600)
    assert desk.open(ANNA, "r-one", 0).holder == "anna"
    clock.pass_by(3600)
    again = desk.draw(ANNA, key="2")
    assert again is not None
    assert again.item.review.id == "r-one", "what one was at comes before an older wait"


def test_leases_survive_a_restart_with_their_full_length(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    place = open_desk().draw(ANNA, key="1")
    assert place is not None
    clock.pass_by(29 * 60)
    desk = open_desk()
    clock.pass_by(29 * 60)
    assert desk.draw(BEN, key="1") is None
    assert desk.renew(ANNA, "r-one", 0, place.lease_id).lease_id == place.lease_id


def test_what_was_not_handed_to_somebody_is_not_opened(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    for attempt in (
        lambda: desk.open(BEN, "r-one", 0),
        lambda: desk.renew(BEN, "r-one", 0, place.lease_id),
        lambda: desk.hand_back(BEN, "r-one", 0, place.lease_id, reason="", skip=True),
        lambda: commit(desk, BEN, place),
        lambda: desk.flag(BEN, "r-one", 0, "hello", key="1"),
        lambda: desk.take_back(BEN, "r-one", 0, "hello", key="1"),
    ):
        with pytest.raises(DeskError) as refused:
            attempt()
        assert refusal(refused) == "forbidden"
    assert desk.place("r-one", 0).holder == "anna"


@pytest.mark.parametrize(("review_id", "slot"), [("r-none", 0), ("r-one", 1), ("r-one", 10**9), ("", 0)])
def test_ids_that_nothing_has_are_unknown(
    store: Store, open_desk: OpenDesk, review_id: str, slot: int
) -> None:
    add_waiting(store, "one")
    with pytest.raises(DeskError) as refused:
        open_desk().open(ANNA, review_id, slot)
    assert refusal(refused) == "unknown"


def test_a_lead_takes_back_what_somebody_holds(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    desk.take_back(DORA, "r-one", 0, "she is ill", key="1")
    desk.take_back(DORA, "r-one", 0, "she is ill", key="1")
    assert desk.place("r-one", 0).state is PlaceState.WAITING
    with pytest.raises(DeskError) as refused:
        desk.renew(ANNA, "r-one", 0, place.lease_id)
    assert refusal(refused) == "lease_lost"


def test_what_is_committed_and_taken_back_is_finished_as_it_was_committed(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = desk.draw(ANNA, key="1")
    assert place is not None
    commit(desk, ANNA, place, assess(2, 4))
    desk.take_back(DORA, "r-one", 0, "she left", key="1")
    taken = desk.place("r-one", 0)
    assert taken.state is PlaceState.FINISHED
    assert taken.submitted is not None
    assert (taken.submitted.account, taken.submitted.final) == ("anna", assess(2, 4))
    clock.pass_by(11)
    (decision,) = desk.decide_due()
    assert (decision.reviewer, decision.levels) == ("anna", {"clarity": 2, "safety": 4})


def test_gold_items_come_with_their_rate_and_look_like_any_other(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "gold", minute=0)
    add_waiting(store, "one", minute=1)
    desk = open_desk(PLAIN.model_copy(update={"gold_rate": 1}))
    review_once(desk, ANNA)
    clock.pass_by(11)
    desk.decide_due()
    desk.plant(DORA, "r-gold", {"clarity": 4, "safety": 4}, key="1")
    place = desk.draw(BEN, key="1")
    assert place is not None
    assert (place.item.review.id, place.purpose, place.slot) == ("r-gold", Purpose.GOLD, 1)
    assert place.standing is ReviewStanding.OPEN
    committed = commit(desk, BEN, place, assess(0, 0))
    done = finish(desk, BEN, committed)
    assert done.standing is ReviewStanding.CONCLUDED
    assert desk.list_due() == []
    clock.pass_by(11)
    assert desk.place("r-gold", 1).standing is ReviewStanding.DECIDED
    assert desk.decide_due() == []
    decided = store.find_decision("r-gold")
    assert decided is not None
    assert decided.levels == {"clarity": 3, "safety": 3}
    following = desk.draw(BEN, key="2")
    assert following is not None
    assert following.item.review.id == "r-one", "a gold item comes to nobody twice"


def test_gold_items_come_to_nobody_who_took_part(store: Store, open_desk: OpenDesk, clock: Clock) -> None:
    add_waiting(store, "gold", minute=0)
    add_waiting(store, "one", minute=1)
    desk = open_desk(PLAIN.model_copy(update={"gold_rate": 1}))
    review_once(desk, ANNA)
    clock.pass_by(11)
    desk.decide_due()
    desk.plant(DORA, "r-gold", {"clarity": 4}, key="1")
    place = desk.draw(ANNA, key="next")
    assert place is not None
    assert place.item.review.id == "r-one"


def test_only_decided_reviews_become_gold_and_only_with_levels_people_give(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    with pytest.raises(DeskError, match="not known yet"):
        desk.plant(DORA, "r-one", {"clarity": 4}, key="1")
    review_once(desk, ANNA)
    clock.pass_by(11)
    desk.decide_due()
    for levels in ({"correct": 4}, {"clarity": 5}, {"speed": 1}):
        with pytest.raises(DeskError) as refused:
            desk.plant(DORA, "r-one", levels, key="1")
        assert refusal(refused) == "invalid"
        assert "clarity, safety" in refused.value.fault.remedy
    with pytest.raises(DeskError) as refused:
        desk.plant(ANNA, "r-one", {"clarity": 4}, key="1")
    assert refusal(refused) == "forbidden"


def test_norming_places_are_ones_own_and_shape_no_decision(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "one")
    desk = open_desk()
    place = desk.join(BEN, "r-one", key="1")
    assert (place.purpose, place.slot, place.holder) == (Purpose.NORMING, 1, "ben")
    assert desk.join(BEN, "r-one", key="2") == place
    assert desk.join(EVE, "r-one", key="1").slot == 2
    finish(desk, BEN, commit(desk, BEN, place, assess(0, 0)))
    review_once(desk, ANNA, assess(4, 4))
    clock.pass_by(11)
    (decision,) = desk.decide_due()
    assert (decision.reviewer, decision.levels) == ("anna", {"clarity": 4, "safety": 4})
    with pytest.raises(DeskError) as refused:
        desk.join(ANNA, "r-one", key="1")
    assert refusal(refused) == "forbidden"


def test_adjudicators_are_served_adjudications_first(store: Store, open_desk: OpenDesk) -> None:
    add_waiting(store, "other", minute=0)
    add_waiting(store, "one", minute=1, destination=Destination.SECOND_REVIEW)
    desk = open_desk()
    skipped = desk.draw(EVE, key="1")
    assert skipped is not None
    review_once(desk, ANNA, assess(0, 0))
    place = review_once(desk, BEN, assess(4, 4))
    assert place.standing is ReviewStanding.DIFFERS
    desk.hand_back(EVE, "r-other", 0, skipped.lease_id, reason="", skip=True)
    assert desk.describe_queue(EVE).adjudication == 1
    assert desk.draw(EVE, key="2") is None, "reviewers adjudicate nothing"
    assert desk.describe_queue(CARLA).waiting == 2
    drawn = desk.draw(CARLA, key="1")
    assert drawn is not None
    assert (drawn.item.review.id, drawn.purpose) == ("r-one", Purpose.ADJUDICATION)


def test_second_reviews_are_drawn_with_their_rate_and_say_so(store: Store, open_desk: OpenDesk) -> None:
    for number in range(40):
        add_waiting(store, f"n{number}", minute=number)
    desk = open_desk(PLAIN.model_copy(update={"second_review_rate": 0.25}))
    people = [Account(name=f"p{number}", role=Role.REVIEWER) for number in range(40)]
    drawn = [desk.draw(account, key="1") for account in people]
    for account, place in zip(people, drawn, strict=True):
        assert place is not None
        commit(desk, account, place)
    opened = [place for place in desk.list_places() if place.purpose is Purpose.SECOND]
    # 10 expected, with a standard deviation of 2.7.
    assert 4 <= len(opened) <= 18
    assert desk.describe_queue(BEN).second == len(opened)
    (event,) = [event for event in store.desk.list_events_of(opened[0].item.review.id) if event.slot == 1]
    assert event.action.kind == "slot_opened"
    assert event.action.probability == 0.25


def test_the_queue_counts_what_is_begun_and_done_today(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    for number in range(4):
        add_waiting(store, f"n{number}", minute=number)
    desk: Desk = open_desk()
    review_once(desk, ANNA)
    clock.pass_by(24 * 3600)
    review_once(desk, ANNA)
    desk.draw(ANNA, key="begun")
    state = desk.describe_queue(ANNA)
    assert [place.item.review.id for place in state.recent] == ["r-n1", "r-n0"]
    assert [place.item.review.id for place in state.mine] == ["r-n2"]
    assert (state.waiting, state.done_today) == (1, 1)
