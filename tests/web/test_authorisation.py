"""Every route, held against everybody: who may, who may not, and who is nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from pipeline.review.accounts import Accounts
from tests.web.conftest import ClientFactory

#: Which people have a permission, written by hand: not what `pipeline.review.permissions` says of itself.
PEOPLE = {
    "review": ("anna", "ben", "carla", "dora"),
    "adjudicate": ("carla", "dora"),
    "see_history": ("anna", "ben", "carla", "dora"),
    "see_progress": ("dora", "vera"),
    "see_batches": ("anna", "ben", "carla", "dora", "vera"),
    "export": ("dora",),
    "unblind": ("dora",),
    "manage": ("dora",),
    "anybody": ("anna", "ben", "carla", "dora", "vera"),
}

#: Routes that ask nobody who they are.
PUBLIC = ("GET /static/{name:path}", "GET /login", "POST /login", "POST /logout")

#: What every other route needs.
NEEDED = {
    "GET /": "anybody",
    "GET /account": "see_batches",
    "POST /account/password": "see_batches",
    # The queue, the workspace and the reveal
    "GET /queue": "review",
    "POST /draw": "review",
    "POST /queue/{review_id}/{slot}/undo": "review",
    "POST /queue/{review_id}/{slot}/hand-back": "review",
    "POST /queue/hours": "review",
    "GET /review/{review_id}/{slot}": "review",
    "GET /review/{review_id}/{slot}/code": "review",
    "POST /review/{review_id}/{slot}/draft": "review",
    "POST /review/{review_id}/{slot}/save": "review",
    "POST /review/{review_id}/{slot}/commit": "review",
    "POST /review/{review_id}/{slot}/skip": "review",
    "POST /review/{review_id}/{slot}/flag": "review",
    "GET /review/{review_id}/{slot}/rerun": "review",
    "POST /review/{review_id}/{slot}/rerun": "review",
    "POST /review/{review_id}/{slot}/preview": "review",
    "POST /review/{review_id}/{slot}/final": "review",
    "POST /review/{review_id}/{slot}/undo": "review",
    "GET /adjudicate/{review_id}": "adjudicate",
    "POST /adjudicate/{review_id}": "adjudicate",
    "POST /adjudicate/{review_id}/draft": "adjudicate",
    "POST /adjudicate/{review_id}/skip": "adjudicate",
    "POST /adjudicate/{review_id}/flag": "adjudicate",
    # Screens beside the work
    "GET /history/{review_id}": "see_history",
    "GET /comments": "review",
    "POST /comments": "review",
    "POST /comments/{comment_id}/delete": "review",
    "POST /comments/{comment_id}/use": "review",
    "GET /comments/suggest": "review",
    "GET /norming": "review",
    "POST /norming": "manage",
    "GET /norming/{session_id}": "review",
    "POST /norming/{session_id}/reveal": "manage",
    "GET /norming/{session_id}/{review_id}": "review",
    "POST /norming/{session_id}/{review_id}/join": "review",
    "POST /norming/{session_id}/{review_id}/remark": "review",
    "GET /timesheet": "review",
    "GET /timesheet/mine.csv": "review",
    "GET /timesheet/everybody.csv": "export",
    "GET /progress": "see_progress",
    "GET /progress/reviews": "see_progress",
    "GET /batches": "see_batches",
    "GET /batches/{batch_id}": "see_batches",
    "GET /batches/{batch_id}/checks": "see_batches",
    "GET /batches/{batch_id}/gradings": "see_batches",
    # Administration
    "GET /admin": "manage",
    "GET /admin/labels.{form}": "export",
    "POST /admin/settings": "manage",
    "POST /admin/release": "manage",
    "POST /admin/take-back": "manage",
    "POST /admin/unblind": "unblind",
    "POST /admin/plant": "manage",
    "GET /admin/rubrics": "manage",
    "POST /admin/rubrics/sign": "manage",
    "GET /admin/accounts": "manage",
    "POST /admin/accounts": "manage",
    "GET /admin/accounts/{name}": "manage",
    "POST /admin/accounts/{name}": "manage",
    "POST /admin/accounts/{name}/password": "manage",
    "POST /admin/accounts/{name}/tokens": "manage",
    "POST /admin/accounts/{name}/tokens/revoke": "manage",
    # The HTTP API
    "GET /api/v1/me": "see_batches",
    "PATCH /api/v1/me": "see_batches",
    "GET /api/v1/me/tokens": "see_batches",
    "DELETE /api/v1/me/tokens/{sha256}": "see_batches",
    "GET /api/v1/queue": "review",
    "POST /api/v1/queue/draw": "review",
    "GET /api/v1/places": "manage",
    "GET /api/v1/places/{review_id}/{slot}/item": "review",
    "GET /api/v1/places/{review_id}/{slot}/evidence": "review",
    "GET /api/v1/places/{review_id}/{slot}/judgment": "review",
    "GET /api/v1/places/{review_id}/{slot}/reruns": "review",
    "POST /api/v1/places/{review_id}/{slot}/reruns": "review",
    "PUT /api/v1/places/{review_id}/{slot}/draft": "review",
    "POST /api/v1/places/{review_id}/{slot}/open": "review",
    "POST /api/v1/places/{review_id}/{slot}/renew": "review",
    "POST /api/v1/places/{review_id}/{slot}/commit": "review",
    "POST /api/v1/places/{review_id}/{slot}/finish": "review",
    "POST /api/v1/places/{review_id}/{slot}/undo": "review",
    "POST /api/v1/places/{review_id}/{slot}/hand-back": "review",
    "POST /api/v1/places/{review_id}/{slot}/flag": "review",
    "POST /api/v1/places/{review_id}/{slot}/take-back": "manage",
    "GET /api/v1/reviews/flags": "manage",
    "GET /api/v1/reviews/{review_id}/others": "adjudicate",
    "POST /api/v1/reviews/{review_id}/unblind": "unblind",
    "PUT /api/v1/reviews/{review_id}/gold": "manage",
    "GET /api/v1/reviews/{review_id}/history": "see_history",
    "GET /api/v1/decisions/held-back": "manage",
    "POST /api/v1/decisions/held-back/release": "manage",
    "POST /api/v1/decisions/{review_id}/release": "manage",
    "GET /api/v1/norming": "review",
    "POST /api/v1/norming": "manage",
    "GET /api/v1/norming/{session_id}": "review",
    "POST /api/v1/norming/{session_id}/reveal": "manage",
    "POST /api/v1/norming/{session_id}/reviews/{review_id}/join": "review",
    "GET /api/v1/norming/{session_id}/reviews/{review_id}": "review",
    "POST /api/v1/norming/{session_id}/reviews/{review_id}/remarks": "review",
    "GET /api/v1/progress": "see_progress",
    "GET /api/v1/progress/reviews": "see_progress",
    "GET /api/v1/comments": "review",
    "POST /api/v1/comments": "review",
    "GET /api/v1/comments/suggestions": "review",
    "PUT /api/v1/comments/{comment_id}": "review",
    "DELETE /api/v1/comments/{comment_id}": "review",
    "POST /api/v1/comments/{comment_id}/use": "review",
    "GET /api/v1/timesheets/mine": "review",
    "GET /api/v1/timesheets": "export",
    "GET /api/v1/batches": "see_batches",
    "GET /api/v1/batches/{batch_id}": "see_batches",
    "GET /api/v1/labels": "export",
    "GET /api/v1/labels/file": "export",
    "POST /api/v1/labels/imports": "manage",
    "GET /api/v1/settings": "manage",
    "PUT /api/v1/settings": "manage",
    "GET /api/v1/accounts": "manage",
    "POST /api/v1/accounts": "manage",
    "GET /api/v1/accounts/{name}": "manage",
    "PUT /api/v1/accounts/{name}": "manage",
    "PUT /api/v1/accounts/{name}/password": "manage",
}

#: Values for the parts of a path: well-formed, and of nothing that exists.
PARTS = {"review_id": "r-0000000000000000", "slot": "0", "name": "nobody", "sha256": "0" * 64, "form": "csv"}


def test_every_route_states_what_the_table_says(app: FastAPI) -> None:
    stated = {
        f"{method} {route.path}": sorted(set(permissions_of(route.dependant)))
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    assert len(app.routes) == len([route for route in app.routes if isinstance(route, APIRoute)])
    expected = {name: [] if needed == "anybody" else [needed] for name, needed in NEEDED.items()}
    assert stated == expected | {name: [] for name in PUBLIC}


@pytest.mark.parametrize("name", ["anna", "ben", "carla", "dora", "vera"])
def test_everybody_gets_what_their_role_may_and_nothing_else(
    client: ClientFactory, accounts: Accounts, name: str
) -> None:
    account = accounts.find(name)
    assert account
    pages, program = client(name), client()
    program.headers["Authorization"] = f"Bearer {accounts.issue_token(account, 'tests')}"
    wrong: list[str] = []
    for route, needed in NEEDED.items():
        answer = send(program if "/api/" in route else pages, route)
        refused = answer.status_code in (401, 403) or "/login" in answer.headers.get("Location", "")
        if refused == (name in PEOPLE[needed]) or answer.status_code >= 500:
            wrong.append(f"{route}: {answer.status_code}")
        if refused:
            assert answer.status_code == 403, route
            assert "role" in answer.text, route
    assert wrong == []


def test_nobody_gets_nothing(app: FastAPI, client: ClientFactory) -> None:
    stranger = client()
    # One that has the form token of a session, only not of anybody's.
    page = stranger.get("/login").text
    token = re.search(r'name="csrf-token" content="([0-9a-f]+)"', page)
    assert token
    stranger.headers["X-CSRF-Token"] = token[1]
    for route in NEEDED:
        answer = send(stranger, route)
        if "/api/" in route:
            assert answer.status_code == 401, route
            assert answer.headers["WWW-Authenticate"].startswith("Bearer"), route
        else:
            assert answer.status_code == 303, route
            assert answer.headers["Location"].startswith("/login"), route


@pytest.mark.parametrize("token", ["", "x", "nkg_" + "0" * 43, "\x7f", "0" * 5000])
def test_a_token_that_is_none_opens_nothing(client: ClientFactory, token: str) -> None:
    dora = client("dora")
    for path, status in (("/queue", 303), ("/api/v1/queue", 401)):
        answer = dora.get(path, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == status


def test_the_api_takes_no_cookies(client: ClientFactory) -> None:
    assert client("dora").get("/api/v1/queue").status_code == 401


def test_a_role_taken_away_is_gone_at_once(client: ClientFactory, accounts: Accounts) -> None:
    carla, dora, account = client("carla"), accounts.find("dora"), accounts.find("carla")
    assert carla.get("/adjudicate/r-0000000000000000").status_code == 404
    assert dora
    assert account
    accounts.change(dora, account.model_copy(update={"role": accounts.list()[0].role}))
    assert carla.get("/adjudicate/r-0000000000000000").status_code == 403


def permissions_of(dependant: Any) -> Iterator[str]:
    permission = getattr(dependant.call, "permission", None)
    if permission is not None:
        yield permission.value
    for inner in dependant.dependencies:
        yield from permissions_of(inner)


def send(client: TestClient, route: str) -> Any:
    method, path = route.split(" ")
    path = re.sub(r"\{(\w+)[^}]*\}", lambda part: PARTS.get(part[1], "x-0"), path)
    if method == "GET":
        return client.get(path)
    if "/api/" in path:
        return client.request(method, path, json={})
    return client.request(method, path, data={})
