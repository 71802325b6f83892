"""Tables that anybody writes: CSV, JSON Lines or Parquet, told apart by what they hold, row by row."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipeline.errors import GraderError
from pipeline.review.exchange.answers import read_records
from pipeline.review.spreadsheets import to_csv
from pipeline.store.parquet import read_parquet
from pipeline.types import Fault, Owner

__all__ = ["TableRow", "read_table", "refuse_table"]

_PARQUET: Final = b"PAR1"
_DELIMITERS: Final = ",;\t"
#: No cell is too long to be read: what is too long to be kept is refused with its row.
_LONGEST_CELL: Final = 1 << 30
#: Longer ones are refused by whoever reads the row, and the module's own limit is not much higher.
_LONGEST_ESCAPED: Final = 100_000
#: The module has one limit for all threads.
_CELLS = threading.Lock()


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row.

    Attributes:
        where: Which, as a spreadsheet or an editor counts them.
        cells: Column, in small letters, to value; None where a row is none, such as a broken line.
        problem: Why there are no cells.
    """

    where: str
    cells: dict[str, Any] | None
    problem: str = ""


def read_table(path: Path, data: bytes, required: Collection[str]) -> Iterator[TableRow]:
    """Yield the rows of a table.

    Args:
        path: The file.
        data: What it holds.
        required: Columns without which a header is none.

    Raises:
        GraderError: If the file as a whole cannot be read.
    """
    if data.startswith(_PARQUET):
        yield from _read_parquet(path, required)
    elif data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        for number, record in enumerate(read_records(data), 1):
            where = f"record {number}"
            if isinstance(record, dict):
                yield TableRow(where, {_name(name): value for name, value in record.items()})
            else:
                yield TableRow(where, None, record if isinstance(record, str) else "it is no JSON object")
    else:
        yield from _read_csv(data, required)


def refuse_table(message: str, remedy: str) -> GraderError:
    """Return the error for a file that cannot be read as a whole."""
    return GraderError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="bad_import",
            message=f"the file cannot be read: {message}",
            remedy=remedy,
        )
    )


def _read_parquet(path: Path, required: Collection[str]) -> Iterator[TableRow]:
    for number, row in enumerate(read_parquet(path), 1):
        if number == 1:
            _check_header([_name(name) for name in row], required)
        yield TableRow(f"row {number}", {_name(name): value for name, value in row.items()})


def _read_csv(data: bytes, required: Collection[str]) -> Iterator[TableRow]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refuse_table(f"byte {error.start + 1} is no UTF-8 text", "save it as UTF-8") from error
    first = text.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    try:
        with _CELLS:
            before = csv.field_size_limit(_LONGEST_CELL)
            try:
                lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
            finally:
                csv.field_size_limit(before)
    except csv.Error as error:
        raise refuse_table(f"it is no CSV: {error}", "export it again, with commas and quotes") from error
    if not any(lines):
        raise refuse_table("it is empty", "give a file with a header and a row per label")
    header = [_name(name) for name in lines[0]]
    _check_header(header, required)
    for number, cells in enumerate(lines[1:], 2):
        where = f"row {number}"
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(header):
            yield TableRow(where, None, f"it has {len(cells)} cells, the header has {len(header)}")
        else:
            yield TableRow(where, dict(zip(header, map(_unescape, cells), strict=False)))


def _check_header(header: list[str], required: Collection[str]) -> None:
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise refuse_table(f"its header names {', '.join(twice)} twice", "name every column once")
    missing = [name for name in required if name not in header]
    if missing:
        raise refuse_table(
            f"its header has no column {', '.join(missing)}", "begin with a header that names the columns"
        )


def _unescape(cell: str) -> str:
    """Return what a cell said before `to_csv` put an apostrophe before it."""
    bare = cell.removeprefix("'")
    if bare == cell or len(cell) > _LONGEST_ESCAPED:
        return cell
    _, (written,) = csv.reader(io.StringIO(to_csv(["cell"], [[bare]]), newline=""))
    return bare if written == cell else cell


def _name(name: object) -> str:
    return str(name).strip().lower()
