"""Logging in and out."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from pipeline.review.accounts import Accounts
from tests.web.conftest import PASSWORD, ClientFactory, form_token, log_in


def send(client: TestClient, **fields: str) -> object:
    token = form_token(client.get("/login").text)
    return client.post("/login", data={"csrf": token, **fields})


def test_nobody_is_led_to_the_login_and_then_to_where_they_wanted(client: ClientFactory) -> None:
    nobody = client()
    answer = nobody.get("/timesheet?week=2026-49&x=%2F")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/login?next=/timesheet%3Fweek%3D2026-49%26x%3D%252F"
    page = nobody.get(answer.headers["Location"]).text
    assert '<input type="hidden" name="next" value="/timesheet?week=2026-49&amp;x=%2F">' in page
    after = nobody.post(
        "/login",
        data={
            "csrf": form_token(page),
            "name": "anna",
            "password": PASSWORD,
            "next": "/timesheet?week=2026-49&x=%2F",
        },
    )
    assert after.headers["Location"] == "/timesheet?week=2026-49&x=%2F"


def test_the_front_page_leads_each_role_to_its_work(client: ClientFactory) -> None:
    homes = {name: client(name).get("/").headers["Location"] for name in ("anna", "carla", "dora", "vera")}
    assert homes == {"anna": "/queue", "carla": "/queue", "dora": "/queue", "vera": "/progress"}


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\n/evil.example",
        "evil",
        "/\u202e",
    ],
)
def test_the_login_leads_to_no_other_site(client: ClientFactory, target: str) -> None:
    answer = send(client(), name="anna", password=PASSWORD, next=target)
    assert answer.headers["Location"] == "/"
    assert f'value="{target}"' not in client().get("/login", params={"next": target}).text


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("anna", "wrong"),
        ("anna", ""),
        ("mallory", PASSWORD),
        ("", ""),
        ("anna\x00", PASSWORD),
        ("' OR 1=1 --", PASSWORD),
        ("é\u202e", "\x00" * 100),
    ],
)
def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(
    client: ClientFactory, name: str, password: str
) -> None:
    answer = send(client(), name=name, password=password)
    assert answer.status_code == 401
    assert "The name or the password is wrong." in answer.text
    assert "\u202e" not in answer.text


def test_too_many_wrong_attempts_are_refused_with_when_to_try_again(client: ClientFactory) -> None:
    nobody = client()
    statuses = [send(nobody, name="ben", password="wrong").status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    refused = send(nobody, name="ben", password=PASSWORD)
    assert refused.status_code == 429
    assert 'role="alert"' in refused.text
    assert "Set-Cookie" in refused.headers


def test_logging_in_starts_a_session_under_a_new_key(client: ClientFactory) -> None:
    nobody = client()
    nobody.get("/login")
    before = nobody.cookies["desk_session"]
    log_in(nobody, "anna")
    assert nobody.cookies["desk_session"] != before
    cookie = send(client(), name="anna", password=PASSWORD).headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie


def test_a_key_that_somebody_planted_is_never_a_session(app: FastAPI) -> None:
    victim = TestClient(app, base_url="http://desk.test", follow_redirects=False)
    victim.cookies.set("desk_session", "planted-by-mallory")
    log_in(victim, "anna")
    mallory = TestClient(app, base_url="http://desk.test", follow_redirects=False)
    mallory.cookies.set("desk_session", "planted-by-mallory")
    assert mallory.get("/queue").headers["Location"].startswith("/login")


def test_a_form_of_the_login_is_no_good_in_another_browser(client: ClientFactory) -> None:
    token = form_token(client().get("/login").text)
    other = client()
    other.get("/login")
    answer = other.post("/login", data={"csrf": token, "name": "anna", "password": PASSWORD})
    assert answer.status_code == 403


def test_logging_out_ends_the_session_everywhere_it_is_known(app: FastAPI, client: ClientFactory) -> None:
    anna = client("anna")
    key = anna.cookies["desk_session"]
    assert anna.post("/logout").headers["Location"] == "/login"
    assert "desk_session" not in anna.cookies
    thief = TestClient(app, base_url="http://desk.test", follow_redirects=False)
    thief.cookies.set("desk_session", key)
    assert thief.get("/queue").headers["Location"].startswith("/login")


def test_somebody_who_is_logged_in_sees_no_login(client: ClientFactory) -> None:
    assert client("anna").get("/login?next=/comments").headers["Location"] == "/comments"


def test_an_account_that_is_made_inactive_is_out_at_once(client: ClientFactory, accounts: Accounts) -> None:
    anna = client("anna")
    dora, account = accounts.find("dora"), accounts.find("anna")
    assert dora
    assert account
    accounts.change(dora, account.model_copy(update={"active": False}))
    assert anna.get("/queue").headers["Location"].startswith("/login")
    assert send(client(), name="anna", password=PASSWORD).status_code == 401


def test_a_new_password_ends_the_sessions(client: ClientFactory, accounts: Accounts) -> None:
    anna = client("anna")
    accounts.set_password("anna", "another password of tests")
    assert anna.get("/queue").headers["Location"].startswith("/login")


def test_a_fragment_asked_for_after_the_session_ended_leads_the_whole_page_away(
    client: ClientFactory,
) -> None:
    answer = client().get("/queue", headers={"HX-Request": "true"})
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/login"
