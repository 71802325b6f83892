"""A form that is refused comes back with what was typed into it, whatever the reason."""

from __future__ import annotations

import asyncio
import html
import re
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import Message

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.review.places import Place, PlaceState
from pipeline.review.set_aside import find_set_aside
from pipeline.store import Store
from pipeline.web.security import MAX_BODY_BYTES
from tests.web.conftest import PASSWORD, TASKS, ClientFactory, form_token
from tests.web.items import ANNA, BEN, address, enqueue, fields_of, form_of, hand

CODE = (TASKS / "rmsnorm" / "solutions" / "good_simple.py").read_text() + "# to be refused\n"
ASKED = ("accumulation", "rounding_points", "low_precision", "equivalence_claim")
COMPLETE = {f"level.{name}": "3" for name in ASKED}
HOSTILE = "first\r\nsecond </textarea><script>alert(1)</script> & {{ 7 * 7 }}"
SHOWN = "first\nsecond </textarea><script>alert(1)</script> & {{ 7 * 7 }}"

Form = dict[str, "str | list[str]"]


@pytest.fixture
def place(store: Store, desk: Desk) -> Place:
    return hand(desk, ANNA, enqueue(store, desk, CODE))


def written(page: httpx.Response, name: str = "written") -> str:
    """Return what a page gives back to copy; nothing where it gives nothing back."""
    found = re.search(rf'<textarea id="{name}" readonly[^>]*>([^<]*)</textarea>', page.text)
    return html.unescape(found[1]).replace("\r\n", "\n") if found else ""


def set_aside(store: Store, place: Place) -> str:
    late = find_set_aside(store, place.item.review.id, place.slot, "anna")
    return late.assessment.note if late else ""


@pytest.mark.parametrize("action", ["commit", "save", "skip", "flag"])
def test_a_second_window_that_comes_after_the_commit_gets_its_text_back_and_finds_it_again(
    anna: TestClient, store: Store, place: Place, action: str
) -> None:
    here = address(place)
    form = form_of(anna, here) | COMPLETE
    assert anna.post(f"{here}/commit", data=form | {"note": "first window"}).status_code == 303
    late = {"note": HOSTILE, "reason.accumulation": "two windows", "key": "another", "flag.reason": "look"}
    refused = anna.post(f"{here}/{action}", data=form | late)
    assert refused.status_code == 409
    assert "committed, for good" in refused.text
    for text in (f"note:\n{SHOWN}\n", "level accumulation: 3", "reason accumulation: two windows"):
        assert text in written(refused)
    assert "<script>alert" not in refused.text
    assert set_aside(store, place) == SHOWN
    again = anna.get(here)
    assert SHOWN in written(again, "set-aside-text")
    assert ">first window</textarea>" in again.text


def test_what_a_second_window_autosaves_after_the_commit_is_on_the_page_as_well(
    anna: TestClient, place: Place
) -> None:
    here = address(place)
    form = form_of(anna, here) | COMPLETE
    anna.post(f"{here}/commit", data=form)
    late = anna.post(f"{here}/draft", data=form | {"note": "late", "revision": "3"})
    assert (late.status_code, late.json()["code"]) == (409, "already_committed")
    assert "note: late" in written(anna.get(here), "set-aside-text")


def test_a_second_window_that_finishes_after_the_first_gets_its_text_back(
    anna: TestClient, store: Store, place: Place
) -> None:
    here = address(place)
    anna.post(f"{here}/commit", data=form_of(anna, here) | COMPLETE)
    form = form_of(anna, here) | COMPLETE
    assert anna.post(f"{here}/final", data=form).status_code == 303
    refused = anna.post(f"{here}/final", data=form | {"key": "another", "note": HOSTILE})
    assert refused.status_code == 409
    assert SHOWN in written(refused)
    assert set_aside(store, place) == SHOWN
    assert SHOWN in written(anna.get(here), "set-aside-text")


def test_an_older_window_does_not_finish_over_a_newer_one_unseen(anna: TestClient, place: Place) -> None:
    here = address(place)
    anna.post(f"{here}/commit", data=form_of(anna, here) | COMPLETE)
    form = form_of(anna, here) | COMPLETE
    anna.post(f"{here}/draft", data=form | {"note": "newer"})
    page = anna.post(f"{here}/final", data=form | {"note": "older"})
    assert page.status_code == 409
    assert "another window saved this item" in page.text
    assert ">older</textarea>" in page.text
    assert ">newer</textarea>" in anna.get(here).text
    insisted = anna.post(f"{here}/final", data=fields_of(page.text) | COMPLETE | {"note": "older"})
    assert insisted.status_code == 303


@pytest.mark.parametrize("action", ["commit", "save", "skip", "flag", "final", "preview"])
@pytest.mark.parametrize(
    ("field", "length"),
    [("note", 20_001), ("reason.accumulation", 2001), ("objection.error_margin", 2001)],
)
def test_a_field_that_is_too_long_comes_back_whole_with_everything_else(
    anna: TestClient, place: Place, action: str, field: str, length: int
) -> None:
    here = address(place)
    form = form_of(anna, here) | COMPLETE
    if action in ("final", "preview"):
        assert anna.post(f"{here}/commit", data=form).status_code == 303
        form = form_of(anna, here) | COMPLETE
    long = "word " * (length // 5) + "end."
    refused = anna.post(f"{here}/{action}", data=form | {"note": "beside it", field: long})
    assert refused.status_code == 422
    assert f"at most {length - 1} characters" in refused.text
    assert long in written(refused)
    assert "level low precision: 3" in written(refused)
    if field != "note":
        assert "note: beside it" in written(refused)


def test_text_comes_back_when_somebody_else_has_the_item(anna: TestClient, desk: Desk, place: Place) -> None:
    here, review = address(place), place.item.review.id
    form = form_of(anna, here)
    desk.hand_back(ANNA, review, place.slot, place.lease_id, reason="as a time-out would", skip=False)
    hand(desk, BEN, review)
    refused = anna.post(f"{here}/commit", data=form | COMPLETE | {"note": HOSTILE})
    assert refused.status_code == 409
    assert SHOWN in written(refused)
    assert "ben" not in refused.text.lower()


def test_text_comes_back_when_the_session_has_ended(
    anna: TestClient, accounts: Accounts, place: Place
) -> None:
    here = address(place)
    form = form_of(anna, here) | COMPLETE | {"note": HOSTILE}
    accounts.log_out(anna.cookies["desk_session"])
    refused = anna.post(f"{here}/commit", data=form)
    assert refused.status_code == 401
    assert "your session has ended" in refused.text
    assert SHOWN in written(refused)
    assert 'href="/login"' in refused.text
    assert anna.post("/draw").headers["Location"] == "/login", "where nothing is written it just leads on"


def test_text_comes_back_when_the_form_was_made_for_another_session(
    client: ClientFactory, place: Place
) -> None:
    here = address(place)
    form = form_of(client("anna"), here) | COMPLETE | {"note": HOSTILE}
    again = client("anna")
    del again.headers["X-CSRF-Token"]
    refused = again.post(f"{here}/commit", data=form)
    assert refused.status_code == 403
    assert SHOWN in written(refused)


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}], ids=["site", "origin"]
)
def test_what_another_site_sends_is_not_shown(
    anna: TestClient, place: Place, headers: dict[str, str]
) -> None:
    here = address(place)
    refused = anna.post(
        f"{here}/commit", data=form_of(anna, here) | {"note": "call this number"}, headers=headers
    )
    assert refused.status_code == 403
    assert "call this number" not in refused.text


def test_no_password_ever_comes_back(client: ClientFactory) -> None:
    dora = client("dora")
    secret = "hunter2 hunter2"
    for path, fields in (
        ("/account/password", {"current": PASSWORD, "password": secret, "again": "another"}),
        ("/admin/accounts", {"name": "Not A Name", "password": secret, "role": "nobody"}),
        ("/admin/accounts/anna/password", {"password": "x" * 5000 + secret}),
        ("/login", {"name": "a" * 500, "password": secret}),
    ):
        refused = dora.post(path, data=fields)
        assert refused.status_code >= 400, path
        assert secret not in refused.text, path
        assert PASSWORD not in refused.text, path


@pytest.mark.parametrize(
    ("path", "name"), [("/comments", "text"), ("/comments", "task_id"), ("/norming", "reviews")]
)
def test_other_forms_give_back_what_was_typed_too(client: ClientFactory, path: str, name: str) -> None:
    refused = client("dora").post(path, data={"title": "t", "text": "t", name: HOSTILE + "x" * 100_000})
    assert refused.status_code in (404, 422)
    assert "<script>alert" not in refused.text
    assert SHOWN + "x" * 100_000 in html.unescape(refused.text).replace("\r\n", "\n")


def test_text_comes_back_when_a_defect_of_ours_refuses_it(
    app: FastAPI, client: ClientFactory, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = address(place)
    form = form_of(client("anna"), here)

    def fail(*arguments: object, **more: object) -> None:
        raise RuntimeError

    anna = TestClient(app, "http://desk.test", raise_server_exceptions=False, follow_redirects=False)
    token = form_token(anna.get("/login").text)
    anna.post("/login", data={"name": "anna", "password": PASSWORD, "csrf": token})
    form["csrf"] = form_token(anna.get(here).text)
    monkeypatch.setattr(Desk, "commit", fail)
    refused = anna.post(f"{here}/commit", data=form | COMPLETE | {"note": HOSTILE})
    assert refused.status_code == 500
    assert SHOWN in written(refused)


def test_programs_get_no_text_back(anna: TestClient, place: Place) -> None:
    here = address(place)
    form = form_of(anna, here) | {"note": "n" * 20_001}
    refused = anna.post(f"{here}/commit", data=form, headers={"Accept": "application/json, text/html"})
    assert set(refused.json()) == {"code", "message", "remedy"}


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 5 * MAX_BODY_BYTES])
def test_a_browser_is_answered_however_much_it_sends(server: str, size: int) -> None:
    body = b"note=" + b"x" * size
    answer = httpx.post(
        f"{server}/login", content=body, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert answer.status_code == 413
    assert "more than 2 MB" in answer.text
    assert "was not read" in answer.text
    assert "Back button, which still has what you wrote" in answer.text.replace("&#39;", "'")


@pytest.mark.parametrize("action", ["draft", "save", "commit", "skip", "flag", "rerun"])
def test_half_a_form_of_a_connection_that_broke_off_is_not_what_somebody_said(
    app: FastAPI, anna: TestClient, store: Store, desk: Desk, place: Place, action: str
) -> None:
    here, review = address(place), place.item.review.id
    more = {"note": "slow, but not wrong", "flag.reason": "look", "rerun": "replay"}
    body = urlencode(form_of(anna, here) | COMPLETE | more, doseq=True).encode()
    cut = body.index(b"+but+not+wrong")
    assert send_and_break_off(app, anna, f"{here}/{action}", body, cut) == []
    assert store.desk.find_draft(review, place.slot, "anna") is None
    assert desk.place(review, place.slot).state is PlaceState.HELD
    assert set_aside(store, place) == ""


def send_and_break_off(app: FastAPI, client: TestClient, path: str, body: bytes, cut: int) -> list[Message]:
    """Send `body` up to `cut`, as a browser that is killed does, and return what is answered."""
    headers = {
        "host": "desk.test",
        "cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items()),
        "content-type": "application/x-www-form-urlencoded",
        "content-length": str(len(body)),
        "x-csrf-token": client.headers["X-CSRF-Token"],
    }
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("testclient", 50000),
        "server": ("desk.test", 80),
    }
    sent: list[Message] = []

    async def run() -> None:
        # As servers do: what came, and from then on the end of the connection.
        coming: list[Message] = [{"type": "http.request", "body": body[:cut], "more_body": True}]

        async def receive() -> Message:
            return coming.pop(0) if coming else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await app(scope, receive, send)

    asyncio.run(run())
    return sent
