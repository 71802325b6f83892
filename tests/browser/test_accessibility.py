"""Every screen, light and dark: no serious violation, everything reachable by Tab, and the focus is seen."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from evals.desk.exhibition import Screen, furnish
from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import Store
from tests.browser.person import Person

#: What stands open to the eye but is closed at first.
_OPEN_ALL = "for (const one of document.querySelectorAll('main details')) one.open = true"

#: What Tab has to reach: all that can be used, but of each group of radio buttons or tabs only one.
_REACHABLE = """() => {
  const seen = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".hidden-label");
  const all = [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")];
  const groups = new Set();
  const wanted = all.filter((one) => {
    if (!seen(one) || one.disabled || one.tabIndex < 0) return false;
    if (one.type !== "radio") return true;
    const group = `${one.form?.id} ${one.name}`;
    return !groups.has(group) && groups.add(group);
  });
  wanted.forEach((one, place) => (one.dataset.wanted = place));
  return wanted.map((one) => one.outerHTML.slice(0, 120));
}"""

#: What has the focus, whether it is seen, and which of those to reach it is (or stands for).
_FOCUSED = """() => {
  const one = document.activeElement;
  if (one === document.body || one === document.documentElement) return null;
  const style = getComputedStyle(one);
  const group = one.type === "radio"
    ? [...document.getElementsByName(one.name)].find((other) => other.dataset.wanted !== undefined) : one;
  return { html: one.outerHTML.slice(0, 120), wanted: group.dataset.wanted ?? null,
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 };
}"""


@pytest.fixture
def screens(store: Store, desk: Desk, accounts: Accounts) -> list[Screen]:
    return furnish(store, desk, accounts)


def _open(page: Page, screen: Screen) -> None:
    page.goto(screen.path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if screen.name in ("workspace", "reveal", "finished"):
        expect(page.locator("#workspace.scripted")).to_be_visible()


def _visit(
    browser: Browser, server: str, screens: list[Screen], scheme: Literal["light", "dark"]
) -> dict[str, Page]:
    """Return a window for everybody that a screen belongs to."""
    windows: dict[str, Page] = {}
    for name in sorted({screen.account for screen in screens}):
        person = Person(name, browser.new_context(base_url=server, color_scheme=scheme))
        if name:
            person.log_in()
        windows[name] = person.page
    return windows


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_screen(
    browser: Browser, server: str, screens: list[Screen], scheme: Literal["light", "dark"]
) -> None:
    found = []
    windows = _visit(browser, server, screens, scheme)
    for screen in screens:
        page = windows[screen.account]
        _open(page, screen)
        page.evaluate(_OPEN_ALL)
        found += [f"{screen.name}: {one}" for one in _violations(page)]
        if screen.name == "workspace":
            page.keyboard.press("?")
            found += [f"keys: {one}" for one in _violations(page)]
    for page in windows.values():
        page.context.close()
    assert not found, "\n".join(found)


def _violations(page: Page) -> list[str]:
    return [
        f"{one['id']}: {node['html'][:200]} ({node['failureSummary'][:200]})"
        for one in Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def test_tab_reaches_everything_on_every_screen_and_the_focus_is_seen(
    browser: Browser, server: str, screens: list[Screen]
) -> None:
    faults = []
    windows = _visit(browser, server, screens, "light")
    for screen in screens:
        page = windows[screen.account]
        _open(page, screen)
        wanted, reached = page.evaluate(_REACHABLE), set()
        for _ in range(2 * len(wanted) + 20):
            page.keyboard.press("Tab")
            now = page.evaluate(_FOCUSED)
            # After the last element comes the window itself, then the first.
            if now is None:
                continue
            if not now["outlined"]:
                faults.append(f"{screen.name}: the focus is not seen on {now['html']}")
            if now["wanted"] is not None:
                reached.add(int(now["wanted"]))
            if len(reached) == len(wanted):
                break
        missed = [html for place, html in enumerate(wanted) if place not in reached]
        faults += [f"{screen.name}: Tab does not reach {html}" for html in missed]
    for page in windows.values():
        page.context.close()
    assert not faults, "\n".join(faults)


def test_nothing_is_cut_off_at_twice_the_size(browser: Browser, server: str, screens: list[Screen]) -> None:
    # A window of 1280 pixels at 200 % shows what one of 640 pixels shows.
    faults = []
    windows = _visit(browser, server, screens, "light")
    for screen in screens:
        page = windows[screen.account]
        page.set_viewport_size({"width": 640, "height": 400})
        _open(page, screen)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 640:
            faults.append(f"{screen.name} is {width} pixels wide")
    for page in windows.values():
        page.context.close()
    assert not faults, "\n".join(faults)
