"""What leads look up and release: reviews by the beginning of an id, and decisions that were held back."""

from __future__ import annotations

import pytest

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.store import Store
from tests.review.conftest import OpenDesk
from tests.review.desk_examples import (
    ANNA,
    BEN,
    CARLA,
    DORA,
    PLAIN,
    VERA,
    Clock,
    add_waiting,
    review_once,
)

HOLD = PLAIN.model_copy(update={"hold_release": True})


@pytest.fixture
def named(store: Store, open_desk: OpenDesk) -> Desk:
    for minute, name in enumerate(("aa1", "aa1b", "ab")):
        add_waiting(store, name, minute=minute)
    return open_desk()


@pytest.mark.parametrize(
    ("beginning", "found"),
    [
        ("r-ab", "r-ab"),
        ("r-aa1b", "r-aa1b"),
        # Whole, though another goes on from it.
        ("r-aa1", "r-aa1"),
    ],
)
def test_a_review_is_found_by_what_its_id_alone_begins_with(named: Desk, beginning: str, found: str) -> None:
    assert named.find_review(beginning) == found


@pytest.mark.parametrize(
    ("beginning", "code"),
    [("", "unknown"), ("r-b", "unknown"), ("b-ab", "unknown"), ("r-ab ", "unknown"), ("r-aa", "invalid")],
)
def test_what_begins_no_id_or_several_is_refused(named: Desk, beginning: str, code: str) -> None:
    with pytest.raises(DeskError) as refused:
        named.find_review(beginning)
    assert refused.value.code == code
    assert ("r-aa1, r-aa1b" in str(refused.value)) == (code == "invalid")


def test_of_many_ids_that_begin_alike_some_are_named(store: Store, open_desk: OpenDesk) -> None:
    for number in range(7):
        add_waiting(store, f"same{number}", minute=number)
    with pytest.raises(DeskError) as refused:
        open_desk().find_review("r-same")
    assert "r-same4 and others" in str(refused.value)


def test_what_is_held_back_is_listed_by_age_once_it_cannot_be_undone(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    add_waiting(store, "late", minute=2)
    desk = open_desk(HOLD)
    review_once(desk, ANNA)
    add_waiting(store, "early", minute=1)
    desk.refresh()
    review_once(desk, BEN)
    assert desk.list_held_back() == []
    clock.pass_by(PLAIN.undo_seconds + 1)
    assert desk.list_held_back() == ["r-early", "r-late"]
    desk.change_settings(DORA, PLAIN)
    assert desk.list_held_back() == []


def test_a_lead_releases_one_or_all_and_nobody_else_does(
    store: Store, open_desk: OpenDesk, clock: Clock
) -> None:
    for minute, name in enumerate(("one", "two", "three", "four")):
        add_waiting(store, name, minute=minute)
    desk = open_desk(HOLD)
    for _ in range(3):
        review_once(desk, ANNA)
    clock.pass_by(PLAIN.undo_seconds + 1)
    for account in (ANNA, CARLA, VERA):
        for attempt in (
            lambda who=account: desk.release(who, "r-one"),
            lambda who=account: desk.release_all(who),
        ):
            with pytest.raises(DeskError) as refused:
                attempt()
            assert refused.value.code == "forbidden"
    for review_id in ("r-four", "r-none"):
        with pytest.raises(DeskError) as refused:
            desk.release(DORA, review_id)
        assert refused.value.code == "incomplete"
    assert desk.release(DORA, "r-two").review_id == "r-two"
    assert [decision.review_id for decision in desk.release_all(DORA)] == ["r-one", "r-three"]
    assert desk.release_all(DORA) == []
