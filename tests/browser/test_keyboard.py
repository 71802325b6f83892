"""A complete review by keyboard alone, on one page, with few keys."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from pipeline.review.desk import Desk
from pipeline.review.places import PlaceState
from pipeline.types import Account
from tests.browser.conftest import PersonFactory
from tests.browser.person import Person
from tests.web.conftest import PASSWORD
from tests.web.items import ANNA


def test_a_review_from_login_to_the_next_item_by_keyboard_alone(
    browser: Browser, server: str, desk: Desk, plain: Account
) -> None:
    anna = Person("anna", browser.new_context(base_url=server))
    page, keys = anna.page, anna.page.keyboard
    page.goto("/login")
    keys.type("anna")
    keys.press("Tab")
    keys.type(PASSWORD)
    keys.press("Enter")
    expect(page.locator("#draw")).to_be_visible()
    anna.tab_to("draw")
    keys.press("Enter")
    expect(page.locator("#workspace.scripted")).to_be_visible()
    first = page.locator("#workspace").get_attribute("data-place")

    # One page for the whole evening: this stays until another one is loaded.
    page.evaluate("document.documentElement.dataset.loaded = 'once'")
    keys.press("c")
    keys.type("Why here?")
    keys.press("Control+Enter")
    expect(page.locator("#comments textarea")).to_have_value("Why here?")
    anna.give_all("3")
    anna.commit()
    expect(page.get_by_role("heading", name="Mine and the judge's")).to_be_visible()
    while page.locator(".criterion.differs:not([hidden])").count():
        shown = page.locator(".criterion:not([hidden])").get_attribute("id")
        keys.press("m")
        if page.locator(".criterion:not([hidden])").get_attribute("id") == shown:
            break
    keys.press("Control+Enter")
    expect(page.locator("#workspace[data-stage=blind]")).to_be_visible()
    assert page.locator("#workspace").get_attribute("data-place") != first
    assert page.locator("html").get_attribute("data-loaded") == "once"

    (done,) = desk.describe_queue(ANNA).recent
    assert done.submitted is not None
    assert done.state is PlaceState.FINISHED
    assert {answer.level for answer in done.submitted.blind.answers.values()} == {2}
    assert [comment.text for comment in done.submitted.blind.comments] == ["Why here?"]
    assert done.submitted.final is not None
    assert done.submitted.final.answers == done.submitted.blind.answers
    assert anna.surprises == []
    anna.context.close()


def test_an_incomplete_form_says_what_is_missing_and_leads_there(
    people: PersonFactory, plain: Account, desk: Desk
) -> None:
    anna = people("anna")
    anna.draw()
    anna.page.keyboard.press("4")
    anna.page.keyboard.press("Control+Enter")
    problem = anna.page.locator("#problem")
    expect(problem).to_be_focused()
    assert problem.locator("li").count() == len(anna.asked) - 1
    assert len(desk.describe_queue(ANNA).mine) == 1


def test_keys_are_letters_in_text_fields(people: PersonFactory, plain: Account) -> None:
    anna = people("anna")
    anna.draw()
    note = anna.page.locator("#note")
    note.focus()
    anna.page.keyboard.type("sound, 5 of 5; ?")
    expect(note).to_have_value("sound, 5 of 5; ?")
    assert anna.page.locator(".criterion input[type=radio]:checked:not([value=''])").count() == 0
    expect(anna.page.locator("#keys")).to_be_hidden()


def test_a_key_can_be_changed_and_all_can_be_switched_off(people: PersonFactory, plain: Account) -> None:
    anna = people("anna")
    anna.draw()
    page, keys = anna.page, anna.page.keyboard
    note = page.locator("#flag")
    keys.press("?")
    page.get_by_label("Flag the item").fill("y")
    page.get_by_role("button", name="Close").click()
    keys.press("f")
    expect(note).not_to_have_attribute("open", "")
    page.reload()
    keys.press("y")
    expect(note).to_have_attribute("open", "")
    page.reload()
    keys.press("?")
    page.get_by_label("Keys are on").uncheck()
    keys.press("Escape")
    keys.press("y")
    expect(note).not_to_have_attribute("open", "")
    keys.press("?")
    expect(page.locator("#keys")).to_be_visible()
