"""The tables of the documentation's pages, drawn from the registries they describe.

``python -m pipeline.emulator.reference docs/*.md`` puts each table between its marks, ``<!-- begin NAME -->``
and ``<!-- end NAME -->``; without a page it prints them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from pipeline.emulator.reference import chips, coverage, operations, rules, versions
from pipeline.emulator.reference.operations import FIDELITIES, VALID_RANGES

__all__ = ["FIDELITIES", "TABLES", "VALID_RANGES", "refresh"]

#: Every table by the name that the marks give it.
TABLES: Final[dict[str, Callable[[], str]]] = {
    **chips.TABLES,
    **versions.TABLES,
    **coverage.TABLES,
    **operations.TABLES,
    **rules.TABLES,
}


def refresh(page: str) -> str:
    """Return the text of a page with every table between its marks drawn again.

    Raises:
        KeyError: If a mark names no table.
    """

    def draw(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- begin {name} -->\n{TABLES[name]()}\n<!-- end {name} -->"

    return re.sub(r"<!-- begin (?P<name>\w+) -->\n.*?<!-- end (?P=name) -->", draw, page, flags=re.DOTALL)
