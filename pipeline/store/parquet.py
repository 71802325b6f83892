"""Tables as Parquet files, written and read by DuckDB: no other library is needed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from pipeline.store.errors import StoreError, explain

__all__ = ["COLUMN_TYPES", "read_parquet", "write_parquet"]

#: Types that a column may have.
COLUMN_TYPES: Final = frozenset({"VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMPTZ"})
#: What is read as it is; anything else, times among it, as DuckDB writes it in words.
_PLAIN: Final = frozenset(
    {"VARCHAR", "BOOLEAN", "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT"}
)
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
    if path.exists() and not path.is_file():
        raise StoreError("unwritable", "this is no regular file", where=str(path))
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


def read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table: column to value, times in UTC as text, None where there is none.

    Raises:
        StoreError: If it is no Parquet file, or is damaged.
    """
    with tempfile.TemporaryDirectory() as folder:
        # DuckDB takes *, ? and [ in a name for patterns: under this one it reads that file and no other.
        link = Path(folder) / "table.parquet"
        link.symlink_to(path.resolve())
        try:
            with duckdb.connect(config={"threads": "1", "memory_limit": "512MB"}) as connection:
                connection.execute("SET TimeZone = 'UTC'")
                table = connection.read_parquet(str(link))
                names = table.columns
                columns = [
                    _quoted(name) if str(kind) in _PLAIN else f"CAST({_quoted(name)} AS VARCHAR)"
                    for name, kind in zip(names, table.types, strict=True)
                ]
                selected = f"SELECT {', '.join(columns)} FROM read_parquet(?)"  # noqa: S608
                rows = connection.execute(selected, [str(link)])
                while portion := rows.fetchmany(_PORTION):
                    for row in portion:
                        yield dict(zip(names, row, strict=True))
        except (OSError, duckdb.Error) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise StoreError(
                "unreadable", f"no Parquet file that can be read: {reason}", where=str(path)
            ) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _in_portions(rows: Iterable[Sequence[Any]]) -> Iterable[list[Sequence[Any]]]:
    portion: list[Sequence[Any]] = []
    for row in rows:
        portion.append(row)
        if len(portion) == _PORTION:
            yield portion
            portion = []
    if portion:
        yield portion
