"""Count the keys of a review, besides typed text, from opening an item to the commit.

    python -m evals.desk.keystrokes

A person reviews one item of every task with the keyboard alone, in Chromium, before the real program. Prints
keys, criteria that ask for a level, and page loads. Goal: at most 3 keys and one for each criterion, and no
page load in between. Returns 1 where it is missed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

from evals.bench.desk import serving
from evals.desk.exhibition import grade_kernels, hire
from evals.desk.screenshots import log_in
from pipeline.review.accounts import Accounts
from pipeline.store import open_store

__all__ = ["Counted", "main", "review_one"]

_MOST_BESIDES = 3


class Counted(NamedTuple):
    """What one review took.

    Attributes:
        task: What the item is an attempt at.
        keys: Keys that were pressed from the open item to the commit; Ctrl+Enter is one.
        criteria: Criteria that ask for a level.
        loads: Pages that were loaded meanwhile.
    """

    task: str
    keys: int
    criteria: int
    loads: int

    @property
    def is_within(self) -> bool:
        """Whether it is within the goal."""
        return self.keys <= self.criteria + _MOST_BESIDES and self.loads == 0


def main() -> int:
    """Review, count and print."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        database = grade_kernels(Path(folder))
        with open_store(database) as store:
            hire(Accounts(store))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with serving(database) as address:
            page = browser.new_context(base_url=address).new_page()
            log_in(page, "anna")
            page.locator("#draw").press("Enter")
            counted: dict[str, Counted] = {}
            while page.locator("#workspace.scripted[data-stage=blind]").count():
                one = review_one(page)
                counted.setdefault(one.task, one)
                page.keyboard.press("Control+Enter")
                page.locator("#workspace[data-stage=final]").wait_for(state="detached")
                page.wait_for_load_state("networkidle")
        browser.close()
    print(f"{'task':<22}{'keys':>5}{'criteria':>10}{'loads':>7}")
    for one in sorted(counted.values()):
        print(
            f"{one.task:<22}{one.keys:>5}{one.criteria:>10}{one.loads:>7}{'' if one.is_within else '  over'}"
        )
    return 0 if counted and all(one.is_within for one in counted.values()) else 1


def review_one(page: Page) -> Counted:
    """Commit the open item by keyboard, and count."""
    loads: list[str] = []
    page.on("domcontentloaded", lambda loaded: loads.append(loaded.url))
    task = page.locator("#workspace").get_attribute("data-task") or ""
    criteria = page.locator(".criterion[data-asked=yes]").count()
    # A tab of evidence to look at, then a level for each criterion, then the commit.
    keys = ["e", *("3" for _ in range(criteria)), "Control+Enter"]
    for key in keys:
        page.keyboard.press(key)
    page.locator("#workspace[data-stage=final]").wait_for()
    return Counted(task, len(keys), criteria, len(loads))


if __name__ == "__main__":
    raise SystemExit(main())
