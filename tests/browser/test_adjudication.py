"""Two people differ, a third decides without their names, and only then sees the judge's draft."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pipeline.review.desk import Desk
from pipeline.review.places import ReviewStanding
from pipeline.types import Account, DeskSettings, Purpose
from tests.browser.conftest import PersonFactory
from tests.browser.person import Person
from tests.web.items import ANNA
from tests.web.reviews import review_all


@pytest.fixture
def doubled(desk: Desk, plain: Account) -> None:
    """Every item is reviewed twice, and nothing can be undone."""
    desk.change_settings(
        plain, DeskSettings(second_review_rate=1.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0)
    )


def _review(person: Person, key: str, note: str) -> str:
    """Review the next item with that level everywhere; return which it was."""
    person.draw()
    place = person.page.locator("#workspace").get_attribute("data-place")
    assert place is not None
    person.page.locator("#note").fill(note)
    person.page.keyboard.press("Escape")
    person.give_all(key)
    person.commit()
    person.page.keyboard.press("Control+Enter")
    expect(person.page.locator("#workspace[data-stage=final]")).to_be_hidden()
    return place.split("/")[1]


def test_an_adjudicator_decides_between_two_reviews_without_names(
    people: PersonFactory, doubled: None, desk: Desk
) -> None:
    anna, ben, carla = people("anna"), people("ben"), people("carla")
    review_id = _review(anna, "5", "Anna holds it for sound.")
    while _review(ben, "1", "Ben sees a race.") != review_id:
        pass
    assert desk.place(review_id, 0).standing is ReviewStanding.DIFFERS

    carla.draw()
    page = carla.page
    assert page.url.endswith(f"/adjudicate/{review_id}")
    shown = page.locator("main").inner_text()
    assert "Anna holds it for sound." in shown
    assert "Ben sees a race." in shown
    for name in ("anna", "Anna\n", "ben\n", "Ben\n"):
        assert name not in shown
    assert page.locator("#tab-judge").count() == 0
    picks = page.locator("fieldset.pick")
    for place in range(picks.count()):
        pick = picks.nth(place)
        # Of those named A and B one is 4 everywhere and the other 0.
        pick.get_by_role("radio", name="level 4").check()
        pick.get_by_label("Why they differed").select_option("rubric_unclear")
    page.get_by_label("The rubric needs a change").fill("Say what a race is.")
    page.get_by_role("button", name="Commit, then see the judge's draft").click()
    expect(page.locator("#workspace[data-stage=final]")).to_be_visible()
    expect(page.locator("#tab-judge")).to_have_count(1)
    page.get_by_role("button", name="Finish and go on").click()
    expect(page.locator("#workspace[data-stage=final]")).to_be_hidden()

    decided = desk.decide(review_id)
    assert set(decided.levels.values()) == {4}
    assert desk.place(review_id, 2).purpose is Purpose.ADJUDICATION


def test_the_adjudicators_form_is_kept_as_it_is_written(
    people: PersonFactory, doubled: None, desk: Desk
) -> None:
    review_all(desk, ANNA, 4)
    review_all(desk, Account(name="ben", role=ANNA.role), 0)
    carla = people("carla")
    carla.draw()
    note = carla.page.get_by_label("Note to the author")
    note.fill("Half a thought")
    expect(carla.page.locator("#saved")).to_contain_text("Saved")
    carla.page.reload()
    expect(note).to_have_value("Half a thought")


def test_whose_level_counts_can_be_chosen_with_the_keyboard(
    people: PersonFactory, doubled: None, desk: Desk
) -> None:
    review_all(desk, ANNA, 4)
    review_all(desk, Account(name="ben", role=ANNA.role), 0)
    carla = people("carla")
    carla.draw()
    page = carla.page
    picks = page.locator("fieldset.pick")
    for place, key, chosen in ((0, "1", "A"), (1, "2", "B"), (2, "3", "other")):
        page.keyboard.press("j")
        page.keyboard.press(key)
        expect(picks.nth(place).locator("input[type=radio]:checked")).to_have_attribute("value", chosen)
    page.keyboard.press("k")
    page.keyboard.press("1")
    expect(picks.nth(1).locator("input[type=radio]:checked")).to_have_attribute("value", "A")
    page.keyboard.press("Control+Enter")
    # Causes are missing: nothing is committed, and the page says what is.
    expect(page.locator("#problems")).to_be_visible()
