"""What leads do: settings, releases, flags, places, authors, gold items, accounts."""

from __future__ import annotations

import re

import pytest

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import Account, Assessment, Objection, Role
from tests.web.conftest import PASSWORD, WAITING, ClientFactory
from tests.web.reviews import assess, commit, draw, finish, new_key

SETTINGS = {
    "lease_minutes": "20",
    "idle_seconds": "45",
    "undo_seconds": "0",
    "audit_percent": "7.5",
    "second_review_percent": "0",
    "gold_percent": "0",
    "value_hours": "12",
}


def find(accounts: Accounts, name: str) -> Account:
    found = accounts.find(name)
    assert found
    return found


def test_settings_are_shown_and_kept(client: ClientFactory, desk: Desk) -> None:
    dora = client("dora")
    answer = dora.post("/admin/settings", data={**SETTINGS, "paused": "true"})
    assert answer.headers["Location"] == "/admin?done=settings"
    settings = desk.settings()
    assert (settings.lease_minutes, settings.idle_seconds, settings.undo_seconds) == (20, 45, 0)
    assert settings.audit_rate == pytest.approx(0.075)
    assert settings.value_hours == 12
    assert settings.paused
    assert not settings.hold_release
    page = dora.get(answer.headers["Location"]).text
    assert "runs with these settings" in page
    assert re.search(r'name="audit_percent"[^>]*value="7\.5"', page)
    assert re.search(r'name="paused" value="true" checked', page)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lease_minutes", "0"),
        ("lease_minutes", "nan"),
        ("idle_seconds", "-1"),
        ("undo_seconds", "3601"),
        ("audit_percent", "101"),
        ("gold_percent", "inf"),
        ("value_hours", "-1"),
        ("value_hours", "168.5"),
        ("value_hours", "nan"),
        ("second_review_percent", ""),
        ("paused", "perhaps"),
    ],
)
def test_a_setting_out_of_bounds_is_refused_by_name(
    client: ClientFactory, desk: Desk, name: str, value: str
) -> None:
    before = desk.settings()
    answer = client("dora").post("/admin/settings", data={**SETTINGS, name: value})
    assert answer.status_code == 422
    assert name in answer.text
    assert desk.settings() == before


def test_held_decisions_wait_for_a_lead_and_are_then_made(
    client: ClientFactory, desk: Desk, accounts: Accounts, store: Store
) -> None:
    dora, anna = client("dora"), find(accounts, "anna")
    dora.post("/admin/settings", data={**SETTINGS, "hold_release": "true"})
    first = finish(desk, anna, commit(desk, anna, draw(desk, anna), 3)).item.review.id
    second = finish(desk, anna, commit(desk, anna, draw(desk, anna), 2)).item.review.id
    assert desk.decide_due() == []
    page = dora.get("/admin").text
    assert "Release all 2" in page
    assert first in page
    assert (
        dora.post("/admin/release", data={"review_id": first}).headers["Location"] == "/admin?done=released"
    )
    assert store.load_review(first).decision is not None
    assert store.load_review(second).decision is None
    dora.post("/admin/release")
    assert store.load_review(second).decision is not None
    assert "No finished review waits for a release" in dora.get("/admin").text


def test_nothing_unfinished_is_released(client: ClientFactory, desk: Desk, accounts: Accounts) -> None:
    dora, anna = client("dora"), find(accounts, "anna")
    dora.post("/admin/settings", data={**SETTINGS, "undo_seconds": "3600", "hold_release": "true"})
    open_one = desk.list_places()[0].item.review.id
    fresh = finish(desk, anna, commit(desk, anna, draw(desk, anna), 3)).item.review.id
    for review_id in (open_one, fresh, "r-none", "<b>"):
        answer = dora.post("/admin/release", data={"review_id": review_id})
        assert answer.status_code == 422
        assert "nothing to release there yet" in answer.text


def test_flags_and_objections_reach_the_lead(client: ClientFactory, desk: Desk, accounts: Accounts) -> None:
    anna = find(accounts, "anna")
    place = draw(desk, anna)
    review_id = place.item.review.id
    desk.flag(anna, review_id, place.slot, "the statement <b>contradicts</b> itself", key=new_key())
    assessment: Assessment = assess(desk, review_id, 3).model_copy(
        update={"objections": (Objection(check="dma_size", reason="it is on purpose"),)}
    )
    desk.commit(
        anna,
        review_id,
        place.slot,
        place.lease_id,
        assessment,
        rubric=place.item.rubric,
        seconds=5,
        key=new_key(),
    )
    page = client("dora").get("/admin").text
    assert "the statement &lt;b&gt;contradicts&lt;/b&gt; itself" in page
    assert re.search(r"Objects to <code>dma_size</code>: it is on purpose", page)


def test_a_lead_learns_nothing_of_an_item_they_are_to_assess_blind(
    client: ClientFactory, desk: Desk, accounts: Accounts, store: Store
) -> None:
    anna, lead, dora = find(accounts, "anna"), find(accounts, "dora"), client("dora")
    desk.change_settings(lead, desk.settings().model_copy(update={"second_review_rate": 1}))
    first = draw(desk, anna)
    review_id = first.item.review.id
    desk.flag(anna, review_id, first.slot, "ANNA-SAID-THIS", key=new_key())
    commit(desk, anna, first, 3)
    second = draw(desk, lead)
    assert second.item.review.id == review_id
    token = {"Authorization": f"Bearer {accounts.issue_token(lead, 'tests')}"}
    lists = ("/admin", "/api/v1/places", "/api/v1/reviews/flags")
    asked = {"review_id": review_id, "reason": "curious", "key": new_key()}

    def look() -> list[str]:
        # With a session or a token, as each takes it.
        return [(client() if "api" in path else dora).get(path, headers=token).text for path in lists]

    for text in look():
        assert review_id not in text
        assert "ANNA-SAID-THIS" not in text
    refused = dora.post("/admin/unblind", data=asked)
    assert refused.status_code == 403
    assert "assess this item blind" in refused.text
    assert all(event.action.kind != "unblinded" for event in store.desk.list_events_of(review_id))

    commit(desk, lead, second, 2)
    assert all(review_id in text for text in look())
    assert dora.post("/admin/unblind", data=asked).status_code == 200


def test_a_place_is_taken_back_with_a_reason(client: ClientFactory, desk: Desk, accounts: Accounts) -> None:
    place = draw(desk, find(accounts, "anna"))
    dora = client("dora")
    review_id = place.item.review.id
    assert review_id in dora.get("/admin").text
    form = {"review_id": review_id, "slot": "0", "key": new_key()}
    assert dora.post("/admin/take-back", data={**form, "reason": "  "}).status_code == 422
    assert dora.post("/admin/take-back", data={**form, "reason": "anna is ill"}).status_code == 303
    assert all(found.holder != "anna" for found in desk.list_places())
    assert "Nobody holds anything now" in dora.get("/admin").text


def test_who_wrote_a_submission_is_told_once_the_reason_is_on_record(
    client: ClientFactory, desk: Desk, store: Store
) -> None:
    place = desk.list_places()[0]
    review_id = place.item.review.id
    dora = client("dora")
    form = {"review_id": f" {review_id} ", "key": new_key()}
    assert dora.post("/admin/unblind", data={**form, "reason": ""}).status_code == 422
    assert [e for e in store.desk.list_events_of(review_id) if e.action.kind == "unblinded"] == []
    page = dora.post("/admin/unblind", data={**form, "reason": "an appeal"}).text
    assert place.item.origin in page
    (event,) = [e for e in store.desk.list_events_of(review_id) if e.action.kind == "unblinded"]
    assert event.actor == "dora"
    assert event.action.reason == "an appeal"  # type: ignore[union-attr]
    form = {"review_id": "r-none", "reason": "x", "key": new_key()}
    assert dora.post("/admin/unblind", data=form).status_code == 404


def test_a_decided_review_becomes_a_gold_item_and_is_one_no_longer(
    client: ClientFactory, desk: Desk, accounts: Accounts, store: Store
) -> None:
    dora, anna = client("dora"), find(accounts, "anna")
    dora.post("/admin/settings", data=SETTINGS)
    review_id = finish(desk, anna, commit(desk, anna, draw(desk, anna), 3)).item.review.id
    form = {"review_id": review_id, "gold": "true"}
    early = dora.post("/admin/plant", data={**form, "key": new_key()})
    assert early.status_code == 422
    assert "no decided levels yet" in early.text
    (decision,) = desk.decide_due()
    assert dora.post("/admin/plant", data={**form, "key": new_key()}).headers["Location"].endswith("=planted")
    form["gold"] = "false"
    dora.post("/admin/plant", data={**form, "key": new_key()})
    planted = [e.action for e in store.desk.list_events_of(review_id) if e.action.kind == "planted"]
    assert [action.levels for action in planted] == [decision.levels, {}]  # type: ignore[union-attr]
    assert dora.post("/admin/plant", data={"review_id": "r-none", "key": new_key()}).status_code == 404


#: Every form that asks a lead to type a review, with what else it asks.
FORMS = {
    "/admin/unblind": ("review_id", {"reason": "an appeal"}),
    "/admin/plant": ("review_id", {"gold": "true"}),
    "/norming": ("reviews", {"title": "Tails"}),
}


@pytest.mark.parametrize("path", FORMS)
def test_every_form_takes_an_id_as_the_command_line_prints_it(
    client: ClientFactory, desk: Desk, accounts: Accounts, path: str
) -> None:
    dora, anna = client("dora"), find(accounts, "anna")
    dora.post("/admin/settings", data=SETTINGS)
    review_id = finish(desk, anna, commit(desk, anna, draw(desk, anna), 3)).item.review.id
    desk.decide_due()
    field, more = FORMS[path]
    answer = dora.post(path, data={field: f" {review_id[:10]} ", "key": new_key(), **more})
    assert answer.status_code in (200, 303), answer.text
    shown = answer if answer.status_code == 200 else dora.get(answer.headers["Location"])
    told = shown.text + dora.get(f"/history/{review_id}").text
    done = {
        "/admin/unblind": "Told who wrote it",
        "/admin/plant": "Made a gold item",
        "/norming": f"/{review_id}/join",
    }
    assert [name for name, words in done.items() if words in told] == [path]


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    ("typed", "status", "said"), [("r-", 422, "several reviews"), ("r-zz", 404, "no review has")]
)
def test_an_id_that_begins_several_or_none_is_refused_in_one_sentence(
    client: ClientFactory, path: str, typed: str, status: int, said: str
) -> None:
    field, more = FORMS[path]
    answer = client("dora").post(path, data={field: typed, "key": new_key(), **more})
    assert answer.status_code == status
    assert said in answer.text


def test_an_account_is_made_and_can_log_in(client: ClientFactory, accounts: Accounts) -> None:
    dora = client("dora")
    form = {"name": " Emil ", "role": "adjudicator", "display": "Émil", "password": PASSWORD}
    answer = dora.post("/admin/accounts", data={**form, "skills": "rmsnorm, rope rope", "conflicts": ""})
    assert answer.headers["Location"] == "/admin/accounts?done=created"
    made = find(accounts, "emil")
    assert made.role is Role.ADJUDICATOR
    assert made.skills == ("rmsnorm", "rope")
    assert client("emil").get("/queue").status_code == 200
    again = dora.post("/admin/accounts", data=form)
    assert again.status_code == 422
    assert "taken" in again.text


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": "../x"},
        {"name": "a" * 65},
        {"name": "é"},
        {"name": "a b"},
        {"role": "god"},
        {"password": "short"},
        {"display": "x" * 101},
    ],
    ids=str,
)
def test_an_account_that_cannot_be_is_refused(
    client: ClientFactory, accounts: Accounts, changes: dict[str, str]
) -> None:
    form = {"name": "emil", "role": "reviewer", "password": PASSWORD, **changes}
    assert client("dora").post("/admin/accounts", data=form).status_code == 422
    assert len(accounts.list()) == 5


def test_an_account_is_changed(client: ClientFactory, accounts: Accounts) -> None:
    dora = client("dora")
    form = {"role": "viewer", "display": "A.", "skills": "", "conflicts": "amber-fox", "active": "true"}
    assert dora.post("/admin/accounts/anna", data=form).status_code == 303
    anna = find(accounts, "anna")
    assert (anna.role, anna.display, anna.conflicts) == (Role.VIEWER, "A.", ("amber-fox",))
    assert client("anna").get("/queue").status_code == 403
    del form["active"]
    dora.post("/admin/accounts/anna", data=form)
    assert accounts.find("anna") is None
    assert "not active" in dora.get("/admin/accounts").text
    assert dora.get("/admin/accounts/anna").status_code == 200


def test_the_last_lead_stays_one(client: ClientFactory, accounts: Accounts) -> None:
    form = {"role": "reviewer", "active": "true"}
    answer = client("dora").post("/admin/accounts/dora", data=form)
    assert answer.status_code == 422
    assert "last active lead" in answer.text
    assert find(accounts, "dora").role is Role.LEAD


def test_a_new_password_is_set_and_never_shown(client: ClientFactory) -> None:
    dora, anna = client("dora"), client("anna")
    answer = dora.post("/admin/accounts/anna/password", data={"password": "another password of tests"})
    assert answer.status_code == 303
    assert "another password" not in dora.get(answer.headers["Location"]).text
    assert anna.get("/queue").status_code == 303
    assert dora.post("/admin/accounts/anna/password", data={"password": "short"}).status_code == 422


def test_a_token_is_shown_once_and_can_be_revoked(client: ClientFactory, accounts: Accounts) -> None:
    dora = client("dora")
    page = dora.post("/admin/accounts/anna/tokens", data={"label": "our <b>front end</b>"}).text
    token = re.search(r'<code id="token">([^<]+)</code>', page)
    assert token
    found = accounts.find_token(token[1])
    assert found
    assert found.name == "anna"
    page = dora.get("/admin/accounts/anna").text
    assert token[1] not in page
    assert "our &lt;b&gt;front end" in page
    digest = re.search(r'name="sha256" value="([0-9a-f]{64})"', page)
    assert digest
    dora.post("/admin/accounts/anna/tokens/revoke", data={"sha256": digest[1]})
    assert accounts.find_token(token[1]) is None
    assert "revoked" in dora.get("/admin/accounts/anna").text
    assert dora.post("/admin/accounts/anna/tokens", data={"label": " "}).status_code == 422
    assert dora.post("/admin/accounts/anna/tokens/revoke", data={"sha256": "0"}).status_code == 404


def test_an_account_that_is_none_is_not_found(client: ClientFactory) -> None:
    dora = client("dora")
    assert dora.get("/admin/accounts/nobody").status_code == 404
    assert dora.post("/admin/accounts/%00/password", data={"password": PASSWORD}).status_code == 404


def test_the_page_stays_short_whatever_waits(client: ClientFactory) -> None:
    page = client("dora").get("/admin").text
    assert f"(0 of {len(WAITING)} open reviews)" in page


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_labels_are_downloaded_with_names_only_if_asked(
    client: ClientFactory, desk: Desk, accounts: Accounts, form: str
) -> None:
    anna, dora = find(accounts, "anna"), client("dora")
    commit(desk, anna, draw(desk, anna), 3)
    page = dora.get("/admin").text
    for path, named in ((f"/admin/labels.{form}", False), (f"/admin/labels.{form}?names=true", True)):
        assert f'href="{path}"' in page
        answer = dora.get(path)
        assert answer.status_code == 200
        assert answer.headers["Content-Disposition"] == f'attachment; filename="labels.{form}"'
        assert (b"anna" in answer.content) == named
