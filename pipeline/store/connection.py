"""Opening a DuckDB file the way this package does."""

from __future__ import annotations

from pathlib import Path

import duckdb

from pipeline.store.errors import explain

__all__ = ["connect"]

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    # A grader on a machine without a network must not try to download an extension, nor wait for one.
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # The machine's cores and memory belong to the emulator and the judge.
    "threads": "2",
    "memory_limit": "2GB",
}


def connect(path: Path, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """Open the DuckDB file at `path`.

    Raises:
        StoreError: If it cannot be opened, with the cause in one line.
    """
    try:
        return duckdb.connect(str(path), read_only=read_only, config=_CONFIG)
    except (duckdb.Error, OSError) as error:
        raise explain(error, path) from error
