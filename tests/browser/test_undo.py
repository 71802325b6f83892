"""Finishing can be taken back for a while, with one key, and levels as long as they are not committed."""

from __future__ import annotations

from playwright.sync_api import expect

from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import Account, DeskSettings
from tests.browser.conftest import PersonFactory
from tests.browser.person import Person
from tests.web.items import ANNA


def _finish_one(person: Person) -> str:
    person.draw()
    place = person.page.locator("#workspace").get_attribute("data-place")
    assert place is not None
    person.give_all("3")
    person.commit()
    person.page.keyboard.press("Control+Enter")
    expect(person.page.locator("#workspace[data-stage=blind]")).to_be_visible()
    return place.removesuffix("/blind")


def test_u_takes_the_finished_item_back_from_the_next_one(
    people: PersonFactory, plain: Account, desk: Desk, store: Store
) -> None:
    anna = people("anna")
    finished = _finish_one(anna)
    assert len(desk.describe_queue(ANNA).recent) == 1
    _, review_id, slot = anna.page.url.rsplit("/", 2)
    anna.page.locator("#note").fill("Begun meanwhile")
    anna.page.keyboard.press("Escape")
    anna.page.keyboard.press("u")
    expect(anna.page.locator("#workspace")).to_have_attribute("data-place", f"{finished}/final")
    assert desk.describe_queue(ANNA).recent == ()
    # Both are hers, and what she began meanwhile is kept.
    draft = store.desk.find_draft(review_id, int(slot), "anna")
    assert draft is not None
    assert draft.assessment.note == "Begun meanwhile"
    anna.page.keyboard.press("Control+Enter")
    expect(anna.page.locator("#note")).to_have_value("Begun meanwhile")
    assert len(desk.describe_queue(ANNA).recent) == 1


def test_the_offer_to_undo_ends_with_its_time(people: PersonFactory, plain: Account, desk: Desk) -> None:
    desk.change_settings(
        plain, DeskSettings(second_review_rate=0.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0)
    )
    anna = people("anna")
    _finish_one(anna)
    expect(anna.page.locator("#undo")).to_have_count(0)
    anna.page.goto("/queue")
    expect(anna.page.get_by_role("heading", name="Finished")).to_be_visible()
    expect(anna.page.get_by_role("button", name="Undo")).to_have_count(0)


def test_u_takes_levels_back_one_by_one(people: PersonFactory, plain: Account) -> None:
    anna = people("anna")
    anna.draw()
    first, second = anna.asked[:2]
    page = anna.page
    for key in ("4", "2", "u", "u"):
        page.keyboard.press(key)
        anna.await_saved()
    for name in (first, second):
        chosen = page.locator(f"#criterion-{name} input[type=radio]:checked")
        expect(chosen).to_have_value("")
    page.keyboard.press("u")
    expect(page.locator("#saved")).to_have_text("There is nothing to undo.")
