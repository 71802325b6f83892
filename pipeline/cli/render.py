"""How everything looks on a terminal: styled by rich where a person watches, plain text everywhere else.

Whatever is printed may come from a submission: control characters are made visible, and no markup is
interpreted.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.config import DEFAULT_DATABASE
from pipeline.report.numerals import show_grade

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.store import GradingSummary

__all__ = [
    "ID_LENGTH",
    "Cell",
    "Screen",
    "level_bar",
    "name_submissions",
    "print_json",
    "say_command",
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


#: Enough of an id to tell it from others in a table; commands take any beginning that is.
ID_LENGTH = 10

#: Enough of a reason to tell it from others in a table; `show` and JSON have the whole of it.
_REASON_LENGTH = 120

#: Fewest characters in which prose reads well. Where its last column would have less, a table puts it below.
_PROSE_WIDTH = 32
#: Between two columns.
_GAP = 2


def _show_controls(text: str) -> str:
    # The vocabulary brings pydantic along, which --help must not wait for.
    from pipeline.types.visible import show_controls

    return show_controls(text)


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
    number = show_grade(overall)
    if passed is None:
        return Cell(number)
    return Cell(f"{number} {'pass' if passed else 'fail'}", "green" if passed else "red")


def say_command(command: str, database: Path) -> str:
    """Return `command` as it can be typed here: with the program as it was called, and with `database`."""
    typed = sys.argv[0]
    called = Path(typed).name == "nki-grader" and shutil.which("nki-grader") != typed
    program = shlex.quote(typed) if called else "nki-grader"
    where = "" if database == DEFAULT_DATABASE else f" --db {shlex.quote(str(database))}"
    return f"{program} {command}{where}"


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
            click.echo(_show_controls(text))
        else:
            self._console.print(_show_controls(text), style=style or None, soft_wrap=True)

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
                click.echo(f"{name:<{width}}  {_show_controls(cell.text)}")
            else:
                from rich.text import Text

                row = Text.assemble((f"{name:<{width}}  ", "dim"), (_show_controls(cell.text), cell.style))
                self._console.print(row, soft_wrap=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str | Cell]]) -> None:
        """Print a table; without a terminal every row is one line, its columns two spaces apart.

        The last column may be prose. Where a terminal is too narrow for it, it stands below its row.
        """
        cells = [[_in_one_line(_as_cell(value)) for value in row] for row in rows]
        if self._console is None:
            _print_plain_table(columns, cells)
            return
        from rich.cells import cell_len
        from rich.padding import Padding
        from rich.rule import Rule
        from rich.table import Table
        from rich.text import Text

        header = [Cell(column, "bold dim") for column in columns]
        widths = [max(cell_len(row[place].text) for row in (header, *cells)) for place in range(len(columns))]
        beside = self._console.width - sum(width + _GAP for width in widths[:-1])
        below = beside < min(widths[-1], _PROSE_WIDTH)
        if below:
            widths = _narrow(widths[:-1], self._console.width - _GAP * (len(widths) - 2))
        else:
            widths[-1] = min(widths[-1], beside)
        self._console.print()
        for number, row in enumerate((header, *cells)):
            grid = Table.grid(padding=(0, _GAP, 0, 0))
            for width in widths:
                grid.add_column(width=width, overflow="fold")
            texts = [Text(cell.text, style=cell.style) for cell in row]
            grid.add_row(*texts[: len(widths)])
            self._console.print(grid)
            if below and texts[-1]:
                self._console.print(Padding(texts[-1], (0, 0, 0, _GAP)))
            if number == 0:
                self._console.print(Rule(style="dim"))

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


def _narrow(widths: Sequence[int], room: int) -> list[int]:
    """Return `widths`, the widest made narrower until all fit into `room`; the first, to be typed, stays."""
    first, *others = widths
    while first + sum(others) > room and max(others, default=1) > 1:
        others[others.index(max(others))] -= 1
    return [first, *others]


def _as_cell(value: str | Cell) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


def _in_one_line(cell: Cell) -> Cell:
    return Cell(_show_controls(" ".join(cell.text.split())), cell.style)


def _print_plain_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    texts = [list(columns), *([cell.text for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in texts) for place in range(len(columns))]
    for row in texts:
        click.echo("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
