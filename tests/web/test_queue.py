"""The queue's page, and drawing from it."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.types import Account, Role
from tests.web.conftest import WAITING, ClientFactory
from tests.web.reviews import commit, draw, finish, new_key


@pytest.fixture
def anna(accounts: Accounts) -> Account:
    found = accounts.find("anna")
    assert found
    return found


def keep(desk: Desk, accounts: Accounts, **changes: object) -> None:
    """Change settings of the desk as its lead."""
    dora = accounts.find("dora")
    assert dora
    desk.change_settings(dora, desk.settings().model_copy(update={"second_review_rate": 0.0, **changes}))


def count(page: str, label: str) -> str:
    match = re.search(rf"<b>([^<]*)</b><span>{label}", page)
    assert match, label
    return match[1]


def go(client: TestClient, key: str = "") -> str:
    answer = client.post("/draw", data={"key": key or new_key()})
    assert answer.status_code == 303
    location: str = answer.headers["Location"]
    return location


def test_the_page_says_what_waits_and_offers_one_button(client: ClientFactory) -> None:
    page = client("anna").get("/queue").text
    assert count(page, "waiting for you") == str(len(WAITING))
    assert count(page, "held by others") == "0"
    assert page.count('action="/draw"') == 1
    assert ">Next item</button>" in page


def test_the_page_says_nothing_that_would_lead_a_reviewer(client: ClientFactory, desk: Desk) -> None:
    reasons = {place.item.review.reason for place in desk.list_places()}
    assert all(reasons)
    anna = client("anna")
    go(anna)
    page = anna.get("/queue").text
    assert "Begun" in page
    for word in (*reasons, "mira", "tomas", "ines", "good_", "confidence"):
        assert word not in page


def test_the_server_picks_and_nobody_gets_what_another_has(client: ClientFactory) -> None:
    anna, ben = client("anna"), client("ben")
    first, second = go(anna), go(ben)
    assert re.fullmatch(r"/review/r-[0-9a-f]{16}/0", first)
    assert second != first
    page = ben.get("/queue").text
    assert count(page, "held by others until ..:.. UTC") == "1"
    assert "anna" not in page.lower()


def test_a_draw_sent_twice_is_one_draw(client: ClientFactory, desk: Desk) -> None:
    anna = client("anna")
    assert go(anna, "the-same-key") == go(anna, "the-same-key")
    assert sum(place.holder == "anna" for place in desk.list_places()) == 1


def test_what_is_begun_comes_before_anything_new(client: ClientFactory) -> None:
    anna = client("anna")
    first = go(anna)
    page = anna.get("/queue").text
    assert f'href="{first}"' in page
    assert "Go on with what is begun" in page
    assert go(anna) == first


def test_an_empty_queue_says_how_many_are_held_and_until_when(
    client: ClientFactory, desk: Desk, accounts: Accounts
) -> None:
    for name in ("ben", "carla", "dora"):
        holder = accounts.find(name)
        assert holder
        draw(desk, holder)
    vera = accounts.find("vera")
    assert vera
    dora = accounts.find("dora")
    assert dora
    accounts.change(dora, vera.model_copy(update={"role": Role.REVIEWER}))
    holder = accounts.find("vera")
    assert holder
    draw(desk, holder)
    anna = client("anna")
    assert go(anna) == "/queue?nothing=true"
    page = anna.get("/queue?nothing=true").text
    assert re.search(r"The queue is empty for you\.\s+4 items are held by others, until \d\d:\d\d UTC", page)


def test_an_item_can_be_handed_back_and_is_free_again(client: ClientFactory) -> None:
    anna = client("anna")
    review_id = go(anna).split("/")[2]
    page = anna.get("/queue").text
    lease = re.search(r'name="lease_id" value="([^"]+)"', page)
    assert lease
    answer = anna.post(f"/queue/{review_id}/0/hand-back", data={"lease_id": lease[1]})
    assert answer.headers["Location"] == "/queue?done=handed_back"
    page = anna.get(answer.headers["Location"]).text
    assert "It is back in the queue" in page
    assert "Begun" not in page
    assert count(page, "waiting for you") == str(len(WAITING))


def test_nobody_hands_back_what_another_has(client: ClientFactory, desk: Desk) -> None:
    review_id = go(client("anna")).split("/")[2]
    lease = next(place.lease_id for place in desk.list_places() if place.holder == "anna")
    answer = client("ben").post(f"/queue/{review_id}/0/hand-back", data={"lease_id": lease})
    assert answer.status_code in (403, 409)
    assert any(place.holder == "anna" for place in desk.list_places())


def test_a_finished_item_can_be_taken_back_in_time(
    client: ClientFactory, desk: Desk, accounts: Accounts, anna: Account
) -> None:
    keep(desk, accounts, undo_seconds=600)
    place = finish(desk, anna, commit(desk, anna, draw(desk, anna), 3))
    browser = client("anna")
    page = browser.get("/queue").text
    assert count(page, r"finished today \(UTC\)") == "1"
    assert "You can take one back for 10 min 00 s" in page
    action = f"/queue/{place.item.review.id}/0/undo"
    assert f'action="{action}"' in page
    answer = browser.post(action, data={"key": new_key()})
    assert answer.headers["Location"] == f"/review/{place.item.review.id}/0"
    assert "committed, to finish" in browser.get("/queue").text


def test_what_cannot_be_taken_back_any_more_offers_no_button_and_says_why(
    client: ClientFactory, desk: Desk, accounts: Accounts, anna: Account
) -> None:
    keep(desk, accounts, undo_seconds=0)
    place = finish(desk, anna, commit(desk, anna, draw(desk, anna), 3))
    browser = client("anna")
    action = f"/queue/{place.item.review.id}/0/undo"
    assert action not in browser.get("/queue").text
    assert browser.post(action, data={"key": new_key()}).status_code == 409


def test_a_paused_desk_hands_out_nothing_new(client: ClientFactory, desk: Desk, accounts: Accounts) -> None:
    keep(desk, accounts, paused=True)
    anna = client("anna")
    page = anna.get("/queue").text
    assert "A lead keeps new items back" in page
    assert re.search(r'<button id="draw"[^>]* disabled', page)
    answer = anna.post("/draw", data={"key": new_key()})
    assert answer.status_code == 409


@pytest.mark.parametrize(("typed", "kept"), [("2", 2.0), ("1,5", 1.5), ("", None), (" ", None)])
def test_hours_of_tonight_are_noted(
    client: ClientFactory, accounts: Accounts, typed: str, kept: float | None
) -> None:
    assert client("anna").post("/queue/hours", data={"hours": typed}).status_code == 303
    found = accounts.find("anna")
    assert found
    assert found.hours_tonight == kept


@pytest.mark.parametrize("typed", ["-1", "25", "many", "nan", "inf", "1e999", "٣٣"])
def test_hours_that_are_none_are_refused(client: ClientFactory, accounts: Accounts, typed: str) -> None:
    answer = client("anna").post("/queue/hours", data={"hours": typed})
    assert answer.status_code == 422
    assert "from 0 to 24" in answer.text


def test_ids_that_are_none_are_not_found(client: ClientFactory) -> None:
    anna = client("anna")
    for path in ("/queue/r-none/0/undo", "/queue/%E2%80%AE/0/undo", f"/queue/r-none/{'9' * 30}/undo"):
        assert anna.post(path, data={"key": new_key()}).status_code == 404
    assert anna.post("/queue/r-none/x/undo", data={"key": new_key()}).status_code == 404
    assert anna.post("/draw").status_code == 422
    assert anna.post("/draw", data={"key": "k" * 101}).status_code == 422


def test_a_word_in_the_address_is_never_repeated_on_the_page(client: ClientFactory) -> None:
    page = client("anna").get("/queue", params={"done": "<b>hello</b>"})
    assert page.status_code == 200
    assert "hello" not in page.text


def test_a_lease_that_ran_out_frees_the_item(client: ClientFactory, desk: Desk, accounts: Accounts) -> None:
    keep(desk, accounts, lease_minutes=1e-6)
    go(client("anna"))
    places = [place for place in desk.list_places() if place.holder == "anna"]
    assert all(p.lease_until and p.lease_until < datetime.now(UTC) + timedelta(seconds=1) for p in places)
    assert count(client("ben").get("/queue").text, "waiting for you") == str(len(WAITING))
