"""Norming: blind together, then revealed to those who took part; no names, and no grade at stake."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from pipeline.review.desk import Desk
from pipeline.review.errors import DeskError
from pipeline.review.norming import MOST, Norming, NormingSession
from pipeline.review.places import Place, PlaceState
from pipeline.store import Store
from pipeline.types import Account, Role
from tests.review.desk_examples import (
    ANNA,
    BEN,
    CARLA,
    DORA,
    EVE,
    VERA,
    Clock,
    add_waiting,
    assess,
    commit,
    finish,
    review_once,
)

OpenDesk = Callable[..., Desk]


@pytest.fixture
def reviews(store: Store) -> list[str]:
    found = [add_waiting(store, name, minute=number) for number, name in enumerate(("one", "two"))]
    store.flush()
    return found


@pytest.fixture
def desk(reviews: list[str], open_desk: OpenDesk) -> Desk:
    return open_desk()


@pytest.fixture
def norming(store: Store, desk: Desk, clock: Clock) -> Norming:
    return Norming(store, desk, clock=clock, chance=random.Random(7))


@pytest.fixture
def session(norming: Norming, reviews: list[str]) -> NormingSession:
    return norming.start(DORA, " Tails ", reviews, key="k")


def code_of(attempt: Callable[[], object]) -> str:
    with pytest.raises(DeskError) as refused:
        attempt()
    return refused.value.code


def vote(
    norming: Norming,
    desk: Desk,
    session: NormingSession,
    account: Account,
    review: str,
    *levels: int | None,
) -> Place:
    place = norming.join(account, session.id, review, key="join")
    return commit(desk, account, place, assess(*levels))


def decide_one(desk: Desk, clock: Clock, account: Account, *levels: int) -> str:
    """Have somebody review the next item in the queue until it is decided."""
    place = review_once(desk, account, assess(*levels))
    clock.pass_by(60)
    desk.decide_due()
    desk.refresh()
    return place.item.review.id


# A session


def test_a_session_is_there_for_all_who_review_and_after_a_restart(
    store: Store, desk: Desk, norming: Norming, session: NormingSession, clock: Clock, reviews: list[str]
) -> None:
    again = Norming(store, desk, clock=clock)
    for account in (ANNA, CARLA, DORA):
        assert again.list(account) == [session]
    assert (session.title, session.review_ids, session.revealed_at) == ("Tails", tuple(reviews), None)
    assert code_of(lambda: norming.list(VERA)) == "forbidden"
    assert code_of(lambda: norming.find(ANNA, "n-none")) == "unknown"


def test_the_newest_session_comes_first(norming: Norming, clock: Clock, reviews: list[str]) -> None:
    first = norming.start(DORA, "first", reviews[:1], key="1")
    clock.pass_by(1)
    second = norming.start(DORA, "second", reviews[1:], key="2")
    assert norming.list(ANNA) == [second, first]


def test_the_same_request_opens_one_session(
    norming: Norming, session: NormingSession, reviews: list[str]
) -> None:
    assert norming.start(DORA, " Tails ", reviews, key="k") == session
    assert norming.list(ANNA) == [session]


def test_only_a_lead_opens_and_reveals(norming: Norming, session: NormingSession, reviews: list[str]) -> None:
    for account in (ANNA, CARLA, VERA):
        assert code_of(lambda account=account: norming.start(account, "x", reviews, key="z")) == "forbidden"
        assert code_of(lambda account=account: norming.reveal(account, session.id)) == "forbidden"
        assert code_of(lambda account=account: norming.choose(account, 1)) == "forbidden"
    assert norming.find(ANNA, session.id).revealed_at is None


@pytest.mark.parametrize(
    ("title", "chosen", "code"),
    [
        ("x", [], "invalid"),
        ("x", [f"r-{number}" for number in range(MOST + 1)], "invalid"),
        ("x", ["r-none"], "unknown"),
        (" ", ["r-one"], "invalid"),
        ("x" * 201, ["r-one"], "invalid"),
    ],
    ids=["none", "too many", "unknown", "no title", "a long title"],
)
def test_a_session_that_makes_no_sense_is_refused(
    norming: Norming, title: str, chosen: list[str], code: str
) -> None:
    assert code_of(lambda: norming.start(DORA, title, chosen, key="k")) == code
    assert norming.list(DORA) == []


def test_a_submission_is_in_one_session_only(norming: Norming, session: NormingSession) -> None:
    with pytest.raises(DeskError, match="r-one is in session 'Tails' already"):
        norming.start(DORA, "Again", ["r-one"], key="other")


def test_gold_items_are_kept_out_and_chance_chooses_among_the_decided(
    norming: Norming, desk: Desk, clock: Clock
) -> None:
    assert norming.choose(DORA, 5) == ()
    done = [decide_one(desk, clock, ANNA, 3, 3) for _ in range(2)]
    assert sorted(norming.choose(DORA, 5)) == sorted(done)
    assert len(norming.choose(DORA, 1)) == 1
    desk.plant(DORA, done[0], {"clarity": 3, "safety": 3}, key="plant")
    assert norming.choose(DORA, 5) == (done[1],)
    assert code_of(lambda: norming.start(DORA, "x", [done[0]], key="k")) == "invalid"
    norming.start(DORA, "x", [done[1]], key="k")
    assert norming.choose(DORA, 5) == ()


# Taking part


def test_everybody_has_a_place_of_their_own(norming: Norming, desk: Desk, session: NormingSession) -> None:
    anna = norming.join(ANNA, session.id, "r-one", key="a")
    ben = norming.join(BEN, session.id, "r-one", key="b")
    assert anna.slot != ben.slot
    assert norming.join(ANNA, session.id, "r-one", key="again").slot == anna.slot
    commit(desk, ANNA, anna)
    first, second = norming.list_items(BEN, session.id)
    assert (first.at_work, first.committed, first.decided) == (1, 1, False)
    assert first.mine is not None
    assert (first.mine.slot, first.mine.state) == (ben.slot, PlaceState.HELD)
    assert (second.review_id, second.at_work, second.committed, second.mine) == ("r-two", 0, 0, None)
    assert norming.join(ANNA, session.id, "r-one", key="later").state is PlaceState.COMMITTED


def test_a_submission_outside_the_session_is_not_joined(
    norming: Norming, store: Store, desk: Desk, reviews: list[str]
) -> None:
    session = norming.start(DORA, "One", reviews[:1], key="k")
    assert code_of(lambda: norming.join(ANNA, session.id, "r-two", key="a")) == "unknown"
    assert code_of(lambda: norming.join(ANNA, "n-none", "r-one", key="a")) == "unknown"
    assert code_of(lambda: norming.join(VERA, session.id, "r-one", key="a")) == "forbidden"


def test_nobody_joins_after_the_reveal_but_who_is_at_it_may_commit(
    norming: Norming, desk: Desk, session: NormingSession
) -> None:
    held = norming.join(ANNA, session.id, "r-one", key="a")
    norming.reveal(DORA, session.id)
    assert code_of(lambda: norming.join(BEN, session.id, "r-one", key="b")) == "too_late"
    assert code_of(lambda: norming.compare(ANNA, session.id, "r-one")) == "forbidden"
    commit(desk, ANNA, norming.join(ANNA, session.id, "r-one", key="c"))
    assert held.slot == norming.join(ANNA, session.id, "r-one", key="d").slot
    assert len(norming.compare(ANNA, session.id, "r-one").votes) == 1


def test_who_took_part_is_not_served_the_review_and_the_decision_is_anothers(
    norming: Norming, desk: Desk, session: NormingSession, store: Store, clock: Clock
) -> None:
    finish(desk, ANNA, vote(norming, desk, session, ANNA, "r-one", 0, 0))
    assert decide_one(desk, clock, BEN, 4, 3) == "r-one"
    decision = store.load_review("r-one").decision
    assert decision is not None
    assert (decision.reviewer, decision.levels["clarity"], decision.levels["safety"]) == ("ben", 4, 3)
    following = desk.draw(ANNA, key="next")
    assert following is not None
    assert following.item.review.id == "r-two"


# The reveal


def test_before_the_reveal_nobody_sees_a_level(norming: Norming, desk: Desk, session: NormingSession) -> None:
    vote(norming, desk, session, ANNA, "r-one", 3, 3)
    for account in (ANNA, BEN, DORA):
        assert code_of(lambda account=account: norming.compare(account, session.id, "r-one")) == "forbidden"
        assert (
            code_of(lambda account=account: norming.remark(account, session.id, "r-one", "Hm", key="r"))
            == "forbidden"
        )


def test_the_reveal_shows_all_levels_without_names_and_where_they_differ_first(
    norming: Norming, desk: Desk, session: NormingSession, clock: Clock
) -> None:
    vote(norming, desk, session, ANNA, "r-one", 3, 0)
    vote(norming, desk, session, BEN, "r-one", 3, 4)
    vote(norming, desk, session, EVE, "r-one", 2, None)
    revealed = norming.reveal(DORA, session.id)
    assert revealed.revealed_at == clock.now
    clock.pass_by(5)
    assert norming.reveal(DORA, session.id) == revealed
    seen = norming.compare(ANNA, session.id, "r-one")
    assert seen.criteria == ("safety", "clarity")
    assert [seen.spread(criterion) for criterion in seen.criteria] == [4, 1]
    assert sorted(seen.levels("clarity"), key=str) == [2, 3, 3]
    assert sorted(seen.levels("safety"), key=str) == [0, 4, None]
    assert [vote.letter for vote in seen.votes] == ["A", "B", "C"]
    (mine,) = [vote for vote in seen.votes if vote.mine]
    assert (mine.answers["clarity"].level, mine.answers["safety"].level) == (3, 0)
    for name in ("anna", "ben", "eve"):
        assert f"'{name}'" not in repr(seen)


def test_only_those_who_assessed_it_see_it_while_it_is_undecided(
    norming: Norming, desk: Desk, session: NormingSession, clock: Clock
) -> None:
    vote(norming, desk, session, ANNA, "r-one", 3, 3)
    norming.reveal(DORA, session.id)
    for account in (BEN, DORA):
        assert code_of(lambda account=account: norming.compare(account, session.id, "r-one")) == "forbidden"
    assert decide_one(desk, clock, BEN, 1, 1) == "r-one"
    for account in (ANNA, BEN, DORA):
        assert sorted(norming.compare(account, session.id, "r-one").levels("clarity"), key=str) == [1, 3]
    assert code_of(lambda: norming.compare(EVE, session.id, "r-one")) == "forbidden"


def test_remarks_are_kept_once_and_seen_without_names(
    norming: Norming, desk: Desk, session: NormingSession, clock: Clock
) -> None:
    for account in (ANNA, BEN):
        vote(norming, desk, session, account, "r-one", 3, 3)
    norming.reveal(DORA, session.id)
    for _ in range(2):
        norming.remark(ANNA, session.id, "r-one", " The tail is <b>safe</b>. ", key="r1")
    clock.pass_by(1)
    norming.remark(BEN, session.id, "r-one", "Is it?", key="r1")
    remarks = norming.compare(ANNA, session.id, "r-one").remarks
    assert [(remark.text, remark.mine) for remark in remarks] == [
        ("The tail is <b>safe</b>.", True),
        ("Is it?", False),
    ]
    for text in ("", " ", "x" * 4001):
        assert (
            code_of(lambda text=text: norming.remark(ANNA, session.id, "r-one", text, key="r2")) == "invalid"
        )
    assert code_of(lambda: norming.remark(EVE, session.id, "r-one", "Me too", key="r")) == "forbidden"


def test_there_are_letters_for_more_people_than_letters(
    norming: Norming, desk: Desk, session: NormingSession
) -> None:
    for number in range(28):
        person = Account(name=f"p{number:02}", role=Role.REVIEWER)
        vote(norming, desk, session, person, "r-one", number % 5, 3)
    norming.reveal(DORA, session.id)
    letters = [
        vote.letter
        for vote in norming.compare(Account(name="p00", role=Role.REVIEWER), session.id, "r-one").votes
    ]
    assert letters[25:] == ["Z", "AA", "AB"]
    assert len(set(letters)) == 28
