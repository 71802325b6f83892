"""What was typed outlives the browser, the server, and a session that ended."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from pipeline.review.desk import Desk
from pipeline.store import Store, open_store
from pipeline.types import Account
from tests.browser.conftest import PersonFactory
from tests.browser.person import Person
from tests.web.items import ANNA

PROGRAM = Path(sys.executable).with_name("nki-grader")


class OwnBrowser:
    """A browser process of its own, with a profile on the disk, that can be killed."""

    def __init__(self, chromium: str, profile: Path) -> None:
        port = profile / "DevToolsActivePort"
        port.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [
                chromium,
                "--headless",
                "--no-sandbox",
                f"--user-data-dir={profile}",
                "--remote-debugging-port=0",
                "--no-first-run",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not port.exists() or not port.read_text().strip():
            assert self.process.poll() is None, "the browser did not start"
            time.sleep(0.05)
        self.address = f"http://127.0.0.1:{port.read_text().split()[0]}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def own_browsers(chromium: str, tmp_path: Path) -> Iterator[list[OwnBrowser]]:
    """Browsers to end in any case."""
    started: list[OwnBrowser] = []
    yield started
    for one in started:
        one.kill()


def _start(database: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the real program at that port; return when it answers."""
    process = subprocess.Popen(
        [PROGRAM, "serve", "--db", database, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while True:
        assert process.poll() is None, "the server did not start"
        with contextlib.suppress(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/login", timeout=30)
            return process
        time.sleep(0.1)


def test_what_was_saved_outlives_a_killed_browser(
    browser: Browser,
    server: str,
    desk: Desk,
    plain: Account,
    chromium: str,
    own_browsers: list[OwnBrowser],
    tmp_path: Path,
) -> None:
    def open_browser() -> Person:
        started = OwnBrowser(chromium, tmp_path / "profile")
        own_browsers.append(started)
        connected = browser.browser_type.connect_over_cdp(started.address)
        anna = Person("anna", connected.contexts[0])
        anna.page.goto(f"{server}/login")
        Person.enter_at(anna.page, anna.name)
        return anna

    anna = open_browser()
    anna.page.locator("#draw").click()
    expect(anna.page.locator("#workspace.scripted")).to_be_visible()
    place = anna.page.locator("#workspace").get_attribute("data-place")
    first = anna.asked[0]
    anna.page.keyboard.press("4")
    anna.page.locator("#note").press_sequentially("What the author must know")
    anna.await_saved()
    own_browsers[0].kill()
    assert anna.surprises == []

    again = open_browser()
    again.page.get_by_role("button", name="Go on with what is begun").click()
    expect(again.page.locator("#workspace.scripted")).to_have_attribute("data-place", str(place))
    expect(again.page.locator("#note")).to_have_value("What the author must know")
    assert again.page.locator(f"#criterion-{first} input[type=radio]:checked").get_attribute("value") == "3"
    assert again.surprises == []


def test_the_page_goes_on_saving_when_a_killed_server_is_back(
    browser: Browser, store: Store, desk: Desk, plain: Account, database: Path
) -> None:
    store.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    serving = _start(database, port)
    try:
        anna = Person("anna", browser.new_context(base_url=f"http://127.0.0.1:{port}"))
        anna.log_in()
        anna.draw()
        page, note = anna.page, anna.page.locator("#note")
        page.evaluate("document.documentElement.dataset.loaded = 'once'")
        note.press_sequentially("Before.")
        anna.await_saved()
        serving.kill()
        serving.wait()
        note.press_sequentially(" Meanwhile.")
        expect(page.locator("#saved")).to_contain_text("not saved yet")
        serving = _start(database, port)
        note.press_sequentially(" Afterwards.")
        anna.await_saved()
        expect(note).to_have_value("Before. Meanwhile. Afterwards.")
        page.keyboard.press("Escape")
        anna.give_all("3")
        anna.commit()
        assert page.locator("html").get_attribute("data-loaded") == "once"
        assert anna.surprises == []
        anna.context.close()
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.wait(30)
    with open_store(database) as reopened:
        (mine,) = Desk(reopened).describe_queue(ANNA).mine
        assert mine.submitted is not None
        assert mine.submitted.blind.note == "Before. Meanwhile. Afterwards."


def test_what_the_server_never_got_is_offered_when_the_item_is_opened_again(
    people: PersonFactory, plain: Account
) -> None:
    anna = people("anna")
    anna.draw()
    page = anna.page
    page.locator("#note").fill("Kept.")
    anna.await_saved()
    page.route("**/draft", lambda route: route.abort())
    page.locator("#note").fill("Kept. Not kept.")
    expect(page.locator("#saved")).to_contain_text("not saved yet")
    page.reload()
    expect(page.locator("#note")).to_have_value("Kept.")
    page.unroute("**/draft")
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator("#note")).to_have_value("Kept. Not kept.")
    anna.await_saved()
    page.reload()
    expect(page.locator("#note")).to_have_value("Kept. Not kept.")
    expect(page.locator("#messages .notice")).to_have_count(0)


def test_who_is_logged_out_in_mid_edit_logs_in_elsewhere_and_loses_nothing(
    people: PersonFactory, plain: Account, store: Store
) -> None:
    anna = people("anna")
    anna.draw()
    anna.context.clear_cookies()
    note = anna.page.locator("#note")
    note.fill("Written without a session")
    told = anna.page.locator("#messages .notice.bad")
    expect(told).to_contain_text("You are logged out")
    anna.page.get_by_role("button", name="Then save again").click()
    expect(told).to_contain_text("You are logged out")
    with anna.context.expect_page() as opened:
        anna.page.get_by_role("link", name="Log in in a new tab").click()
    Person.enter_at(opened.value, "anna")
    anna.page.get_by_role("button", name="Then save again").click()
    expect(told).to_have_count(0)
    anna.await_saved()
    _, review_id, slot = anna.page.url.rsplit("/", 2)
    draft = store.desk.find_draft(review_id, int(slot), "anna")
    assert draft is not None
    assert draft.assessment.note == "Written without a session"


def test_words_typed_just_before_a_link_is_followed_are_kept(people: PersonFactory, plain: Account) -> None:
    anna = people("anna")
    anna.draw()
    here = anna.page.url
    anna.page.locator("#note").fill("In a hurry")
    anna.page.get_by_role("link", name="Timesheet").click()
    expect(anna.page.get_by_role("heading", level=1)).to_contain_text("imesheet")
    anna.page.goto(here)
    expect(anna.page.locator("#note")).to_have_value("In a hurry")
