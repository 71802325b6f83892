"""Nothing of the machine's opinion reaches the browser before the commit; all of it does afterwards."""

from __future__ import annotations

import pytest
from playwright.sync_api import Response, expect

from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import Account, Cause
from tests.browser.conftest import PersonFactory
from tests.browser.person import Person
from tests.web.conftest import TASKS
from tests.web.items import ANNA, SECRETS, enqueue, hand

CODE = (TASKS / "rmsnorm" / "solutions" / "good_simple.py").read_text() + "# an attempt\n"


@pytest.fixture
def item(store: Store, desk: Desk, plain: Account) -> str:
    """Anna has an item whose judge gives the highest level everywhere; gives its address."""
    place = hand(desk, ANNA, enqueue(store, desk, CODE))
    return f"/review/{place.item.review.id}/{place.slot}"


@pytest.fixture
def anna(people: PersonFactory, item: str) -> Person:
    return people("anna")


def test_nothing_of_the_judge_reaches_the_browser_before_the_commit(anna: Person, item: str) -> None:
    page, got = anna.page, list[str]()

    def keep(answer: Response) -> None:
        if not 300 <= answer.status < 400:
            got.append(answer.text())

    page.on("response", keep)
    page.goto(item)
    expect(page.locator("#workspace.scripted")).to_be_visible()
    for tab in page.get_by_role("tab").all():
        tab.click()
    for key in "ddd?":
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    page.locator("#note").fill("My own opinion.")
    anna.await_saved()
    # A form that is not complete comes back without anything, too.
    page.keyboard.press("Control+Enter")
    expect(page.locator("#problem")).to_be_visible()
    page.wait_for_load_state("networkidle")
    everything = "\n".join([*got, page.content()])
    assert "# an attempt" in everything
    assert [secret for secret in SECRETS if secret in everything] == []

    anna.give_all("2")
    anna.commit()
    for secret in ("JUDGE-REASON", "JUDGE-NAME", "DRAFTED-FEEDBACK"):
        assert secret in page.content()
    assert "secret-author" not in page.content()


def test_a_level_that_changes_after_the_reveal_needs_a_cause_and_both_are_kept(
    anna: Person, item: str, desk: Desk
) -> None:
    page = anna.page
    page.goto(item)
    asked = anna.asked
    anna.give_all("2")
    anna.commit()
    # All four differ by as much; "a" takes the judge's level for one, and a digit says why.
    page.keyboard.press("a")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#problem")).to_be_visible()
    page.keyboard.press("a")
    page.keyboard.press("2")
    anna.await_saved()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#workspace[data-stage=final]")).to_be_hidden()

    (done,) = desk.describe_queue(ANNA).recent
    assert done.submitted is not None
    assert done.submitted.final is not None
    assert {answer.level for answer in done.submitted.blind.answers.values()} == {1}
    (change,) = done.submitted.revisions
    assert (change.before, change.after, change.cause) == (1, 4, Cause.SLIP)
    final = {name: answer.level for name, answer in done.submitted.final.answers.items()}
    assert final == dict.fromkeys(asked, 1) | {change.criterion: 4}


def test_the_blind_assessment_cannot_be_reached_again_with_the_back_button(anna: Person, item: str) -> None:
    page = anna.page
    page.goto("/queue")
    page.goto(item)
    anna.give_all("2")
    anna.commit()
    page.go_back()
    page.goto(item)
    expect(page.locator("#workspace")).to_have_attribute("data-stage", "final")
    expect(page.get_by_role("heading", name="Mine and the judge's")).to_be_visible()
