"""Hostile text is shown and does nothing: no dialog, no script, no style, no request to anywhere else."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import Store
from pipeline.types import Account, Role
from tests.browser.conftest import PersonFactory
from tests.web.conftest import PASSWORD
from tests.web.items import ANNA, enqueue, hand

OWNED = "<script>document.title = 'owned'; alert('owned')</script>"
ELSEWHERE = (
    "</pre></div></textarea><img src='http://192.0.2.1/owned.png' onerror=\"alert('owned')\">"
    "<svg onload=alert('owned')><style>body { display: none }</style><link rel=stylesheet href=//192.0.2.1/x>"
    "<iframe src='javascript:alert(1)'></iframe>"
    "<a href='javascript:alert(1)' autofocus onfocus=alert(1)>here</a>"
)
MARKUP = f"import nki\n# {OWNED}\nx = '''{ELSEWHERE}'''\n"
CONTROLS = (
    "import nki\nx = '\x1b[31mred\x1b]0;owned\x07 \u202egnp.exe\u202c \u2066a\u2069 \x00\x08\x7f \ufeff'\n"
)
TEMPLATES = "{{ 7 * 7 }} {% raw %} ${7 * 7} <!-- <![CDATA[ ]]> -->\n"

#: Characters that may be in no page: they act on whoever reads it rather than show anything.
ACTING = "\x00\x07\x08\x1b\x7f\u202e\u2066\ufeff"


@pytest.mark.parametrize("code", [MARKUP, CONTROLS, TEMPLATES], ids=["markup", "controls", "templates"])
def test_hostile_code_is_shown_inert_before_and_after_the_commit(
    people: PersonFactory, plain: Account, store: Store, desk: Desk, code: str
) -> None:
    place = hand(desk, ANNA, enqueue(store, desk, code))
    anna = people("anna")
    page = anna.page
    page.goto(f"/review/{place.item.review.id}/{place.slot}")
    shown = page.locator("#code")
    expect(shown).to_be_visible()
    modes = page.locator(".modes [data-mode]")
    for number in range(modes.count()):
        expect(modes.nth(number)).to_have_attribute("aria-pressed", "true")
        assert not set(ACTING) & set(shown.inner_text())
        assert (
            page.locator("#code :is(script, img, iframe, svg, style, link, a[href^=javascript])").count() == 0
        )
        page.keyboard.press("d")
    expect(modes.first).to_have_attribute("aria-pressed", "true")
    if code is MARKUP:
        assert OWNED in shown.inner_text()
        assert ELSEWHERE in shown.inner_text()
    if code is TEMPLATES:
        assert "{{ 7 * 7 }}" in shown.inner_text()
        assert "49" not in shown.inner_text()
    anna.give_all("3")
    anna.commit()
    assert "owned" not in page.title()
    assert not set(ACTING) & set(page.content())


def test_hostile_notes_comments_and_reasons_are_shown_inert_to_the_next_person(
    people: PersonFactory, plain: Account, desk: Desk
) -> None:
    desk.change_settings(plain, desk.settings().model_copy(update={"undo_seconds": 0.0}))
    anna = people("anna")
    anna.draw()
    page = anna.page
    review_id = page.url.split("/")[-2]
    hostile = OWNED + ELSEWHERE + "\u202e"
    page.locator("#note").fill(hostile)
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.locator("#new-text").fill(hostile)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#comments textarea")).to_have_count(1)
    expect(page.locator("#code .remark")).to_contain_text("<script>")
    anna.give_all("3")
    anna.commit()
    page.locator("#show-preview").click()
    expect(page.locator("#preview-title")).to_be_visible()
    page.get_by_role("button", name="Finish and go on").click()
    expect(page.locator("#workspace[data-stage=blind]")).to_be_visible()

    desk.decide(review_id)
    dora = people("dora")
    dora.page.goto(f"/history/{review_id}")
    expect(dora.page.get_by_role("heading", level=1)).to_be_visible()
    assert "<script>" in dora.page.locator("main").inner_text()
    assert dora.page.locator("main :is(script, img, iframe, style, link)").count() == 0


def test_hostile_names_are_shown_inert(people: PersonFactory, plain: Account, accounts: Accounts) -> None:
    accounts.create(Account(name="mallory", role=Role.LEAD, display=OWNED + "\u202e\x1b[31m"), PASSWORD)
    mallory = people("mallory")
    for screen in ("/queue", "/admin/accounts", "/progress", "/timesheet"):
        mallory.page.goto(screen)
        expect(mallory.page.get_by_role("heading", level=1)).to_be_visible()
        assert "<script>" in mallory.page.locator(".who").inner_text()
        assert not set(ACTING) & set(mallory.page.content())


@pytest.mark.parametrize(
    ("code", "lines"),
    [("y = '" + "z" * 1_000_000 + "'\n", 1), ("y = 1\n" * 20_000, 20_000)],
    ids=["a line of 1 MB", "20,000 lines"],
)
def test_huge_submissions_can_be_reviewed(
    people: PersonFactory, plain: Account, store: Store, desk: Desk, code: str, lines: int
) -> None:
    place = hand(desk, ANNA, enqueue(store, desk, code))
    anna = people("anna")
    page = anna.page
    page.goto(f"/review/{place.item.review.id}/{place.slot}")
    expect(page.locator("#workspace.scripted")).to_be_visible()
    assert page.locator("#code .line").count() == lines
    page.keyboard.press("g")
    page.keyboard.type(str(lines))
    page.keyboard.press("Enter")
    expect(page.locator(f"#L{lines}")).to_be_in_viewport()
    # The code scrolls in its pane; the page itself does not.
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    anna.give_all("3")
    anna.commit()
