"""Tables for spreadsheets: CSV in which no cell is run as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["to_csv"]

#: With these a spreadsheet takes a cell for a formula; the wide ones too, as some do.
_FORMULA_SIGNS: Final = tuple("=+-@\t\r\n＝＋－＠")

Value = str | int | float | None


def to_csv(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    """Return a table as CSV (RFC 4180): one header, commas, CR LF; None is an empty cell.

    Text that begins like a formula gets an apostrophe before it, which spreadsheets show as text.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([_as_text(value) for value in row] for row in rows)
    return out.getvalue()


def _as_text(value: Value) -> Value:
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA_SIGNS):
        return "'" + value
    return value
