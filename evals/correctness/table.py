"""The confusion table: rates with their number of trials and intervals, as text, Markdown and data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.stats.intervals import wilson_interval

__all__ = ["Row", "Table"]


@dataclass(frozen=True, slots=True)
class Row:
    """One rate.

    Attributes:
        name: What was tried.
        what: What is counted, e.g. ``rejected``.
        count: How often it happened.
        trials: Of how many.
        wanted: The count that is wanted: none, or all; None where nothing hangs on it.
        decides: Whether another count than the wanted one is a false accept or reject.
    """

    name: str
    what: str
    count: int
    trials: int
    wanted: int | None = None
    decides: bool = False

    @property
    def holds(self) -> bool:
        """Whether it is as wanted."""
        return self.wanted is None or self.count == self.wanted

    @property
    def interval(self) -> str:
        """Wilson's interval at 95 %, in per cent."""
        interval = wilson_interval(self.count, self.trials)
        return f"{100 * interval.low:.1f} % to {100 * interval.high:.1f} %"


@dataclass(slots=True)
class Table:
    """All rates of one run, and what stands behind those that are not as wanted.

    Attributes:
        rows: The rates.
        failures: False accepts and false rejects, one line each.
        notes: Survivors and whatever else is worth a look, one line each.
        seeds: How many times inputs were drawn anew.
    """

    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seeds: int = 0

    @property
    def holds(self) -> bool:
        """Whether there is no false accept and no false reject."""
        return not self.failures and all(row.holds for row in self.rows if row.decides)

    def cells(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """Return headings and rows of text."""
        headings = ("what was tried", "counted", "count", "of", "95 % interval")
        return headings, [
            (row.name, row.what, str(row.count), str(row.trials), row.interval) for row in self.rows
        ]

    def to_markdown(self) -> str:
        """Return the table as a Markdown document takes it."""
        headings, rows = self.cells()
        lines = [_markdown_row(headings), "| --- | --- | ---: | ---: | --- |"]
        return "\n".join([*lines, *(_markdown_row(row) for row in rows)])

    def to_data(self) -> dict[str, Any]:
        """Return everything as JSON takes it."""
        return {
            "holds": self.holds,
            "seeds": self.seeds,
            "rows": [
                {
                    "name": row.name,
                    "what": row.what,
                    "count": row.count,
                    "trials": row.trials,
                    "low": wilson_interval(row.count, row.trials).low,
                    "high": wilson_interval(row.count, row.trials).high,
                    "as_wanted": row.holds,
                }
                for row in self.rows
            ],
            "failures": self.failures,
            "notes": self.notes,
        }


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
