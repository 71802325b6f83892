"""History: all that happened, by whom and when, and nothing that would lead whoever still assesses it."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.collect import Collector
from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import (
    Account,
    Action,
    Assessment,
    Claimed,
    Committed,
    DeskEvent,
    DeskSettings,
    Planted,
    Purpose,
    Released,
    Role,
    SlotOpened,
)
from pipeline.web.sight import Sight, find_sight
from pipeline.web.timeline import compose_timeline
from tests.web.conftest import ClientFactory
from tests.web.reviews import commit, draw, finish, new_key

ANNA = Account(name="anna", role=Role.REVIEWER)
DORA = Account(name="dora", role=Role.LEAD)
NOTHING = Sight(judge=False, others=False, people=False)
EVERYTHING = Sight(judge=True, others=True, people=True)
START = datetime(2026, 12, 1, 9, tzinfo=UTC)


def _account(accounts: Accounts, name: str) -> Account:
    account = accounts.find(name)
    assert account is not None
    return account


def _events(*happened: tuple[str, int, Action]) -> list[DeskEvent]:
    return [
        DeskEvent(
            id=f"e{number}",
            review_id="r-1",
            slot=slot,
            actor=actor,
            at=START + timedelta(minutes=number),
            action=action,
        )
        for number, (actor, slot, action) in enumerate(happened)
    ]


def _committed() -> Committed:
    return Committed(assessment=Assessment(), rubric="0" * 64, seconds=1)


# Who may see what


def test_before_the_commit_nobody_sees_what_would_lead_them() -> None:
    held = _events(("anna", 0, Claimed(lease_id="l1")))
    assert find_sight(ANNA, [], decided=False) == NOTHING
    assert find_sight(ANNA, held, decided=False) == NOTHING
    assert find_sight(ANNA, held, decided=True) == NOTHING


def test_a_lead_sees_who_holds_an_open_review_but_no_level() -> None:
    assert find_sight(DORA, _events(("anna", 0, Claimed(lease_id="l1"))), decided=False) == Sight(
        judge=False, others=False, people=True
    )


def test_a_lead_who_assesses_it_themself_sees_no_more_than_anybody() -> None:
    assert find_sight(DORA, _events(("dora", 1, Claimed(lease_id="l1"))), decided=True) == NOTHING


def test_after_ones_own_commit_the_judge_is_shown_and_others_once_it_is_decided() -> None:
    events = _events(("anna", 0, Claimed(lease_id="l1")), ("anna", 0, _committed()))
    assert find_sight(ANNA, events, decided=False) == Sight(judge=True, others=False, people=False)
    assert find_sight(ANNA, events, decided=True) == EVERYTHING


def test_a_lease_that_ended_is_no_longer_held() -> None:
    events = _events(("anna", 0, Claimed(lease_id="l1")), ("desk", 0, Released(lease_id="l1", why="expired")))
    assert find_sight(ANNA, events, decided=True) == EVERYTHING


def test_a_decided_review_that_serves_as_gold_stays_closed_to_those_who_may_be_served_it() -> None:
    events = _events(("dora", 0, Planted(levels={"p": 3})))
    assert find_sight(ANNA, events, decided=True) == NOTHING
    assert find_sight(DORA, events, decided=True) == EVERYTHING
    taken_back = [*events, *_events(("dora", 0, Planted(levels={})))]
    assert find_sight(ANNA, taken_back, decided=True) == EVERYTHING


def test_so_does_one_in_a_blind_norming_session_until_ones_own_commit() -> None:
    assert find_sight(ANNA, [], decided=True, in_session=True) == NOTHING
    events = _events(("anna", 1, Claimed(lease_id="l1")), ("anna", 1, _committed()))
    assert find_sight(ANNA, events, decided=True, in_session=True) == EVERYTHING


_ACTIONS = st.one_of(
    st.builds(Claimed, lease_id=st.sampled_from(["l1", "l2"])),
    st.builds(Released, lease_id=st.sampled_from(["l1", "l2"]), why=st.sampled_from(["expired", "skipped"])),
    st.just(_committed()),
    st.builds(SlotOpened, purpose=st.sampled_from(list(Purpose))),
    st.builds(Planted, levels=st.sampled_from([{}, {"p": 1}])),
)


@given(
    st.lists(st.tuples(st.sampled_from(["anna", "ben", "desk"]), st.integers(0, 2), _ACTIONS), max_size=8),
    st.booleans(),
)
def test_whoever_has_just_been_served_a_place_sees_nothing(
    happened: list[tuple[str, int, Action]], decided: bool
) -> None:
    events = _events(*happened, ("anna", 7, Claimed(lease_id="last")))
    assert find_sight(ANNA, events, decided=decided) == NOTHING


# The page


@pytest.fixture
def plain_desk(desk: Desk, accounts: Accounts) -> Desk:
    desk.change_settings(
        _account(accounts, "dora"),
        DeskSettings(second_review_rate=0.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0),
    )
    return desk


def _judge_words(store: Store, grading_id: str) -> set[str]:
    detail = Collector(store).load_detail(store.load_summary(grading_id))
    assert detail.judgment is not None
    assert detail.route is not None
    words = {score.reason for score in detail.judgment.scores if score.source == "judge"}
    return {detail.route.reason, detail.judgment.judge} | words


def test_an_open_review_shows_what_checks_found_and_nothing_of_the_judge(
    plain_desk: Desk, client: ClientFactory, store: Store
) -> None:
    review = plain_desk.list_places()[0].item.review
    for name in ("anna", "carla", "dora"):
        page = client(name).get(f"/history/{review.id}").text
        assert "Graded: correct" in page
        assert "Checked: " in page
        assert "Review opened" in page
        assert "left out until you have committed" in page
        for words in _judge_words(store, review.grading_id):
            assert html.escape(words) not in page


def test_after_the_decision_everybody_reads_who_said_what(
    plain_desk: Desk, accounts: Accounts, client: ClientFactory, store: Store
) -> None:
    anna = _account(accounts, "anna")
    place = finish(plain_desk, anna, commit(plain_desk, anna, draw(plain_desk, anna), 3, "A sound kernel."))
    review = place.item.review
    before = client("ben").get(f"/history/{review.id}").text
    assert "A sound kernel." not in before
    assert ">anna<" not in before
    plain_desk.decide(review.id)
    page = client("ben").get(f"/history/{review.id}").text
    for title in (
        "Drafted by the judge",
        "Claimed",
        "Blind assessment committed",
        "Final assessment",
        "Decided",
    ):
        assert title in page
    assert "A sound kernel." in page
    assert "anna" in page
    assert "Routed to review" in page


def test_every_row_has_an_address_of_its_own_that_stays(
    plain_desk: Desk, accounts: Accounts, client: ClientFactory
) -> None:
    anna = _account(accounts, "anna")
    place = draw(plain_desk, anna)
    first = re.findall(r'<li id="([^"]+)">', client("anna").get(f"/history/{place.item.review.id}").text)
    assert len(first) == len(set(first)) >= 5
    commit(plain_desk, anna, place, 2)
    later = re.findall(r'<li id="([^"]+)">', client("anna").get(f"/history/{place.item.review.id}").text)
    assert len(later) == len(set(later))
    assert set(first) < set(later)
    page = client("anna").get(f"/history/{place.item.review.id}").text
    for anchor in later:
        assert f'href="#{anchor}"' in page


def test_an_author_stays_a_pseudonym(plain_desk: Desk, client: ClientFactory) -> None:
    places = plain_desk.list_places()
    for place in places:
        page = client("dora").get(f"/history/{place.item.review.id}").text
        assert place.item.origin not in page
        assert html.escape(plain_desk.pseudonym(place.item.review.id)) in page


def test_hostile_words_are_inert(plain_desk: Desk, accounts: Accounts, client: ClientFactory) -> None:
    anna = _account(accounts, "anna")
    place = draw(plain_desk, anna)
    hostile = '<img src=x onerror="alert(1)">\u202e\x1b[31m'
    plain_desk.flag(anna, place.item.review.id, place.slot, hostile, key=new_key())
    page = client("dora").get(f"/history/{place.item.review.id}").text
    assert "&lt;img src=x" in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_an_unknown_review_is_not_found_and_a_viewer_may_not_look(
    plain_desk: Desk, client: ClientFactory
) -> None:
    assert client("anna").get("/history/r-none").status_code == 404
    assert client("vera").get(f"/history/{plain_desk.list_places()[0].item.review.id}").status_code == 403


def test_rows_are_in_the_order_of_their_times(plain_desk: Desk, accounts: Accounts, store: Store) -> None:
    anna = _account(accounts, "anna")
    place = finish(plain_desk, anna, commit(plain_desk, anna, draw(plain_desk, anna), 1))
    review = place.item.review
    plain_desk.decide(review.id)
    detail = Collector(store).load_detail(store.load_summary(review.grading_id))
    rows = compose_timeline(
        detail,
        review,
        store.desk.list_events_of(review.id),
        store.find_decision(review.id),
        rubrics={place.item.rubric: "small v7"},
        viewer="anna",
        sight=EVERYTHING,
    )
    assert [row.version for row in rows if row.title == "Blind assessment committed"] == ["rubric small v7"]
    times = [row.at for row in rows if row.at is not None]
    assert times == sorted(times)
    assert [row.title for row in rows][:3] == ["Received", "Graded: correct", rows[2].title]
    assert rows[-1].title == "Decided"
