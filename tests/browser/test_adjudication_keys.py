"""At an adjudication `f` flags and `s` skips, as in the workspace, and neither costs what was written."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pipeline.review.desk import Desk
from pipeline.types import Account, DeskSettings
from tests.browser.conftest import PersonFactory
from tests.web.items import ANNA, BEN
from tests.web.reviews import review_all


@pytest.fixture
def differing(desk: Desk, plain: Account) -> None:
    """Two people differ about every item, so that each waits for an adjudicator."""
    desk.change_settings(
        plain, DeskSettings(second_review_rate=1.0, gold_rate=0.0, audit_rate=0.0, undo_seconds=0.0)
    )
    review_all(desk, ANNA, 4)
    review_all(desk, BEN, 0)


def test_f_flags_the_item_which_stays_and_s_skips_it_for_good(
    people: PersonFactory, differing: None, desk: Desk
) -> None:
    carla = people("carla")
    carla.draw()
    page, keys = carla.page, carla.page.keyboard
    address = page.url
    page.get_by_label("Note to the author").fill("Half a thought")
    keys.press("Escape")
    keys.press("f")
    expect(page.locator("#flag-reason")).to_be_focused()
    keys.type("Both are wrong: see skip and flag")
    # Letters are letters here, and no key.
    expect(page.locator("#skip")).not_to_have_attribute("open", "")
    keys.press("Control+Enter")
    expect(page.get_by_text("A lead will look at this item.")).to_be_visible()
    assert page.url.split("?")[0] == address
    (flag,) = desk.list_flags()
    assert flag.action.reason == "Both are wrong: see skip and flag"  # type: ignore[union-attr]
    expect(page.get_by_label("Note to the author")).to_have_value("Half a thought")

    expect(page.locator("#adjudication.scripted")).to_be_visible()
    keys.press("s")
    expect(page.locator("#skip-reason")).to_be_focused()
    keys.type("I wrote the task")
    keys.press("Control+Enter")
    expect(page.locator("#skip-reason")).to_have_value("")
    expect(page.locator("#adjudication.scripted")).to_be_visible()
    assert page.url.split("?")[0] != address
    review_id = address.rsplit("/", 1)[1]
    assert desk.place(review_id, flag.slot).holder is None
    carla.page.goto(address)
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("Adjudication")


def test_a_flag_sent_while_the_form_is_being_kept_is_no_second_window(
    people: PersonFactory, differing: None, desk: Desk
) -> None:
    carla = people("carla")
    carla.draw()
    page, keys = carla.page, carla.page.keyboard
    held: list[object] = []
    # The draft is answered only once the flag was sent.
    page.route("**/draft", lambda route: held.append(route))
    with page.expect_request("**/draft"):
        page.get_by_label("Note to the author").fill("Half a thought")
    keys.press("Escape")
    keys.press("f")
    keys.type("look")
    keys.press("Control+Enter")
    for route in held:
        route.continue_()  # type: ignore[attr-defined]
    expect(page.get_by_text("A lead will look at this item.")).to_be_visible()
    assert [flag.action.kind for flag in desk.list_flags()] == ["flagged"]
