"""Reading a report as a browser would, to ask what is in it."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = frozenset({"br", "meta", "link", "img", "hr", "input"})
#: What a reader sees apart from what stands before it.
_APART = frozenset(
    {"br", "td", "th", "tr", "p", "li", "div", "h1", "h2", "h3", "summary", "details", "b", "pre", "span"}
)


class Page(HTMLParser):
    """A parsed page; a tag closed in the wrong place is kept in `misplaced`."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.misplaced: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _APART:
            self.text.append(" ")
        self.tags.append(tag)
        if tag not in _VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.misplaced.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    @property
    def words(self) -> str:
        """All text of the page, its white space squeezed."""
        return " ".join("".join(self.text).split())
