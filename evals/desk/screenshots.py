"""Photograph every screen of the review desk, light and dark, for the documentation.

    python -m evals.desk.screenshots [--to docs/desk] [--only workspace]

Grades a few kernels into a fresh database, has people work at every kind of thing there is, serves the desk
with the real program, and takes the pictures with Chromium. They are few colours and few bytes.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from evals.bench.desk import serving
from evals.desk.exhibition import PASSWORD, Evening, Screen, furnish, grade_kernels, hire
from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import open_store

__all__ = ["log_in", "main"]

_SIZE: dict[str, int] = {"width": 1360, "height": 820}
_COLOURS = 24


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--to", type=Path, default=Path("docs/desk"), help="folder of the pictures")
    parser.add_argument("--only", action="append", help="name of a screen; may be repeated")
    chosen = parser.parse_args(arguments)
    chosen.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        database = grade_kernels(Path(folder))
        with open_store(database) as store:
            accounts = Accounts(store)
            hire(accounts)
            evening = Evening(hours_ago=3)
            screens = furnish(store, Desk(store, clock=evening.now), accounts, evening)
        wanted = [screen for screen in screens if not chosen.only or screen.name in chosen.only]
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--hide-scrollbars"]
        )
        with serving(database) as address:
            for scheme in ("light", "dark"):
                _photograph_all(browser, address, wanted, chosen.to, scheme)
        browser.close()
    return 0


def log_in(page: Page, name: str) -> None:
    """Log in as somebody of the exhibition."""
    page.goto("/login")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Log out").wait_for()


def _photograph_all(
    browser: Browser, address: str, screens: list[Screen], folder: Path, scheme: Literal["light", "dark"]
) -> None:
    windows: dict[str, Page] = {}
    for screen in screens:
        if screen.account not in windows:
            page = browser.new_context(
                base_url=address, color_scheme=scheme, viewport=_SIZE, locale="en-GB", timezone_id="UTC"
            ).new_page()
            if screen.account:
                log_in(page, screen.account)
            windows[screen.account] = page
        page = windows[screen.account]
        page.goto(screen.path)
        page.wait_for_load_state("networkidle")
        if screen.name == "workspace":
            page.get_by_role("tab", name="Correctness").click()
        target = folder / f"{screen.name}-{scheme}.png"
        target.write_bytes(_shrink(page.screenshot()))
        print(f"{target}: {target.stat().st_size / 1000:.0f} kB", flush=True)


def _shrink(picture: bytes) -> bytes:
    """Return the same picture with few colours."""
    shrunk = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(_COLOURS, dither=Image.Dither.NONE).save(shrunk, "png", optimize=True)
    return shrunk.getvalue()


if __name__ == "__main__":
    raise SystemExit(main())
