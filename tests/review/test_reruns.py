"""Who may have a submission run again, how much at a time, and who sees what came of it."""

from __future__ import annotations

import pytest

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.review.places import Place
from pipeline.review.reruns import (
    MOST_EACH,
    MOST_OPEN,
    MOST_PER_HOUR,
    Rerun,
    RerunKind,
    RerunOutcome,
    Reruns,
    RerunState,
)
from pipeline.store import Store
from pipeline.types import Account, Fault, Owner, Role, Verdict
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import ANNA, BEN, DORA, VERA, Clock, add_waiting, commit, finish

OUTCOME = RerunOutcome(verdict=Verdict.CORRECT, cases=(), seed_id="0123456789ab")


@pytest.fixture
def desk(store: Store, open_desk: OpenDesk) -> Desk:
    for number in range(3):
        add_waiting(store, f"item{number}", minute=number)
    return open_desk()


@pytest.fixture
def reruns(desk: Desk, clock: Clock) -> Reruns:
    return Reruns(desk, clock)


def draw(desk: Desk, account: Account) -> Place:
    place = desk.draw(account, key=f"draw-{account.name}")
    assert place is not None
    return place


def ask(
    reruns: Reruns, account: Account, place: Place, kind: RerunKind = RerunKind.REPLAY, key: str = ""
) -> Rerun:
    return reruns.ask(account, place.item.review.id, place.slot, kind, key=key or f"{kind}-{place.slot}")


def refused(reruns: Reruns, account: Account, place: Place, kind: RerunKind = RerunKind.REPLAY) -> DeskError:
    with pytest.raises(DeskError) as found:
        ask(reruns, account, place, kind, key="another")
    return found.value


def run_one(reruns: Reruns) -> None:
    taken = reruns.take(0)
    assert taken is not None
    reruns.settle(taken, OUTCOME)


def test_one_is_asked_for_runs_and_ends(desk: Desk, reruns: Reruns, clock: Clock) -> None:
    place = draw(desk, ANNA)
    asked = ask(reruns, ANNA, place)
    assert (asked.state, asked.grading_id) == (RerunState.WAITING, place.item.review.grading_id)
    taken = reruns.take(0)
    assert taken is not None
    assert (taken.id, taken.state) == (asked.id, RerunState.RUNNING)
    assert reruns.take(0) is None
    reruns.settle(taken, OUTCOME)
    (ended,) = reruns.list(ANNA, place.item.review.id, place.slot)
    assert (ended.state, ended.outcome, ended.ended_at) == (RerunState.ENDED, OUTCOME, clock())


def test_a_fault_is_kept_as_what_came_of_it(desk: Desk, reruns: Reruns) -> None:
    place = draw(desk, ANNA)
    ask(reruns, ANNA, place)
    taken = reruns.take(0)
    assert taken is not None
    fault = Fault(owner=Owner.ENVIRONMENT, code="no_sandbox", message="no sandbox works here")
    settled = reruns.settle(taken, fault)
    assert (settled.fault, settled.outcome, settled.is_open) == (fault, None, False)


def test_asking_twice_is_asking_once(desk: Desk, reruns: Reruns) -> None:
    place = draw(desk, ANNA)
    first = ask(reruns, ANNA, place, key="one")
    assert ask(reruns, ANNA, place, key="two") == first
    run_one(reruns)
    assert ask(reruns, ANNA, place, key="one").id == first.id
    assert ask(reruns, ANNA, place, key="three").id != first.id


def test_the_newest_comes_first(desk: Desk, reruns: Reruns) -> None:
    place = draw(desk, ANNA)
    for kind in (RerunKind.REPLAY, RerunKind.FRESH):
        ask(reruns, ANNA, place, kind)
        run_one(reruns)
    kinds = [rerun.kind for rerun in reruns.list(ANNA, place.item.review.id, place.slot)]
    assert kinds == [RerunKind.FRESH, RerunKind.REPLAY]


def test_a_place_runs_in_one_way_at_a_time(desk: Desk, reruns: Reruns) -> None:
    place = draw(desk, ANNA)
    ask(reruns, ANNA, place)
    assert refused(reruns, ANNA, place, RerunKind.FRESH).code == "too_many"
    run_one(reruns)
    assert ask(reruns, ANNA, place, RerunKind.FRESH).kind is RerunKind.FRESH


def test_those_before_are_counted(desk: Desk, reruns: Reruns) -> None:
    first = ask(reruns, ANNA, draw(desk, ANNA))
    second = ask(reruns, BEN, draw(desk, BEN))
    assert (reruns.count_before(first), reruns.count_before(second)) == (0, 1)
    taken = reruns.take(0)
    assert taken is not None
    assert taken.id == first.id
    assert reruns.count_before(second) == 1
    assert reruns.count_before(reruns.settle(taken, OUTCOME)) == 0
    assert reruns.count_before(second) == 0


@pytest.mark.parametrize("account", [BEN, DORA, VERA], ids=lambda account: account.name)
def test_whoever_does_not_have_the_place_neither_asks_nor_sees(
    desk: Desk, reruns: Reruns, account: Account
) -> None:
    place = draw(desk, ANNA)
    ask(reruns, ANNA, place)
    assert refused(reruns, account, place).code in ("forbidden", "not_held")
    assert reruns.list(account, place.item.review.id, place.slot) == []


def test_the_next_holder_of_a_place_does_not_see_what_the_last_one_ran(desk: Desk, reruns: Reruns) -> None:
    place = draw(desk, ANNA)
    ask(reruns, ANNA, place)
    desk.hand_back(ANNA, place.item.review.id, place.slot, place.lease_id, reason="", skip=True)
    again = draw(desk, BEN)
    assert again.item == place.item
    assert reruns.list(BEN, again.item.review.id, again.slot) == []
    assert refused(reruns, ANNA, place).code in ("forbidden", "not_held")
    assert ask(reruns, BEN, again).account == "ben"


def test_it_can_be_asked_for_after_the_commit_and_after_finishing(desk: Desk, reruns: Reruns) -> None:
    place = commit(desk, ANNA, draw(desk, ANNA))
    ask(reruns, ANNA, place)
    run_one(reruns)
    place = finish(desk, ANNA, place)
    assert ask(reruns, ANNA, place, RerunKind.FRESH).state is RerunState.WAITING


def test_one_person_has_few_at_a_time(desk: Desk, reruns: Reruns) -> None:
    places = []
    for _ in range(MOST_EACH + 1):
        place = draw_new(desk, ANNA)
        places.append(finish(desk, ANNA, commit(desk, ANNA, place)))
    for place in places[:-1]:
        ask(reruns, ANNA, place)
    found = refused(reruns, ANNA, places[-1])
    assert (found.code, found.status) == ("too_many", 429)
    assert f"{MOST_EACH} reruns" in str(found)
    run_one(reruns)
    ask(reruns, ANNA, places[-1])


def test_one_person_asks_for_so_many_an_hour(desk: Desk, reruns: Reruns, clock: Clock) -> None:
    place = finish(desk, ANNA, commit(desk, ANNA, draw(desk, ANNA)))
    for number in range(MOST_PER_HOUR):
        ask(reruns, ANNA, place, key=f"number {number}")
        run_one(reruns)
    assert "within an hour" in str(refused(reruns, ANNA, place))
    clock.pass_by(3600)
    ask(reruns, ANNA, place, key="an hour later")


def test_a_clock_that_went_back_keeps_nobody_waiting(desk: Desk, reruns: Reruns, clock: Clock) -> None:
    place = finish(desk, ANNA, commit(desk, ANNA, draw(desk, ANNA)))
    for number in range(MOST_PER_HOUR):
        ask(reruns, ANNA, place, key=f"number {number}")
        run_one(reruns)
    clock.pass_by(-24 * 3600)
    ask(reruns, ANNA, place, key="a day earlier")


def test_the_desk_holds_so_many_at_a_time(store: Store, open_desk: OpenDesk, clock: Clock) -> None:
    for number in range(MOST_OPEN + 1):
        add_waiting(store, f"of-many{number}", minute=number)
    desk = open_desk()
    reruns = Reruns(desk, clock)
    people = [Account(name=f"person{number}", role=Role.REVIEWER) for number in range(MOST_OPEN + 1)]
    places = [draw(desk, person) for person in people]
    for person, place in zip(people[:-1], places[:-1], strict=True):
        ask(reruns, person, place)
    assert f"{MOST_OPEN} reruns" in str(refused(reruns, people[-1], places[-1]))
    run_one(reruns)
    ask(reruns, people[-1], places[-1])


def test_what_is_oldest_is_forgotten_and_nothing_that_waits(desk: Desk, reruns: Reruns, clock: Clock) -> None:
    waiting = draw(desk, BEN)
    place = finish(desk, ANNA, commit(desk, ANNA, draw(desk, ANNA)))
    first = ask(reruns, ANNA, place, key="first")
    run_one(reruns)
    kept = ask(reruns, BEN, waiting)
    taken = reruns.take(0)
    assert taken is not None
    for number in range(300):
        clock.pass_by(240)
        ask(reruns, ANNA, place, key=f"number {number}")
        run_one(reruns)
    known = reruns.list(ANNA, place.item.review.id, place.slot)
    assert first.id not in {rerun.id for rerun in known}
    assert len(known) < 300
    assert [rerun.id for rerun in reruns.list(BEN, waiting.item.review.id, waiting.slot)] == [kept.id]


def test_no_event_tells_of_it(store: Store, desk: Desk, reruns: Reruns) -> None:
    place = draw(desk, ANNA)
    before = len(store.desk.list_events_of(place.item.review.id))
    ask(reruns, ANNA, place)
    run_one(reruns)
    assert len(store.desk.list_events_of(place.item.review.id)) == before


def draw_new(desk: Desk, account: Account) -> Place:
    place = desk.draw(account, key=f"draw-{len(desk.describe_queue(account).recent)}")
    assert place is not None
    return place
