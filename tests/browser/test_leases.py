"""A lease that ends in the middle of a sentence: somebody else is served, and the sentence is kept."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import Account
from tests.browser.conftest import PersonFactory
from tests.web.reviews import commit, draw, finish


class Later:
    """The time, and how far a test has put it forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def later() -> Later:
    return Later()


@pytest.fixture
def desk(store: Store, later: Callable[[], datetime]) -> Desk:
    return Desk(store, clock=later)


@pytest.fixture
def one_left(desk: Desk, accounts: Accounts, plain: Account) -> None:
    """Carla has reviewed all but one item."""
    carla = accounts.find("carla")
    assert carla is not None
    for _ in range(desk.describe_queue(carla).waiting - 1):
        finish(desk, carla, commit(desk, carla, draw(desk, carla), 3))


def test_a_lease_that_ends_in_mid_edit_hands_the_item_over_and_keeps_the_draft(
    people: PersonFactory, one_left: None, desk: Desk, later: Later
) -> None:
    anna, ben = people("anna"), people("ben")
    anna.draw()
    note = anna.page.locator("#note")
    note.fill("Half a sentence")
    anna.await_saved()
    here = anna.page.url

    ben.page.goto("/queue")
    expect(ben.page.locator(".tile", has_text="held by others")).to_contain_text("1")
    later.ahead = timedelta(minutes=desk.settings().lease_minutes, seconds=5)
    ben.draw()
    assert ben.page.url == here
    # It is another's draft, and none of it is shown.
    expect(ben.page.locator("#note")).to_have_value("")

    note.press_sequentially(", and the rest")
    told = anna.page.locator("#messages .notice.bad")
    expect(told).to_be_visible()
    expect(told).to_contain_text("kept")
    assert "ben" not in told.inner_text().lower()
    expect(note).to_have_value("Half a sentence, and the rest")

    ben.page.keyboard.press("s")
    ben.page.locator("#send-skip").click()
    expect(ben.page.locator("#draw")).to_be_visible()
    anna.draw()
    assert anna.page.url == here
    expect(anna.page.locator("#note")).to_have_value("Half a sentence, and the rest")


def test_work_renews_the_lease(people: PersonFactory, one_left: None, desk: Desk, later: Later) -> None:
    anna = people("anna")
    anna.draw()
    until = anna.page.locator("#lease").get_attribute("datetime")
    later.ahead = timedelta(minutes=desk.settings().lease_minutes - 1)
    anna.page.locator("#note").fill("Still at work")
    anna.await_saved()
    renewed = anna.page.locator("#lease").get_attribute("datetime")
    assert until is not None
    assert renewed is not None
    assert datetime.fromisoformat(renewed) - datetime.fromisoformat(until) >= timedelta(minutes=28)


def test_a_lease_that_ended_while_nobody_waited_is_simply_taken_up_again(
    people: PersonFactory, one_left: None, desk: Desk, later: Later
) -> None:
    anna = people("anna")
    anna.draw()
    later.ahead = timedelta(minutes=desk.settings().lease_minutes + 1)
    desk.refresh()
    anna.page.locator("#note").fill("After a long lunch")
    anna.await_saved()
    anna.page.keyboard.press("Escape")
    anna.give_all("3")
    anna.commit()
