"""A real Chromium before a real desk: everybody has a window of their own, and nothing goes wrong in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.types import Account, DeskSettings
from tests.browser.person import Person
from tests.web.conftest import (
    accounts,
    app,
    client,
    database,
    desk,
    options,
    server,
    store,
    waiting_database,
)

__all__ = [
    "accounts",
    "app",
    "browser",
    "client",
    "database",
    "desk",
    "options",
    "people",
    "plain",
    "server",
    "store",
    "waiting_database",
]

# No test is about how fast a loaded machine is.
expect.set_options(timeout=60_000)

PersonFactory = Callable[..., Person]


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser; tests are skipped where there is none."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium on this machine")
    return found


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    # No longer than these tests: while it is there an event loop runs in this thread.
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def people(browser: Browser, server: str) -> Iterator[PersonFactory]:
    """Have somebody of `PEOPLE` log in, in a fresh window; in the end nothing unexpected was seen in any."""
    everybody: list[Person] = []

    def make(name: str, **options: object) -> Person:
        context = browser.new_context(base_url=server, **options)  # type: ignore[arg-type]
        person = Person(name, context)
        everybody.append(person)
        person.log_in()
        return person

    yield make
    for person in everybody:
        person.context.close()
    assert [found for person in everybody for found in person.surprises] == []


@pytest.fixture
def plain(desk: Desk, accounts: Accounts) -> Account:
    """Have no chance at work: one review for each item, and a minute to undo it. Gives the lead."""
    lead = accounts.find("dora")
    assert lead is not None
    desk.change_settings(
        lead, DeskSettings(second_review_rate=0.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=60.0)
    )
    return lead
