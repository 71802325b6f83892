"""The forms of a page, as a browser would fill them in and send them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Form", "read_form"]


@dataclass(slots=True)
class Form:
    """One form.

    Attributes:
        fields: What it sends as it stands.
        choices: What can be chosen, per field with choices.
    """

    fields: dict[str, str | list[str]] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


def read_form(page: str, action: str) -> Form | None:
    """Return the form of `page` that is sent to an address ending with `action`, or None."""
    found = re.search(rf'<form[^>]* action="[^"]*{re.escape(action)}"', page)
    if found is None:
        return None
    reader = _Reader()
    # Only the form: a page holds whole programs, and reading those would take longer than serving them.
    reader.feed(page[found.start() : page.index("</form>", found.start())])
    return reader.form


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.form = Form()
        self._select: str | None = None
        self._chosen: str | None = None
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in a field."""
        values = {name: value or "" for name, value in attrs}
        name, value = values.get("name", ""), values.get("value", "")
        if tag == "input" and name:
            if values.get("type") in ("radio", "checkbox"):
                self.form.choices.setdefault(name, []).append(value)
                if "checked" in values:
                    self.form.fields[name] = value
            else:
                self._add(name, value)
        elif tag == "select":
            self._select = name
            self._chosen = None
        elif tag == "option" and self._select:
            self.form.choices.setdefault(self._select, []).append(value)
            if "selected" in values or self._chosen is None:
                self._chosen = value
        elif tag == "textarea":
            self._area = name
            self._add(name, "")

    def handle_endtag(self, tag: str) -> None:
        """End a field."""
        if tag == "select" and self._select:
            self._add(self._select, self._chosen or "")
            self._select = None
        elif tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        """Take in the text of a field."""
        if self._area:
            known = self.form.fields[self._area]
            self.form.fields[self._area] = (
                [*known[:-1], known[-1] + data] if isinstance(known, list) else known + data
            )

    def _add(self, name: str, value: str) -> None:
        if name not in self.form.fields:
            self.form.fields[name] = value
        else:
            known = self.form.fields[name]
            self.form.fields[name] = [*(known if isinstance(known, list) else [known]), value]
