"""Faults of the store: always one line that names the file and says what to do."""

from __future__ import annotations

from pathlib import Path

import duckdb

from pipeline.errors import GraderError
from pipeline.types import Fault, Owner

__all__ = ["OwnerGone", "OwnerSilent", "StoreError", "explain"]


class StoreError(GraderError):
    """The store cannot do what was asked; `fault` says why, and what to do."""

    def __init__(self, code: str, message: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(
            Fault(owner=Owner.ENVIRONMENT, code=code, message=message, where=where, remedy=remedy)
        )


class OwnerGone(ConnectionError):
    """The process that owned the database ended while we talked to it."""


class OwnerSilent(StoreError):
    """The process that owns the database does not answer in time."""

    def __init__(self, path: Path, pid: int | None, seconds: float) -> None:
        who = f"process {pid}" if pid is not None else "another process"
        super().__init__(
            "owner_silent",
            f"{who} holds the database and has not answered for {seconds:g} s",
            where=str(path),
            remedy="wait for it, or end it and try again",
        )


_DISK_FULL = (
    "disk_full",
    "the disk or its quota is full: rows since the last commit are not stored",
    "free some space and run the same command again",
)

#: What DuckDB or the system says, in lower case, and how we put it: code, message, remedy.
_CAUSES = (
    ("no space left", *_DISK_FULL),
    ("file too large", *_DISK_FULL),
    ("quota exceeded", *_DISK_FULL),
    (
        "could not set lock",
        "in_use",
        "another program has the database open",
        "close it there; to read meanwhile, open the snapshot beside it",
    ),
    (
        "not a valid duckdb database",
        "not_a_database",
        "this is not a DuckDB database",
        "give another path for the database",
    ),
    (
        "permission denied",
        "unwritable",
        "the database may not be opened: permission denied",
        "check the owner and mode of the file and its folder",
    ),
    (
        "storage version",
        "storage_version",
        "the file was written by another version of DuckDB",
        "install the DuckDB named in constraints.txt",
    ),
    (
        "out of memory",
        "out_of_memory",
        "the database ran out of memory",
        "end other programs or grade smaller batches",
    ),
)


def explain(error: duckdb.Error | OSError, path: Path) -> StoreError:
    """Return the one-line fault behind an `error` that DuckDB or the system raised about `path`."""
    text = str(error).lower()
    for mark, code, message, remedy in _CAUSES:
        if mark in text:
            return StoreError(code, message, where=str(path), remedy=remedy)
    if isinstance(error, OSError):
        return StoreError("unwritable", error.strerror or str(error), where=str(path))
    first = next(iter(str(error).splitlines()), type(error).__name__)
    if _means_damage(error, text):
        return StoreError(
            "damaged",
            f"the database is damaged: {first}",
            where=str(path),
            remedy="restore a backup or the snapshot beside it; grading again fills what is missing, and the "
            "journal brings back every decision",
        )
    return StoreError("database", f"the database refused: {first}", where=str(path))


def _means_damage(error: duckdb.Error | OSError, text: str) -> bool:
    marks = ("checksum", "corrupt", "invalidated", "deserial", "failed to read", "could not read")
    kinds = (duckdb.SerializationException, duckdb.FatalException, duckdb.InternalException)
    return isinstance(error, kinds) or any(mark in text for mark in marks)
