"""Print every table, or refresh the pages that are named."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pipeline.emulator.reference import TABLES, refresh

__all__ = ["main"]


def main(pages: Sequence[str]) -> None:
    """Refresh `pages`; without any, print every table."""
    for name in pages:
        page = Path(name)
        page.write_text(refresh(page.read_text(encoding="utf-8")), encoding="utf-8")
    if not pages:
        for name, draw in TABLES.items():
            sys.stdout.write(f"{name}\n\n{draw()}\n\n")


if __name__ == "__main__":
    main(sys.argv[1:])
