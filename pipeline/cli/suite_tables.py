"""What a suite found, on a terminal: its table, and how it stands beside a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pipeline.cli.render import Screen

__all__ = ["describe_comparison", "print_comparison", "print_table"]

#: Trials that are named of those that came out worse; JSON has all.
_NAMED: Final = 10


def print_table(screen: Screen, table: Any) -> None:
    """Print a suite's table, what is worth a look, and what stands behind gates that do not hold."""
    headings, rows = table.cells()
    screen.table(headings, rows)
    if table.notes:
        screen.heading("Worth a look")
        for note in table.notes:
            screen.line(note)
    if table.failures:
        screen.heading("Wrong")
        for failure in table.failures:
            screen.line(failure, style="red")
    screen.line()


def describe_comparison(compared: Any, path: Path) -> dict[str, Any] | None:
    """Return a comparison with a stored run as JSON takes it; None where there is none."""
    if compared is None:
        return None
    return {
        "path": str(path),
        "judge": compared.judge,
        "date": compared.date,
        "same_judge": compared.same_judge,
        "compared": compared.compared,
        "worse": compared.worse,
        "moved": compared.moved,
        "better": compared.better,
    }


def print_comparison(screen: Screen, compared: Any, path: Path) -> None:
    """Print what came out otherwise than in the stored run at `path`; nothing where there is none."""
    if compared is None:
        return
    judge = "" if compared.same_judge else f", by another judge, {compared.judge or 'none'}"
    screen.heading(f"Beside the stored run of {compared.date}{judge} ({path})")
    for title, lines, style in (("worse", compared.worse, "red"), ("better", compared.better, "green")):
        for line in lines:
            screen.line(f"{title} beyond chance: {line}", style=style)
    for line in compared.moved[:_NAMED]:
        screen.line(f"came out worse: {line}")
    if len(compared.moved) > _NAMED:
        screen.line(f"... and {len(compared.moved) - _NAMED} more: --json has all")
    if not (compared.worse or compared.moved):
        screen.line(f"{compared.compared} measures compared; nothing came out worse")
