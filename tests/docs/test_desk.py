"""docs/desk.md and docs/api.md name every screen, key, role, setting and refusal of the review desk."""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel

from pipeline.review.attempts import FAILURES, WINDOW
from pipeline.review.errors import CODES
from pipeline.review.passwords import LONGEST, SHORTEST
from pipeline.review.permissions import PERMISSIONS, Permission
from pipeline.review.reruns import MOST_EACH, MOST_OPEN, MOST_PER_HOUR
from pipeline.review.timesheets import ENOUGH, ENOUGH_PEOPLE
from pipeline.stats.agreement import MINIMUM
from pipeline.types import Action, Cause, DeskEvent, DeskSettings, Purpose, Role
from pipeline.web.app import find_routers
from pipeline.web.context import Options
from pipeline.web.security import HEADERS, MAX_BODY_BYTES
from tests.docs.test_docs import DOCS, ROOT, rows_under

DESK = (DOCS / "desk.md").read_text()
STATIC = ROOT / "pipeline" / "web" / "static"

#: What scripts of a page fetch: parts of a screen, none of their own.
PARTS = {"/review/{review_id}/{slot}/code", "/review/{review_id}/{slot}/rerun", "/comments/suggest"}


def permission_of(route: APIRoute) -> str | None:
    """Return the permission that a route needs, by whatever it depends on."""
    waiting: list[Any] = [route.dependant]
    while waiting:
        dependant = waiting.pop()
        permission = getattr(dependant.call, "permission", None)
        if permission is not None:
            return str(permission.value)
        waiting += dependant.dependencies
    return None


SCREENS = {
    route.path: permission_of(route)
    for router in find_routers()
    for route in router.routes
    if isinstance(route, APIRoute) and "GET" in route.methods and not route.path.startswith("/api/")
}
KEYS = (STATIC / "keys.js").read_text().partition("ACTIONS = {\n")[2].partition("\n};")[0]


def test_every_screen_is_documented_with_its_permission() -> None:
    rows = rows_under("desk.md", "## Screens")[1:]
    documented = {address.strip("`"): needs.strip("`") for _, address, needs in rows}
    assert len(documented) == len(rows)
    assert set(documented) == set(SCREENS) - PARTS
    # The log-in asks nobody who they are; home asks for an account alone.
    said = {"/login": "nobody", "/": "an account"}
    expected = {path: needed or said[path] for path, needed in SCREENS.items() if path not in PARTS}
    assert documented == expected


def test_no_screen_is_hidden_from_this_page() -> None:
    # Should screens be found in another way, this file must not go blind unnoticed.
    assert {"/queue", "/adjudicate/{review_id}", "/admin", *PARTS} <= set(SCREENS)


def test_every_key_is_documented_with_what_it_does() -> None:
    actions = re.findall(r'^  "?[\w-]+"?: \["(.)", "(.*)"\],$', KEYS, re.MULTILINE)
    assert len(actions) == len(KEYS.splitlines())
    assert [(key.strip("`"), does) for key, does in rows_under("desk.md", "## Keys")[1:]] == actions


def test_every_permission_of_every_role_is_documented() -> None:
    header, *rows = rows_under("desk.md", "## Accounts and roles")
    assert {*header[1:-1]} == {role.value for role in Role}
    assert [row[0].strip("`") for row in rows] == [permission.value for permission in Permission]
    for name, *cells, _ in rows:
        for role, cell in zip(header[1:-1], cells, strict=True):
            may = Permission(name.strip("`")) in PERMISSIONS[Role(role)]
            assert cell == ("yes" if may else "no"), (name, role)


def test_every_setting_of_the_desk_is_documented_with_its_default() -> None:
    rows = rows_under("desk.md", "## Settings")[1:]
    documented = {name.strip("`"): default for name, default, _ in rows}
    defaults = DeskSettings().model_dump()
    expected = {
        name: {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value:g}"
        for name, value in defaults.items()
    }
    assert documented == expected


def test_every_option_of_serving_is_documented_with_its_default() -> None:
    rows = rows_under("desk.md", "## Run it")[1:]
    documented = {name.strip("`"): default for name, default, _ in rows}
    assert set(documented) == {field.name for field in dataclasses.fields(Options)}
    options = Options()
    assert documented["prefix"] == documented["identity_header"] == "empty"
    assert options.prefix == options.identity_header == ""
    assert documented["secure_cookies"] == f"`{options.secure_cookies}`"
    assert tuple(re.findall("`([^`]+)`", documented["trusted_proxies"])) == options.trusted_proxies
    assert documented["session_hours"] == f"`{options.session_hours:g}`"


def documented_refusals() -> dict[str, int]:
    rows = rows_under("api.md", "## What is refused")[1:]
    return {code: int(status) for status, codes in rows for code in re.findall("`([a-z_]+)`", codes)}


def test_every_refusal_is_documented_under_its_status() -> None:
    assert documented_refusals().items() >= CODES.items()


def test_every_refusal_that_is_documented_exists() -> None:
    source = "".join(path.read_text() for path in (ROOT / "pipeline" / "web").rglob("*.py"))
    assert [code for code in documented_refusals() if code not in CODES and f'"{code}"' not in source] == []


def event_kinds() -> list[type[BaseModel]]:
    union, _ = get_args(Action)
    return list(get_args(union))


@pytest.mark.parametrize("action", event_kinds(), ids=lambda action: action.__name__)
def test_every_event_is_documented_with_whether_it_is_journalled(action: type[BaseModel]) -> None:
    kind = action.model_fields["kind"].default
    journalled = {row[0].strip("`"): row[1] for row in rows_under("desk.md", "## What is kept")[1:]}
    event = DeskEvent.model_construct(action=SimpleNamespace(kind=kind))
    assert journalled[kind] == ("yes" if event.is_journalled else "no")


def test_no_event_is_documented_that_cannot_happen() -> None:
    kinds = {action.model_fields["kind"].default for action in event_kinds()}
    assert {row[0].strip("`") for row in rows_under("desk.md", "## What is kept")[1:]} == kinds


@pytest.mark.parametrize("word", [*Purpose, *Cause], ids=lambda word: f"{type(word).__name__}-{word.value}")
def test_every_purpose_and_cause_is_documented(word: Purpose | Cause) -> None:
    assert f"`{word.value}`" in DESK


def test_the_limits_that_are_documented_are_those_that_hold() -> None:
    assert FAILURES == 5
    assert timedelta(minutes=5) == WINDOW
    assert "After five failures within five minutes" in DESK
    assert f"Passwords have {SHORTEST} to {LONGEST:,} characters" in DESK
    assert f"Figures of fewer than {MINIMUM} observations" in DESK
    assert f"from {ENOUGH} reviews by {ENOUGH_PEOPLE} people on" in DESK
    assert f"{MOST_OPEN} may wait or run at a desk and {MOST_EACH} of one person" in DESK
    assert f"who may ask {MOST_PER_HOUR} times within an hour" in DESK
    assert f"at most {MAX_BODY_BYTES // 1024**2} MB" in DESK
    assert f"client_max_body_size {MAX_BODY_BYTES // 1024**2}m" in DESK


def test_the_content_policy_that_is_documented_is_the_one_that_is_sent() -> None:
    assert "`default-src 'self'`" in DESK
    assert HEADERS["Content-Security-Policy"].startswith("default-src 'self';")
