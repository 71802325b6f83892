"""Labels as files: Parquet for analysis, JSONL for programs, CSV for spreadsheets."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

from pipeline.review.labels import Label
from pipeline.review.spreadsheets import to_csv
from pipeline.store.parquet import write_parquet

__all__ = ["COLUMNS", "MEDIA_TYPES", "Format", "export_labels", "write_labels"]

Format = Literal["parquet", "jsonl", "csv"]

#: What a web server says that each is.
MEDIA_TYPES: Final[dict[Format, str]] = {
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/jsonl",
    "csv": "text/csv; charset=utf-8",
}

#: Every field of a label, in order, with its type in Parquet.
COLUMNS: Final[dict[str, str]] = {
    "review_id": "VARCHAR",
    "slot": "BIGINT",
    "grading_id": "VARCHAR",
    "submission_id": "VARCHAR",
    "task_id": "VARCHAR",
    "rubric": "VARCHAR",
    "criterion": "VARCHAR",
    "state": "VARCHAR",
    "level": "BIGINT",
    "reason": "VARCHAR",
    "rater": "VARCHAR",
    "source": "VARCHAR",
    "purpose": "VARCHAR",
    "sampling": "VARCHAR",
    "probability": "DOUBLE",
    "calibration": "DOUBLE",
    "seconds": "DOUBLE",
    "at": "TIMESTAMPTZ",
}


def export_labels(labels: Sequence[Label], form: Format) -> bytes:
    """Return `labels` as a file of that format.

    In CSV no cell is run as a formula: text that begins like one has an apostrophe before it.

    Raises:
        StoreError: If a Parquet file cannot be written on this machine.
    """
    if form == "jsonl":
        return b"".join(label.model_dump_json().encode() + b"\n" for label in labels)
    if form == "csv":
        rows = ([_as_cell(value) for value in _values(label)] for label in labels)
        return to_csv(list(COLUMNS), rows).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.parquet"
        write_labels(labels, path)
        return path.read_bytes()


def write_labels(labels: Sequence[Label], path: Path) -> None:
    """Write `labels` as a Parquet file, whole or not at all.

    Raises:
        StoreError: If it cannot be written.
    """
    write_parquet(path, COLUMNS, map(_values, labels))


def _values(label: Label) -> list[Any]:
    return [getattr(label, name) for name in COLUMNS]


def _as_cell(value: Any) -> str | int | float | None:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, str) else value
