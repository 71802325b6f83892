"""Norming over the API: the page's rules, from opening a session to talking about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pipeline.store import Store
from tests.web.api_caller import Caller, caller, key
from tests.web.test_api import commit

__all__ = ["caller"]

CallerFactory = Callable[..., Caller]


@pytest.fixture
def review_ids(store: Store) -> list[str]:
    return sorted(state.review.id for state in store.list_reviews())


def start(lead: Caller, review_ids: list[str], title: str = "Tails") -> dict[str, Any]:
    session: dict[str, Any] = lead.ask(
        "POST", "/norming", {"title": title, "review_ids": review_ids, "key": key()}
    )
    return session


def vote(who: Caller, session: dict[str, Any], review_id: str, level: int) -> None:
    place = who.ask("POST", f"/norming/{session['id']}/reviews/{review_id}/join", {"key": key()})
    commit(who, place, level)


def test_a_session_from_opening_to_talking(caller: CallerFactory, review_ids: list[str]) -> None:
    anna, ben, dora = caller("anna"), caller("ben"), caller("dora")
    review_id = review_ids[0]
    session = start(dora, review_ids[:2])
    assert [item["review_id"] for item in session["items"]] == review_ids[:2]
    address = f"/norming/{session['id']}"
    about = f"{address}/reviews/{review_id}"
    vote(anna, session, review_id, 4)
    vote(ben, session, review_id, 1)
    [item, _] = anna.ask("GET", address)["items"]
    assert (item["committed"], item["at_work"], item["state"], item["decided"]) == (2, 0, "committed", False)
    for blind in (anna, ben, dora):
        assert blind.refused("GET", about) == (403, "forbidden")

    assert dora.ask("POST", f"{address}/reveal")["revealed_at"] is not None
    compared = anna.ask("GET", about)
    assert sorted({answer["level"] for vote in compared["votes"] for answer in vote["answers"].values()}) == [
        1,
        4,
    ]
    assert [vote["mine"] for vote in compared["votes"]].count(True) == 1
    assert caller("carla").refused("GET", about) == (403, "forbidden")
    sent = {"text": "I missed the barrier.", "key": key()}
    first, again = (ben.ask("POST", f"{about}/remarks", sent) for _ in range(2))
    assert [remark["text"] for remark in first["remarks"]] == ["I missed the barrier."]
    assert first == again
    told = str(anna.ask("GET", about)) + str(anna.ask("GET", address))
    assert [name for name in ("anna", "ben", "dora") if name in told] == []
    too_late = ("POST", f"{address}/reviews/{review_ids[1]}/join", {"key": key()})
    assert anna.refused(*too_late) == (409, "too_late")


def test_a_session_sent_again_is_the_same_and_ids_may_be_short(
    caller: CallerFactory, review_ids: list[str]
) -> None:
    sent = {"title": "Tails", "review_ids": [review_ids[0][:12]], "key": key()}
    first, again = (caller("dora").ask("POST", "/norming", sent) for _ in range(2))
    assert first == again
    assert [item["review_id"] for item in first["items"]] == review_ids[:1]


def test_chance_draws_decided_reviews_once_though_the_request_comes_twice(
    caller: CallerFactory, review_ids: list[str]
) -> None:
    carla, dora = caller("carla"), caller("dora")
    sent = {"title": "Drawn", "count": 50, "key": key()}
    assert dora.refused("POST", "/norming", sent) == (422, "invalid")
    dora.ask("PUT", "/settings", {"undo_seconds": 0, "second_review_rate": 0, "hold_release": True})
    place = carla.ask("POST", "/queue/draw", {"key": key()})["place"]
    done = commit(carla, place)
    finished = {"assessment": done["blind"], "revisions": [], "seconds": 1, "key": key()}
    carla.ask("POST", f"/places/{place['review_id']}/{place['slot']}/finish", finished)
    dora.ask("POST", "/decisions/held-back/release")
    first, again = (dora.ask("POST", "/norming", sent) for _ in range(2))
    assert [item["review_id"] for item in first["items"]] == [place["review_id"]]
    assert first == again


def test_sessions_are_listed_page_by_page_oldest_first(caller: CallerFactory, review_ids: list[str]) -> None:
    dora, anna = caller("dora"), caller("anna")
    made = [start(dora, [review_id], f"of {review_id}")["id"] for review_id in review_ids[:3]]
    first = anna.ask("GET", "/norming", limit=2)
    second = anna.ask("GET", "/norming", limit=2, cursor=first["next"])
    assert [session["id"] for session in first["items"] + second["items"]] == made
    assert second["next"] is None


def test_what_makes_no_sense_is_refused(caller: CallerFactory, review_ids: list[str]) -> None:
    dora = caller("dora")
    session = start(dora, review_ids[:1])
    for body in (
        {"title": "T", "review_ids": ["r-"], "key": key()},
        {"title": "T", "review_ids": review_ids[:1], "key": key()},
        {"title": "T", "review_ids": ["r-x"] * 51, "key": key()},
        {"title": "", "review_ids": review_ids[1:], "key": key()},
        {"title": " ", "review_ids": review_ids[1:], "key": key()},
        {"title": "T", "count": 0, "key": key()},
    ):
        assert dora.refused("POST", "/norming", body) == (422, "invalid")
    missing = {"title": "T", "review_ids": ["r-none"], "key": key()}
    assert dora.refused("POST", "/norming", missing) == (404, "unknown")
    other = f"/norming/{session['id']}/reviews/{review_ids[1]}/join"
    assert dora.refused("POST", other, {"key": key()}) == (404, "unknown")
