"""Decisions that are held back and their release over the API, and the history of an item."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.store import Store
from pipeline.types import Judgment
from tests.web.api_caller import Caller, caller, key
from tests.web.test_api import commit, draw, finish

__all__ = ["caller"]

CallerFactory = Callable[..., Caller]


@pytest.fixture
def dora(caller: CallerFactory) -> Caller:
    """A lead who holds decisions back; nothing can be undone."""
    lead: Caller = caller("dora")
    lead.ask("PUT", "/settings", {"undo_seconds": 0, "second_review_rate": 0, "hold_release": True})
    return lead


def review(who: Caller) -> str:
    done = finish(who, commit(who, draw(who)))
    return str(done["review_id"])


def read_all(who: Caller, review_id: str, limit: int = 200) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = who.ask("GET", f"/reviews/{review_id}/history", limit=limit, **cursor)
        rows += page["items"]
        if page["next"] is None:
            return rows
        cursor = {"cursor": page["next"]}


def test_what_is_held_back_is_listed_and_released_one_by_one_or_all_at_once(
    caller: CallerFactory, dora: Caller, store: Store
) -> None:
    anna = caller("anna")
    done = [review(anna) for _ in range(3)]
    first = dora.ask("GET", "/decisions/held-back", limit=2)
    second = dora.ask("GET", "/decisions/held-back", limit=2, cursor=first["next"])
    assert sorted(held["review_id"] for held in first["items"] + second["items"]) == sorted(done)
    assert dora.ask("POST", f"/decisions/{done[1]}/release")["review_ids"] == [done[1]]
    assert [store.load_review(name).decision is not None for name in done] == [False, True, False]
    assert dora.refused("POST", f"/decisions/{done[1]}/release") == (422, "incomplete")
    assert dora.refused("POST", "/decisions/r-none/release") == (422, "incomplete")
    released = dora.ask("POST", "/decisions/held-back/release")["review_ids"]
    assert sorted(released) == sorted({done[0], done[2]})
    assert dora.ask("POST", "/decisions/held-back/release")["review_ids"] == []
    assert anna.refused("POST", "/decisions/held-back/release") == (403, "forbidden")


def test_history_tells_nothing_that_leads_before_the_commit_and_all_after_the_decision(
    caller: CallerFactory, dora: Caller, store: Store
) -> None:
    anna, ben = caller("anna"), caller("ben")
    place = draw(anna)
    review_id = place["review_id"]
    grading_id = store.load_review(review_id).review.grading_id
    route, record = (
        store.load_route(grading_id),
        store.find_stage("judge", store.list_stages(grading_id)["judge"]),
    )
    assert route is not None
    assert record is not None
    judgment = Judgment.model_validate_json(record.output)
    secrets = {route.reason, judgment.judge} | {
        one.reason for one in judgment.scores if one.source == "judge"
    }
    for who in (anna, ben, dora):
        told = json.dumps(read_all(who, review_id), ensure_ascii=False)
        assert [secret for secret in secrets if secret in told] == []
    assert "anna" not in json.dumps(read_all(ben, review_id))
    finish(anna, commit(anna, place, level=3))
    assert "Final assessment" not in [row["title"] for row in read_all(ben, review_id)]
    dora.ask("POST", f"/decisions/{review_id}/release")
    rows = read_all(ben, review_id)
    assert [row["title"] for row in rows][-1] == "Decided"
    assert {level["level"] for row in rows if row["who"] == "anna" for level in row["levels"]} == {"3"}
    assert route.reason in json.dumps(rows, ensure_ascii=False)


def test_history_comes_in_pages_that_hold_every_row_of_the_page_once(
    caller: CallerFactory, dora: Caller, client: Any
) -> None:
    anna = caller("anna")
    review_id = review(anna)
    dora.ask("POST", f"/decisions/{review_id}/release")
    rows = read_all(anna, review_id, limit=2)
    assert rows == read_all(anna, review_id)
    page = client("anna").get(f"/history/{review_id}").text
    assert [f'<li id="{row["id"]}">' in page for row in rows] == [True] * page.count("<li id=")
    assert anna.refused("GET", "/reviews/r-none/history") == (404, "unknown")
    assert caller("vera").refused("GET", f"/reviews/{review_id}/history") == (403, "forbidden")


def test_hostile_words_are_made_visible(caller: CallerFactory, dora: Caller) -> None:
    anna = caller("anna")
    place = draw(anna)
    address = f"/places/{place['review_id']}/{place['slot']}/flag"
    anna.ask("POST", address, {"reason": "look \u202e\x1b[2J here", "key": key()})
    (row,) = [row for row in read_all(dora, place["review_id"]) if row["title"] == "Flagged"]
    assert "look" in row["lines"][0]
    assert "\u202e" not in row["lines"][0]
    assert "\x1b" not in row["lines"][0]
