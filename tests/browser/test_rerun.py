"""Key r: the submission runs again, and its tab says by itself what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from playwright.sync_api import expect

from pipeline.graph.reruns import Rerunner
from pipeline.review.reruns import Reruns
from pipeline.store import Store
from pipeline.types import Account, Fault, Owner
from pipeline.web.services import reruns_of
from tests.browser.conftest import PersonFactory


@pytest.fixture
def reruns(app: FastAPI) -> Reruns:
    return reruns_of(app)


@pytest.fixture
def rerunner(store: Store, reruns: Reruns) -> Iterator[Rerunner]:
    with Rerunner(store, reruns) as working:
        yield working


@pytest.mark.sandbox
def test_key_r_runs_it_again_and_the_result_appears(
    people: PersonFactory, plain: Account, rerunner: Rerunner
) -> None:
    anna = people("anna")
    anna.draw()
    page, keys = anna.page, anna.page.keyboard
    page.evaluate("document.documentElement.dataset.loaded = 'once'")
    keys.press("c")
    keys.type("half a thought")
    keys.press("Escape")
    keys.press("r")
    tab = page.locator("#tab-rerun")
    expect(tab).to_be_visible()
    expect(tab).to_contain_text(re.compile("Bit for bit as recorded: correct, all [0-9]+ case runs"))
    expect(page.locator("#saved")).to_contain_text("Bit for bit as recorded")
    expect(page.locator("#new-text")).to_have_value("half a thought")
    assert page.locator("html").get_attribute("data-loaded") == "once"
    assert page.locator("#rerun[hx-get]").count() == 0

    page.get_by_role("button", name="Run it on fresh inputs").click()
    expect(tab).to_contain_text(re.compile("On fresh inputs: correct, ([0-9]+) of \\1 case runs correct"))
    expect(tab.locator("summary")).to_contain_text("Bit for bit as recorded")
    assert page.locator("html").get_attribute("data-loaded") == "once"

    # After the commit, on a page that was put in place of this one, it goes on working.
    anna.give_all("3")
    anna.commit()
    keys.press("r")
    expect(tab).to_contain_text("Bit for bit as recorded")
    expect(tab.locator("details")).to_have_count(2)


def test_a_limit_is_said_in_place(people: PersonFactory, plain: Account, reruns: Reruns) -> None:
    anna = people("anna")
    anna.draw()
    page = anna.page
    page.keyboard.press("r")
    expect(page.locator("#tab-rerun")).to_contain_text("none before it")
    page.locator("#rerun-fresh").click()
    expect(page.locator("#messages")).to_contain_text("this item is being run again already")
    taken = reruns.take(0)
    assert taken is not None
    fault = Fault(owner=Owner.ENVIRONMENT, code="no_sandbox", message="no sandbox works here", remedy="go on")
    reruns.settle(taken, fault)
    expect(page.locator("#tab-rerun")).to_contain_text("no sandbox works here (go on).")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#tab-rerun")).to_contain_text("It waits to run again")
    expect(page.locator("#messages")).to_be_empty()


def test_without_scripts_it_is_a_form(people: PersonFactory, plain: Account, reruns: Reruns) -> None:
    anna = people("anna", java_script_enabled=False)
    page = anna.page
    page.goto("/queue")
    page.locator("#draw").click()
    page.locator("#note").fill("half a thought")
    page.locator("#rerun-replay").click()
    expect(page.locator("#rerun")).to_contain_text("It waits to run again")
    expect(page.locator("#note")).to_have_value("half a thought")
    taken = reruns.take(0)
    assert taken is not None
    reruns.settle(taken, Fault(owner=Owner.ENVIRONMENT, code="no_sandbox", message="no sandbox works here"))
    page.get_by_role("button", name="Save, and look again").click()
    expect(page.locator("#rerun")).to_contain_text("no sandbox works here")
    expect(page.locator("#note")).to_have_value("half a thought")
