"""Norming: the same submissions for everybody, blind until a lead reveals, and never by name."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.types import Account, DeskSettings
from tests.web.conftest import ClientFactory
from tests.web.reviews import commit, review_all


def _account(accounts: Accounts, name: str) -> Account:
    account = accounts.find(name)
    assert account is not None
    return account


@pytest.fixture
def decided(desk: Desk, accounts: Accounts) -> list[str]:
    """Reviews that carla has decided alone."""
    desk.change_settings(
        _account(accounts, "dora"),
        DeskSettings(second_review_rate=0.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0),
    )
    return [
        desk.decide(place.item.review.id).review_id
        for place in review_all(desk, _account(accounts, "carla"), 2)
    ]


def _start(lead: TestClient, review_ids: list[str]) -> str:
    answer = lead.post(
        "/norming", data={"title": "Races", "reviews": "\n".join(review_ids), "key": uuid4().hex}
    )
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def _vote(client: TestClient, desk: Desk, account: Account, session: str, review_id: str, level: int) -> None:
    answer = client.post(f"{session}/{review_id}/join", data={"key": uuid4().hex})
    assert answer.status_code == 303, answer.text
    match = re.fullmatch(rf"/review/{review_id}/(\d+)", answer.headers["location"])
    assert match
    commit(desk, account, desk.open(account, review_id, int(match[1])), level, reason=f"because {level}")


def test_a_session_from_vote_to_reveal_to_remark(
    decided: list[str], desk: Desk, accounts: Accounts, client: ClientFactory
) -> None:
    review_id = decided[0]
    anna, ben, dora = client("anna"), client("ben"), client("dora")
    session = _start(dora, [review_id])
    assert "Races" in anna.get("/norming").text
    _vote(anna, desk, _account(accounts, "anna"), session, review_id, 4)
    _vote(ben, desk, _account(accounts, "ben"), session, review_id, 1)
    # Blind for everybody, leads too.
    for one in (anna, ben, dora):
        assert one.get(f"{session}/{review_id}").status_code == 403
    assert "because 4" not in ben.get(session).text

    assert dora.post(f"{session}/reveal").status_code == 303
    page = anna.get(f"{session}/{review_id}")
    assert page.status_code == 200
    main = page.text[page.text.index("<main") :]
    for words in ("because 4", "because 1", "(you)"):
        assert words in main
    for name in ("anna", "Anna", "ben<", ">Ben", "carla", "Carla"):
        assert name not in main
    said = ben.post(f"{session}/{review_id}/remark", data={"text": "I missed the barrier.", "key": "k1"})
    assert said.status_code == 303
    ben.post(f"{session}/{review_id}/remark", data={"text": "I missed the barrier.", "key": "k1"})
    assert anna.get(f"{session}/{review_id}").text.count("I missed the barrier.") == 1


def test_history_of_a_submission_is_closed_to_whoever_may_still_vote(
    decided: list[str], desk: Desk, accounts: Accounts, client: ClientFactory
) -> None:
    anna = client("anna")
    assert "Decided" in anna.get(f"/history/{decided[0]}").text
    dora = client("dora")
    session = _start(dora, [decided[0]])
    assert "left out until" in anna.get(f"/history/{decided[0]}").text
    assert "Decided" not in anna.get(f"/history/{decided[0]}").text
    dora.post(f"{session}/reveal")
    assert "Decided" in anna.get(f"/history/{decided[0]}").text


def test_chance_draws_decided_reviews_that_no_session_uses(
    decided: list[str], desk: Desk, client: ClientFactory
) -> None:
    dora = client("dora")
    used = _start(dora, decided[:2])
    answer = dora.post("/norming", data={"title": "Drawn", "count": "50", "key": uuid4().hex})
    page = dora.get(answer.headers["location"]).text
    assert page.count("/join") == len(decided) - 2
    for review_id in decided[2:]:
        assert f"/{review_id}/join" in page
    none = dora.post("/norming", data={"title": "More", "count": "1", "key": uuid4().hex})
    assert none.status_code == 422
    assert "no decided review is left to draw from" in none.text
    assert 'value="More"' in none.text
    assert dora.get(used).status_code == 200


def test_the_same_form_sent_twice_opens_one_session(decided: list[str], client: ClientFactory) -> None:
    dora = client("dora")
    sent = {"title": "Once", "reviews": decided[0], "key": "the same"}
    first, second = (dora.post("/norming", data=sent).headers["location"] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("count", ["0", "-3", "51", "many", "", "1e9", "٣"])
def test_a_count_that_is_none_is_refused(client: ClientFactory, count: str) -> None:
    answer = client("dora").post("/norming", data={"title": "T", "count": count, "key": "k"})
    assert answer.status_code == 422
    assert "a number from 1 to 50" in answer.text


def test_only_leads_open_and_reveal_and_viewers_see_nothing(
    decided: list[str], client: ClientFactory
) -> None:
    session = _start(client("dora"), [decided[0]])
    for name in ("anna", "carla"):
        assert client(name).post("/norming", data={"title": "T", "count": "1", "key": "k"}).status_code == 403
        assert client(name).post(f"{session}/reveal").status_code == 403
    assert client("vera").get(session).status_code == 403


def test_unknown_sessions_and_reviews_are_not_found(decided: list[str], client: ClientFactory) -> None:
    dora = client("dora")
    session = _start(dora, [decided[0]])
    assert dora.get("/norming/n-none").status_code == 404
    assert dora.get(f"{session}/r-none").status_code == 404
    assert dora.post(f"{session}/{decided[1]}/join", data={"key": "k"}).status_code == 404
    assert dora.post("/norming", data={"title": "T", "reviews": "r-none", "key": "k"}).status_code == 404


def test_an_empty_remark_is_refused_beside_the_form(decided: list[str], client: ClientFactory) -> None:
    dora = client("dora")
    session = _start(dora, [decided[0]])
    dora.post(f"{session}/reveal")
    answer = dora.post(f"{session}/{decided[0]}/remark", data={"text": "  ", "key": "k"})
    assert answer.status_code == 422
    assert "a remark has 1 to 4,000 characters" in answer.text
