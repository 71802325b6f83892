"""Lists, accounts, labels and settings over the API."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.review.errors import DeskError
from pipeline.store import Store
from pipeline.types import Activity
from pipeline.web.api.paging import paginate
from tests.web.api_caller import Caller, caller, key
from tests.web.test_api import commit, draw

__all__ = ["caller"]

CallerFactory = Callable[..., Caller]


@given(items=st.sets(st.text(max_size=5)), limit=st.integers(1, 7))
def test_pages_hold_every_item_once_and_in_order(items: set[str], limit: int) -> None:
    found: list[str] = []
    cursor = None
    while True:
        page = paginate(items, lambda item: item, key=lambda item: item, cursor=cursor, limit=limit)
        assert len(page.items) <= limit
        found += page.items
        if page.next is None:
            break
        cursor = page.next
    assert found == sorted(items)


def test_a_page_follows_its_cursor_though_the_item_before_is_gone() -> None:
    items = ["a", "b", "c", "d"]
    first = paginate(items, str, key=str, cursor=None, limit=2)
    second = paginate(["a", "c", "d"], str, key=str, cursor=first.next, limit=2)
    assert (first.items, second.items, second.next) == (["a", "b"], ["c", "d"], None)


@pytest.mark.parametrize("cursor", ["", "!", "YQ", "é", "_w=="])
def test_a_cursor_that_no_page_gave_is_refused(cursor: str) -> None:
    if cursor == "":
        assert paginate(["a"], str, key=str, cursor=cursor, limit=1).items == ["a"]
        return
    with pytest.raises(DeskError) as refused:
        paginate(["a"], str, key=str, cursor=cursor, limit=1)
    assert refused.value.code == "invalid"


def test_people_are_listed_by_name_page_by_page_and_without_passwords(caller: CallerFactory) -> None:
    dora = caller("dora")
    first = dora.ask("GET", "/accounts", limit=3)
    second = dora.ask("GET", "/accounts", limit=3, cursor=first["next"])
    listed = first["items"] + second["items"]
    assert [person["name"] for person in listed] == ["anna", "ben", "carla", "dora", "vera"]
    assert second["next"] is None
    assert all("password" not in person and person["has_password"] for person in listed)


def test_a_lead_adds_somebody_changes_them_and_gives_them_a_password(caller: CallerFactory) -> None:
    dora = caller("dora")
    made = dora.ask("POST", "/accounts", {"name": "emil", "role": "reviewer", "skills": ["rmsnorm"]})
    assert (made["has_password"], made["active"]) == (False, True)
    assert dora.refused("POST", "/accounts", {"name": "emil", "role": "lead"}) == (422, "invalid")
    dora.ask("PUT", "/accounts/emil/password", {"password": "a long enough one"})
    changed = dora.ask("PUT", "/accounts/emil", {"role": "adjudicator", "active": False})
    assert (changed["role"], changed["skills"], changed["has_password"]) == ("adjudicator", [], True)
    assert dora.refused("GET", "/accounts/nobody") == (404, "unknown")


def test_the_last_lead_stays_one(caller: CallerFactory) -> None:
    assert caller("dora").refused("PUT", "/accounts/dora", {"role": "viewer"}) == (422, "invalid")


def test_people_change_of_their_own_account_what_is_theirs(caller: CallerFactory) -> None:
    anna = caller("anna")
    assert anna.ask("PATCH", "/me", {"display": "Anna K.", "hours_tonight": 2.5})["display"] == "Anna K."
    me = anna.ask("GET", "/me")
    assert (me["name"], me["hours_tonight"], me["role"]) == ("anna", 2.5, "reviewer")
    assert anna.refused("PATCH", "/me", {"role": "lead"}) == (422, "invalid")
    assert anna.ask("PATCH", "/me", {"hours_tonight": None})["hours_tonight"] is None


def test_a_token_that_was_revoked_opens_nothing_any_more(caller: CallerFactory) -> None:
    anna = caller("anna")
    tokens = anna.ask("GET", "/me/tokens")["items"]
    assert [(token["label"], token["revoked"]) for token in tokens] == [("tests", False)]
    assert caller("ben").refused("DELETE", f"/me/tokens/{tokens[0]['sha256']}") == (404, "unknown")
    anna.ask("DELETE", f"/me/tokens/{tokens[0]['sha256']}")
    assert anna.refused("GET", "/queue") == (401, "not_logged_in")


def test_settings_are_a_leads_to_change_and_a_pause_keeps_items_back(caller: CallerFactory) -> None:
    anna, dora = caller("anna"), caller("dora")
    assert anna.refused("GET", "/settings") == (403, "forbidden")
    assert dora.ask("PUT", "/settings", {"paused": True})["paused"] is True
    assert anna.refused("POST", "/queue/draw", {"key": key()}) == (409, "paused")
    assert dora.refused("PUT", "/settings", {"lease_minutes": 0}) == (422, "invalid")


def test_labels_hold_what_was_said_blind_and_name_nobody_unless_asked(caller: CallerFactory) -> None:
    anna, dora = caller("anna"), caller("dora")
    committed = commit(anna, draw(anna), level=3)
    answers = committed["blind"]["answers"]
    listed = dora.ask("GET", "/labels")["items"]
    assert {label["criterion"]: label["level"] for label in listed} == dict.fromkeys(answers, 3)
    assert {label["rater"] for label in listed} != {"anna"}
    assert {label["rater"] for label in dora.ask("GET", "/labels", names=True)["items"]} == {"anna"}
    assert anna.refused("GET", "/labels") == (403, "forbidden")
    file = dora.send("GET", "/labels/file", format="csv", names=True)
    rows = csv.DictReader(io.StringIO(file.text))
    assert sorted((row["criterion"], row["level"], row["rater"]) for row in rows) == sorted(
        (name, "3", "anna") for name in answers
    )


def test_labels_made_elsewhere_are_taken_in_and_bad_rows_are_named(caller: CallerFactory) -> None:
    records = [{"id": 1, "data": {}, "annotations": [{"completed_by": 3, "result": []}]}]
    result = caller("dora").ask(
        "POST", "/labels/imports", {"program": "label_studio", "records": records, "raters": {"3": "zoe"}}
    )
    assert (result["assessments"], result["labels"]) == (0, 0)
    assert [row["where"] for row in result["refused"]] == ["task 1, annotation 1"]


def test_saved_comments_are_ones_own_unless_shared(caller: CallerFactory) -> None:
    anna, ben = caller("anna"), caller("ben")
    mine = anna.ask("POST", "/comments", {"text": "Mask the tail.", "task_id": "rmsnorm"})
    shared = anna.ask("POST", "/comments", {"text": "Name the tile size.", "shared": True})
    assert [one["id"] for one in ben.ask("GET", "/comments")["items"]] == [shared["id"]]
    assert anna.ask("POST", f"/comments/{mine['id']}/use")["uses"] == 1
    assert [one["id"] for one in anna.ask("GET", "/comments/suggestions", task_id="rmsnorm")["items"]] == [
        mine["id"],
        shared["id"],
    ]
    assert ben.refused("DELETE", f"/comments/{shared['id']}") == (403, "forbidden")
    assert ben.refused("DELETE", f"/comments/{mine['id']}") == (404, "unknown")
    changed = anna.ask("PUT", f"/comments/{mine['id']}", {"text": "Mask the tail of every row."})
    assert (changed["text"], changed["uses"]) == ("Mask the tail of every row.", 1)
    anna.ask("DELETE", f"/comments/{mine['id']}")
    assert [one["id"] for one in anna.ask("GET", "/comments")["items"]] == [shared["id"]]


def test_hours_are_ones_own_to_see_and_everybodys_for_whoever_pays(
    caller: CallerFactory, store: Store
) -> None:
    review_id = store.list_reviews()[0].review.id
    for account, minutes in (("anna", 30), ("ben", 10)):
        store.desk.add_activity(
            Activity(
                account=account,
                review_id=review_id,
                slot=0,
                started_at=datetime(2026, 11, 30, 9, tzinfo=UTC),
                ended_at=datetime(2026, 11, 30, 10, tzinfo=UTC),
                active_seconds=minutes * 60,
            )
        )
    anna, dora = caller("anna"), caller("dora")
    day = {"week": "2026-W49", "day": "2026-11-30", "items": 1}
    mine = {"account": "anna", **day, "active_seconds": 1800.0}
    assert anna.ask("GET", "/timesheets/mine")["items"] == [mine]
    assert anna.refused("GET", "/timesheets") == (403, "forbidden")
    ben = {"account": "ben", **day, "active_seconds": 600.0}
    assert dora.ask("GET", "/timesheets")["items"] == [mine, ben]
    assert dora.ask("GET", "/timesheets", since="2026-12-01")["items"] == []


def test_batches_are_counted_and_no_outcome_of_one_grading_is_told(caller: CallerFactory) -> None:
    vera = caller("vera")
    [batch] = vera.ask("GET", "/batches")["items"]
    assert (batch["gradings"], batch["rejections"]) == (4, 0)
    counts = vera.ask("GET", f"/batches/{batch['id']}")
    assert (counts["gradings"], counts["states"]) == (4, {"waiting": 4})
    assert counts["tasks"] == {"rmsnorm": 2, "softmax_rows": 1, "transpose": 1}
    assert vera.refused("GET", "/batches/b-0") == (404, "unknown")
