"""Tables as Parquet files, written by DuckDB: no other library is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from pipeline.store.errors import StoreError, explain

__all__ = ["COLUMN_TYPES", "write_parquet"]

#: Types that a column may have.
COLUMN_TYPES: Final = frozenset({"VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMPTZ"})
#: Rows that are handed over at a time.
_PORTION: Final = 10_000


def write_parquet(path: Path, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> int:
    """Write a table, whole or not at all, and return its number of rows.

    Args:
        path: Where it goes; what is there is replaced.
        columns: Name to one of `COLUMN_TYPES`.
        rows: Values in the order of `columns`; None where there is none.

    Raises:
        StoreError: If it cannot be written.
        ValueError: If a column has another type, or a name that is no plain word.
    """
    for name, kind in columns.items():
        if kind not in COLUMN_TYPES or not name.isidentifier():
            raise ValueError(f"{name} {kind} is no column of a table to export")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    names = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    lists = ", ".join(f"unnest(?::{kind}[])" for kind in columns.values())
    written = 0
    try:
        # UTC, whatever this machine's zone: the file is the same everywhere.
        with duckdb.connect(config={"threads": "1", "memory_limit": "512MB"}) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"CREATE TABLE exported ({names})")
            for portion in _in_portions(rows):
                cells = [list(column) for column in zip(*portion, strict=True)]
                connection.execute(f"INSERT INTO exported SELECT {lists}", cells)
                written += len(portion)
            connection.table("exported").write_parquet(str(unfinished), compression="zstd")
        unfinished.replace(path)
    except OSError as error:
        raise StoreError("unwritable", error.strerror or str(error), where=str(path)) from error
    except duckdb.Error as error:
        raise explain(error, path) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return written


def _in_portions(rows: Iterable[Sequence[Any]]) -> Iterable[list[Sequence[Any]]]:
    portion: list[Sequence[Any]] = []
    for row in rows:
        portion.append(row)
        if len(portion) == _PORTION:
            yield portion
            portion = []
    if portion:
        yield portion
