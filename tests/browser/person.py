"""Somebody at a browser: what they do, and whatever happens there that nobody expects."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, expect

from tests.web.conftest import PASSWORD

#: What a browser itself says about an answer that refuses, or about a server that is away.
_ITS_OWN = "Failed to load resource"

SAVED = re.compile(r"^saved \d\d:\d\d:\d\d$")


class Person:
    """One person with one window.

    Attributes:
        name: Their account.
        context: Their cookies and storage.
        page: Their window.
        surprises: Dialogs, script errors, refused contents and requests to elsewhere.
    """

    def __init__(self, name: str, context: BrowserContext, page: Page | None = None) -> None:
        self.name = name
        self.context = context
        self.surprises: list[str] = []
        context.set_default_timeout(20_000)
        self.page = page or context.new_page()
        self.page.on("dialog", self._note_dialog)
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.surprises.append(f"script error: {error}"))
        context.on("request", self._note_request)

    def log_in(self) -> None:
        """Log in with the form; leads to the first screen of the role."""
        self.page.goto("/login")
        self.enter_at(self.page, self.name)

    @staticmethod
    def enter_at(page: Page, name: str) -> None:
        """Fill in and send the form for logging in that `page` shows."""
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("button", name="Log out")).to_be_visible()

    def draw(self) -> None:
        """Take the next item from the queue."""
        self.page.goto("/queue")
        self.page.locator("#draw").click()
        expect(self.page.locator("#workspace.scripted, #adjudication.scripted")).to_be_visible()

    @property
    def asked(self) -> list[str]:
        """The criteria that ask for a level, in the page's order."""
        found = self.page.locator(".criterion[data-asked=yes]")
        names: list[str] = found.evaluate_all("all => all.map((one) => one.dataset.criterion)")
        return names

    def give_all(self, key: str) -> None:
        """Give every criterion that is open the level of `key`."""
        for _ in self.asked:
            self.page.keyboard.press(key)

    def commit(self) -> None:
        self.page.keyboard.press("Control+Enter")
        expect(self.page.locator("#workspace[data-stage=final]")).to_be_visible()

    def await_saved(self) -> None:
        """Wait until the server has everything that was typed."""
        expect(self.page.locator("#saved")).to_have_text(SAVED)

    def focused(self) -> str:
        """Return the id of what has the focus."""
        found: str = self.page.evaluate("document.activeElement.id")
        return found

    def tab_to(self, wanted: str) -> None:
        """Press Tab until the element of that id has the focus."""
        for _ in range(60):
            if self.focused() == wanted:
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never comes to {wanted}")

    def _note_dialog(self, dialog: Dialog) -> None:
        self.surprises.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and _ITS_OWN not in message.text:
            self.surprises.append(f"console: {message.text}")

    def _note_request(self, request: Request) -> None:
        home = self.page.url.split("/")[2] if "://" in self.page.url else ""
        address = request.url.split("/")
        if address[0] in ("http:", "https:", "ws:", "wss:") and home and address[2] != home:
            self.surprises.append(f"request to {request.url}")
