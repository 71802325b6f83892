"""Tables and cells in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.emulator.targets import TARGETS
from pipeline.emulator.toolchain import OLDEST

__all__ = ["code", "places", "prose", "span", "table"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a bar within a cell does not end it."""
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells)


def code(names: Iterable[str]) -> str:
    """Return names as code, with commas between."""
    return ", ".join(f"`{name}`" for name in names)


def prose(text: str) -> str:
    """Return text with code in it so that no part of it becomes a link or a tag."""
    return text.replace("](", "]\\(").replace("<", "\\<")


def places(targets: frozenset[str]) -> str:
    """Return chips as a cell shows them."""
    return "all" if targets == frozenset(TARGETS) else ", ".join(sorted(targets))


def span(since: str, until: str | None) -> str:
    """Return versions as a cell shows them; `until` is the first that no longer counts."""
    if until is None:
        return "all" if since == OLDEST else f"since {since}"
    return f"before {until}" if since == OLDEST else f"since {since} until {until}"
