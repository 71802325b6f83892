"""What a suite found: measures with their number and interval, and whether they are as they must be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pipeline.stats.agreement import Estimate
from pipeline.stats.intervals import Interval, wilson_interval

__all__ = ["Better", "Row", "Table", "count_items", "show_estimate", "show_rate"]

#: Which way is better; None where neither is.
Better = Literal["lower", "higher"] | None


@dataclass(frozen=True, slots=True)
class Row:
    """One measure.

    Attributes:
        name: What was tried.
        what: What is counted or estimated, e.g. ``accepted``.
        value: A share in 0..1 or another number; None where too little was tried.
        n: How many trials or pairs it rests on.
        interval: At 95 %; None where none can be said.
        hits: Of a share, how often it happened; None of other numbers.
        better: Which way is better.
        gate: What it must be, in words; empty where nothing hangs on it.
        as_wanted: Whether it is that.
        items: Of a share, whether it happened, by the name of each trial, where they can be told apart: then
            another run is compared trial by trial.
        remark: Anything else worth a word.
    """

    name: str
    what: str
    value: float | None
    n: int
    interval: Interval | None = None
    hits: int | None = None
    better: Better = None
    gate: str = ""
    as_wanted: bool = True
    items: Mapping[str, bool] | None = None
    remark: str = ""

    def to_data(self) -> dict[str, Any]:
        """Return everything as JSON takes it."""
        return {
            "name": self.name,
            "what": self.what,
            "value": self.value,
            "n": self.n,
            "low": self.interval.low if self.interval else None,
            "high": self.interval.high if self.interval else None,
            "hits": self.hits,
            "better": self.better,
            "gate": self.gate,
            "as_wanted": self.as_wanted,
            "items": dict(sorted(self.items.items())) if self.items is not None else None,
            "remark": self.remark,
        }

    def cells(self) -> tuple[str, ...]:
        """Return the row as text: name, what, value, n, interval, gate, remark."""
        value = "none" if self.value is None else f"{self.value:.3f}"
        count = str(self.n) if self.hits is None else f"{self.hits} of {self.n}"
        span = f"{self.interval.low:.3f} to {self.interval.high:.3f}" if self.interval else ""
        gate = f"{self.gate}: {'holds' if self.as_wanted else 'FAILS'}" if self.gate else ""
        return self.name, self.what, value, count, span, gate, self.remark


def show_rate(
    name: str,
    what: str,
    hits: int,
    n: int,
    *,
    better: Better = None,
    at_most: float | None = None,
    items: Mapping[str, bool] | None = None,
    remark: str = "",
) -> Row:
    """Return a share with Wilson's interval; one with a gate does not hold where nothing was tried.

    Args:
        name: What was tried.
        what: What happened.
        hits: How often.
        n: Of how many trials.
        better: Which way is better; ``lower`` where `at_most` is given.
        at_most: The largest share that is as it must be.
        items: Whether it happened, by the name of each trial.
        remark: Anything else.
    """
    value = hits / n if n else None
    gate = "" if at_most is None else ("none" if at_most == 0 else f"at most {at_most:g}")
    return Row(
        name=name,
        what=what,
        value=value,
        n=n,
        interval=wilson_interval(hits, n) if n else None,
        hits=hits,
        better="lower" if at_most is not None else better,
        gate=gate,
        as_wanted=at_most is None or (value is not None and value <= at_most),
        items=items,
        remark=remark if n else remark or "nothing was tried",
    )


def count_items(
    name: str,
    what: str,
    items: Mapping[str, bool],
    *,
    better: Better = None,
    at_most: float | None = None,
    remark: str = "",
) -> Row:
    """Return the share of `items` for which it happened; the rest is as for `show_rate`."""
    hits = sum(items.values())
    return show_rate(name, what, hits, len(items), better=better, at_most=at_most, items=items, remark=remark)


def show_estimate(name: str, what: str, found: Estimate, *, better: Better = None, remark: str = "") -> Row:
    """Return an estimate as a row, with the reason where there is no number."""
    return Row(name, what, found.value, found.n, found.interval, better=better, remark=found.reason or remark)


@dataclass(slots=True)
class Table:
    """All measures of one run.

    Attributes:
        suite: Its name.
        judge: Identity of the judge that was asked; empty where the suite asks none.
        asked: What the run was asked to do, e.g. ``{"every": 10}``: another run is the same with these.
        rows: The measures.
        failures: What stands behind gates that do not hold, one line each.
        notes: Whatever else is worth a look, one line each.
    """

    suite: str
    judge: str = ""
    asked: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether there is anything, and every gate holds."""
        return bool(self.rows) and not self.failures and all(row.as_wanted for row in self.rows)

    def cells(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """Return headings and rows of text."""
        headings = ("what was tried", "measure", "value", "n", "95 % interval", "gate", "remark")
        return headings, [row.cells() for row in self.rows]

    def to_markdown(self) -> str:
        """Return the table as a Markdown document takes it."""
        headings, rows = self.cells()
        lines = [_markdown_row(headings), "| --- | --- | ---: | ---: | --- | --- | --- |"]
        return "\n".join([*lines, *(_markdown_row(row) for row in rows)])

    def to_data(self) -> dict[str, Any]:
        """Return everything as JSON takes it."""
        return {
            "suite": self.suite,
            "judge": self.judge,
            "asked": self.asked,
            "holds": self.holds,
            "rows": [row.to_data() for row in self.rows],
            "failures": self.failures,
            "notes": self.notes,
        }


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
