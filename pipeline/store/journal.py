"""The journal: an fsynced, hash-chained JSONL file beside the database.

DuckDB opens a file whose write-ahead log was cut or damaged without a word, and what a person decided must
survive anything. So every human decision, what later decisions rest on, and the row counts and hashes of
every closed batch, go here first.

Each line is ``{"seq", "prev", "kind", "body", "hash"}``; ``hash`` is the SHA-256 over the others and ``prev``
the hash of the line before, so a line that was changed, lost or put in is seen.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.store.errors import explain
from pipeline.types import hash_text

__all__ = ["Entry", "Journal"]

_START = "0" * 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that is what it was when it was written."""

    seq: int
    kind: str
    """``batch``, ``decision``, ``desk`` or ``record``."""
    body: dict[str, Any]
    hash: str


class Journal:
    """Reads the journal once, then appends to it, for any number of threads."""

    def __init__(self, path: Path) -> None:
        """Read the journal at `path`, which need not exist; a torn last line is moved to a ``.torn`` file.

        Raises:
            StoreError: If it cannot be read or repaired.
        """
        self._path = path
        self._appending = threading.Lock()
        self.entries: list[Entry] = []
        self.notices: list[str] = []
        self._last_hash = _START
        self._last_seq = 0
        try:
            self._read()
        except OSError as error:
            raise explain(error, path) from error

    def append(self, kind: str, body: dict[str, Any]) -> Entry:
        """Write one entry; it is on the disk when this returns.

        Raises:
            StoreError: If it could not be written.
        """
        with self._appending:
            seq = self._last_seq + 1
            digest = _hash(seq, self._last_hash, kind, body)
            line = json.dumps(
                {"seq": seq, "prev": self._last_hash, "kind": kind, "body": body, "hash": digest},
                ensure_ascii=False,
            )
            try:
                is_new = not self._path.exists()
                _append(self._path, line.encode() + b"\n")
                if is_new:
                    _sync_folder(self._path.parent)
            except OSError as error:
                raise explain(error, self._path) from error
            entry = Entry(seq, kind, body, digest)
            self.entries.append(entry)
            self._last_hash, self._last_seq = digest, seq
            return entry

    def _read(self) -> None:
        if not self._path.exists():
            return
        data = self._path.read_bytes()
        *lines, rest = data.split(b"\n")
        broken: list[int] = []
        for number, line in enumerate(lines, 1):
            self._take(line, number, broken)
        if rest:
            self._repair_end(rest, len(lines) + 1, len(data) - len(rest), broken)
        if broken:
            more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
            self.notices.append(
                f"{self._path.name}: the hash chain is broken at line {broken[0]}{more}: lines there were "
                f"changed, lost or put in; {len(self.entries)} intact entries are used"
            )

    def _take(self, line: bytes, number: int, broken: list[int]) -> bool:
        """Use `line` if it is intact; note where the chain breaks. Returns whether it is intact."""
        record = _parse(line)
        if record is None:
            broken.append(number)
            # What follows is judged by its own hash: one bad line must not cost the decisions after it.
            self._last_hash = ""
            return False
        if record["prev"] != self._last_hash and self._last_hash:
            broken.append(number)
        self._last_hash, self._last_seq = record["hash"], record["seq"]
        self.entries.append(Entry(record["seq"], record["kind"], record["body"], record["hash"]))
        return True

    def _repair_end(self, rest: bytes, number: int, start: int, broken: list[int]) -> None:
        if _parse(rest) is not None:
            self._take(rest, number, broken)
            _append(self._path, b"\n")
            return
        torn = self._path.with_name(self._path.name + ".torn")
        _append(torn, rest + b"\n")
        with self._path.open("r+b") as file:
            file.truncate(start)
            os.fsync(file.fileno())
        self.notices.append(
            f"{self._path.name}: line {number} was cut off in the middle of writing and was "
            f"moved to {torn.name}"
        )


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the record on `line` if it is one of ours and unchanged, else None."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or record.keys() != {"seq", "prev", "kind", "body", "hash"}:
        return None
    if not isinstance(record["seq"], int) or not isinstance(record["body"], dict):
        return None
    expected = _hash(record["seq"], record["prev"], record["kind"], record["body"])
    return record if record["hash"] == expected else None


def _hash(seq: int, prev: str, kind: str, body: dict[str, Any]) -> str:
    return hash_text(seq, prev, kind, json.dumps(body, ensure_ascii=False, sort_keys=True))


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        start = os.fstat(descriptor).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        except OSError:
            # Half a line must not become the beginning of the next one.
            os.ftruncate(descriptor, start)
            raise
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file as durable as its content."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
