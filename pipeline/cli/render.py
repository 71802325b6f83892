"""How everything looks on a terminal: styled by rich where a person watches, plain text everywhere else.

Whatever is printed may come from a submission: control characters are made visible, and no markup is
interpreted.
"""

from __future__ import annotations

import json
import math
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from pipeline.report.visible import show_controls

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.store import GradingSummary

__all__ = [
    "Cell",
    "Screen",
    "level_bar",
    "name_submissions",
    "print_json",
    "shorten",
    "show_overall",
    "style_of",
]

#: Style of a word, where its meaning is good, bad or unsettled.
_STYLES = {
    "correct": "green",
    "accept": "green",
    "graded": "green",
    "passed": "green",
    "pass": "green",
    "ok": "green",
    "suspect": "magenta",
    "unsupported": "yellow",
    "infrastructure": "yellow",
    "hold": "yellow",
    "held": "yellow",
    "unknown": "yellow",
    "warning": "yellow",
    "review": "cyan",
    "second_review": "cyan",
    "waiting": "cyan",
    "failed": "red",
    "fail": "red",
    "error": "red",
    "incorrect": "red",
    "compile_error": "red",
    "illegal_on_target": "red",
    "runtime_error": "red",
    "timeout": "red",
    "too_large": "red",
    "no_device_work": "red",
}


#: Enough of a reason to tell it from others in a table; `show` and JSON have the whole of it.
_REASON_LENGTH = 120


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        text: What it says; line feeds become spaces in a table.
        style: A rich style, ignored in plain output.
    """

    text: str
    style: str = ""


def style_of(word: str) -> Cell:
    """Return `word` as a cell in the colour of its meaning."""
    return Cell(word, _STYLES.get(word, ""))


def level_bar(level: int | None, highest: int = 4) -> str:
    """Return a level as a bar of dots and digits, e.g. ``●●●○ 3/4``; an unscored one says so."""
    if level is None:
        return "unscored"
    return "●" * level + "○" * (highest - level) + f" {level}/{highest}"


def name_submissions(rows: Sequence[GradingSummary]) -> list[str]:
    """Return what each row is called: the name of its file where that is clear, else its whole origin."""
    files = [row.origin.rpartition("/")[2] for row in rows]
    taken = Counter(zip((row.task_id for row in rows), files, strict=True))
    return [
        file if taken[row.task_id, file] == 1 else row.origin or row.submission_id
        for row, file in zip(rows, files, strict=True)
    ]


def shorten(text: str, length: int = _REASON_LENGTH) -> str:
    """Return `text` in one line, cut at a word so that it has at most `length` characters."""
    return textwrap.shorten(text, length, placeholder=" …")


def show_overall(overall: float | None, passed: bool | None) -> Cell:
    """Return an overall grade as a cell, e.g. ``0.83 pass``; a dash stands for no number."""
    number = "—" if overall is None else f"{overall:.2f}"
    if passed is None:
        return Cell(number)
    return Cell(f"{number} {'pass' if passed else 'fail'}", "green" if passed else "red")


class Screen:
    """Standard output for people.

    Args:
        plain: Print plain text even on a terminal; also asked for by ``NO_COLOR`` and implied by a pipe.
    """

    def __init__(self, plain: bool = False) -> None:
        self._console: Console | None = None
        if not plain and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
            from rich.console import Console

            self._console = Console(highlight=False, markup=False, emoji=False)

    def line(self, text: str = "", style: str = "") -> None:
        """Print one paragraph."""
        if self._console is None:
            click.echo(show_controls(text))
        else:
            self._console.print(show_controls(text), style=style or None, soft_wrap=True)

    def heading(self, text: str) -> None:
        """Print a heading, set off from what stands above it."""
        self.line()
        self.line(text, style="bold")

    def fields(self, fields: Mapping[str, str | Cell]) -> None:
        """Print names and values, aligned."""
        width = max((len(name) for name in fields), default=0)
        for name, value in fields.items():
            cell = _as_cell(value)
            if self._console is None:
                click.echo(f"{name:<{width}}  {show_controls(cell.text)}")
            else:
                from rich.text import Text

                row = Text.assemble((f"{name:<{width}}  ", "dim"), (show_controls(cell.text), cell.style))
                self._console.print(row, soft_wrap=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str | Cell]]) -> None:
        """Print a table; without a terminal every row is one line, its columns two spaces apart."""
        cells = [[_in_one_line(_as_cell(value)) for value in row] for row in rows]
        if self._console is None:
            _print_plain_table(columns, cells)
            return
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold dim")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in cells:
            table.add_row(*(Text(cell.text, style=cell.style) for cell in row))
        self._console.print(table)

    def code(self, code: str, cited: Iterable[int], context: int = 2) -> None:
        """Print the lines of `code` around the `cited` ones (1-based), each with its number and a mark."""
        lines = code.replace("\r\n", "\n").split("\n")
        marked = {number for number in cited if 1 <= number <= len(lines)}
        shown = sorted(
            {
                near
                for number in marked
                for near in range(max(1, number - context), min(len(lines), number + context) + 1)
            }
        )
        width = len(str(shown[-1])) if shown else 0
        previous = None
        for number in shown:
            if previous is not None and number != previous + 1:
                self.line("  " + " " * width + " ⋮", style="dim")
            mark = ">" if number in marked else " "
            self.line(
                f"{mark} {number:>{width}} │ {lines[number - 1].expandtabs(4)}",
                style="" if number in marked else "dim",
            )
            previous = number


def print_json(data: Any) -> None:
    """Print `data` as JSON; NaN and infinities, which JSON does not have, become strings."""
    click.echo(json.dumps(_without_special_floats(data), indent=2, allow_nan=False))


def _without_special_floats(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if math.isnan(data) else ("Infinity" if data > 0 else "-Infinity")
    if isinstance(data, Mapping):
        return {key: _without_special_floats(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_special_floats(value) for value in data]
    return data


def _as_cell(value: str | Cell) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


def _in_one_line(cell: Cell) -> Cell:
    return Cell(show_controls(" ".join(cell.text.split())), cell.style)


def _print_plain_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    texts = [list(columns), *([cell.text for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in texts) for place in range(len(columns))]
    for row in texts:
        click.echo("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
