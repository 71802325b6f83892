"""Saved comments: one's own and everybody's, kept, changed, shared, offered and deleted."""

from __future__ import annotations

import re

from fastapi.testclient import TestClient

from pipeline.review.saved_comments import SavedComments
from pipeline.store import Store
from tests.web.conftest import ClientFactory


def _save(client: TestClient, text: str, **fields: str) -> None:
    answer = client.post("/comments", data={"text": text, **fields})
    assert answer.status_code == 303, answer.text
    assert answer.headers["location"] == "/comments"


def _suggested(client: TestClient, task: str = "") -> list[dict[str, object]]:
    found: list[dict[str, object]] = client.get("/comments/suggest", params={"task": task}).json()["comments"]
    return found


def test_what_one_person_saves_another_does_not_see_until_it_is_shared(client: ClientFactory) -> None:
    anna, ben = client("anna"), client("ben")
    _save(anna, "Say which engine runs this.")
    _save(anna, "The tile is wider than a partition.", shared="yes")
    assert "Say which engine runs this." in anna.get("/comments").text
    assert "Say which engine runs this." not in ben.get("/comments").text
    assert "The tile is wider than a partition." in ben.get("/comments").text
    assert [one["text"] for one in _suggested(ben)] == ["The tile is wider than a partition."]


def test_those_of_the_task_are_suggested_first(client: ClientFactory) -> None:
    anna = client("anna")
    _save(anna, "For any task.")
    _save(anna, "For rmsnorm.", task_id="rmsnorm")
    assert [one["text"] for one in _suggested(anna, "rmsnorm")] == ["For rmsnorm.", "For any task."]
    assert [one["text"] for one in _suggested(anna, "other")] == ["For any task.", "For rmsnorm."]


def test_a_comment_that_is_used_is_counted_and_comes_first(client: ClientFactory) -> None:
    anna = client("anna")
    _save(anna, "A first.")
    _save(anna, "B second.")
    second = next(one for one in _suggested(anna) if one["text"] == "B second.")
    used = anna.post(f"/comments/{second['id']}/use")
    assert used.json() == {"id": second["id"], "text": "B second."}
    assert [one["text"] for one in _suggested(anna)] == ["B second.", "A first."]


def test_a_comment_is_changed_in_place_and_deleted(client: ClientFactory) -> None:
    anna = client("anna")
    _save(anna, "Speling.")
    (comment,) = _suggested(anna)
    page = anna.get(f"/comments?edit={comment['id']}").text
    assert re.search(r"<textarea[^>]*>Speling\.</textarea>", page)
    _save(anna, "Spelling.", comment_id=str(comment["id"]))
    assert [(one["id"], one["text"]) for one in _suggested(anna)] == [(comment["id"], "Spelling.")]
    assert anna.post(f"/comments/{comment['id']}/delete").status_code == 303
    assert _suggested(anna) == []


def test_nobody_changes_what_is_anothers_and_only_leads_what_is_everybodys(
    client: ClientFactory, store: Store
) -> None:
    anna, ben, dora = client("anna"), client("ben"), client("dora")
    _save(anna, "Anna's own.")
    _save(anna, "Everybody's.", shared="yes")
    own, shared = _suggested(anna)[0]["id"], _suggested(ben)[0]["id"]
    if own == shared:
        own = _suggested(anna)[1]["id"]
    assert ben.post(f"/comments/{own}/delete").status_code == 404
    assert ben.post("/comments", data={"text": "Mine now", "comment_id": str(own)}).status_code == 404
    assert ben.post(f"/comments/{shared}/delete").status_code == 403
    assert dora.post(f"/comments/{shared}/delete").status_code == 303
    account = next(one for one in SavedComments(store).list(_account("anna")))
    assert account.text == "Anna's own."


def test_an_empty_or_long_comment_is_refused_in_one_sentence_and_stays_in_the_form(
    client: ClientFactory,
) -> None:
    anna = client("anna")
    empty = anna.post("/comments", data={"text": "  ", "task_id": "rmsnorm"})
    assert empty.status_code == 422
    assert "a saved comment needs words" in empty.text
    assert 'value="rmsnorm"' in empty.text
    long = anna.post("/comments", data={"text": "x" * 4001})
    assert long.status_code == 422
    assert "at most 4,000 characters" in long.text
    assert "x" * 4001 in long.text


def test_hostile_text_is_inert(client: ClientFactory) -> None:
    anna = client("anna")
    _save(anna, "</td><script>alert(1)</script>\u202e")
    page = anna.get("/comments").text
    assert "<script>alert(1)" not in page
    assert "\u202e" not in page


def test_viewers_have_none(client: ClientFactory) -> None:
    vera = client("vera")
    assert vera.get("/comments").status_code == 403
    assert vera.get("/comments/suggest").status_code == 403


def _account(name: str):  # type: ignore[no-untyped-def]
    from pipeline.types import Account, Role

    return Account(name=name, role=Role.REVIEWER)
