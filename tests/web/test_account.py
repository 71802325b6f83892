"""One's own account: a new password, and no way for anybody else to set it."""

from __future__ import annotations

import pytest

from pipeline.review.accounts import Accounts
from tests.web.conftest import PASSWORD, ClientFactory, form_token

NEW = "four words of nonsense"


def fields(current: str = PASSWORD, password: str = NEW, again: str = NEW) -> dict[str, str]:
    return {"current": current, "password": password, "again": again}


@pytest.mark.parametrize("name", ["anna", "vera"])
def test_a_new_password_is_taken_and_every_other_session_ends(
    client: ClientFactory, accounts: Accounts, name: str
) -> None:
    here, elsewhere = client(name), client(name)
    answer = here.post("/account/password", data=fields())
    assert (answer.status_code, answer.headers["Location"]) == (303, "/account?done=true")
    page = here.get("/account?done=true").text
    assert "The password is changed" in page
    assert elsewhere.get("/account").headers["Location"].startswith("/login")
    assert accounts.log_in(name, NEW, address="192.0.2.7") is not None
    assert accounts.log_in(name, PASSWORD, address="192.0.2.7") is None
    here.headers["X-CSRF-Token"] = form_token(page)
    assert here.post("/account/password", data=fields(NEW, PASSWORD, PASSWORD)).status_code == 303


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (fields(current="not the password"), "The current password is wrong."),
        (fields(again="four words of sense"), "typed differently the second time"),
        (fields(password="short", again="short"), "has 12 to 1024 characters, this one has 5"),
    ],
    ids=["wrong", "mistyped", "short"],
)
def test_what_will_not_do_is_told_and_changes_nothing(
    client: ClientFactory, accounts: Accounts, sent: dict[str, str], problem: str
) -> None:
    answer = client("anna").post("/account/password", data=sent)
    assert answer.status_code == 422
    assert problem in answer.text
    assert accounts.log_in("anna", PASSWORD, address="192.0.2.7") is not None


def test_guessing_the_current_password_has_to_wait(client: ClientFactory) -> None:
    anna = client("anna")
    statuses = [anna.post("/account/password", data=fields(current="a guess")).status_code for _ in range(6)]
    assert statuses == [422] * 5 + [429]
