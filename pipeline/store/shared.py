"""A transport that outlives the owner: when the owner ends, it finds or becomes the next one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pipeline.store.errors import OwnerGone, StoreError
from pipeline.store.transport import Command, Row, Transport

__all__ = ["SharedTransport"]

_T = TypeVar("_T")

#: A client commits at least this often, so that what it would have to send again stays small.
_UNCOMMITTED = 256
_RETRY_SECONDS = 30.0


class SharedTransport:
    """Repeats what an owner left unanswered, and sends again what it took but may not have committed."""

    def __init__(self, path: Path, acquire: Callable[[], Transport]) -> None:
        """Acquire the database at `path`; `acquire` is called again whenever its owner ends.

        Raises:
            StoreError: If `acquire` does.
        """
        self._path = path
        self._acquire = acquire
        self._lock = threading.RLock()
        self._uncommitted: list[Command] = []
        self._closed = False
        self._current = acquire()

    @property
    def is_owner(self) -> bool:
        """Whether this process holds the database file now."""
        return self._current.is_owner

    def select(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """See `Transport.select`."""
        return self._ask(lambda transport: transport.select(query, parameters))

    def find(self, table: str, key: Sequence[Any]) -> Row | None:
        """See `Transport.find`."""
        return self._ask(lambda transport: transport.find(table, key))

    def write(self, commands: Sequence[Command], *, wait: bool = False) -> None:
        """See `Transport.write`."""
        current = self._current
        if current.is_owner:
            current.write(commands, wait=wait)
            return
        with self._lock:
            self._uncommitted.extend(commands)
            commit = wait or len(self._uncommitted) >= _UNCOMMITTED
            self._ask(lambda transport: transport.write(commands, wait=commit))
            if commit:
                self._uncommitted.clear()

    def flush(self) -> None:
        """See `Transport.flush`."""
        current = self._current
        if current.is_owner:
            current.flush()
            return
        with self._lock:
            self._ask(lambda transport: transport.flush())
            self._uncommitted.clear()

    def decide(self, decision: str) -> None:
        """See `Transport.decide`."""
        self._ask(lambda transport: transport.decide(decision))

    def record(self, events: Sequence[str], *, wait: bool = True) -> None:
        """See `Transport.record`."""
        self._ask(lambda transport: transport.record(events, wait=wait))

    def vouch(self, kind: str, key: str, record: str) -> None:
        """See `Transport.vouch`."""
        self._ask(lambda transport: transport.vouch(kind, key, record))

    def close_batch(self, batch_id: str) -> None:
        """See `Transport.close_batch`."""
        self._ask(lambda transport: transport.close_batch(batch_id))

    def is_batch_closed(self, batch_id: str) -> bool:
        """See `Transport.is_batch_closed`."""
        return self._ask(lambda transport: transport.is_batch_closed(batch_id))

    def snapshot(self) -> str:
        """See `Transport.snapshot`."""
        return self._ask(lambda transport: transport.snapshot())

    def list_notices(self) -> list[str]:
        """See `Transport.list_notices`."""
        return self._ask(lambda transport: transport.list_notices())

    def close(self) -> None:
        """Commit everything and let go of the database."""
        with self._lock:
            if self._closed:
                return
            try:
                if self._uncommitted:
                    self.flush()
            finally:
                self._closed = True
                self._current.close()

    def _ask(self, question: Callable[[Transport], _T]) -> _T:
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            current = self._current
            try:
                return question(current)
            except OwnerGone as error:
                if self._closed:
                    raise StoreError("closed", "the store is closed", where=str(self._path)) from error
                if time.monotonic() > deadline:
                    raise StoreError(
                        "owners_end",
                        "the processes that hold the database end before they answer",
                        where=str(self._path),
                        remedy="look at what they say, then run the same command again",
                    ) from error
                self._replace(current)

    def _replace(self, gone: Transport) -> None:
        with self._lock:
            if self._current is not gone or self._closed:
                return
            gone.close()
            self._current = self._acquire()
            if self._uncommitted:
                try:
                    self._current.write(self._uncommitted, wait=True)
                except OwnerGone:
                    return  # This one ended too: the caller's next attempt comes here again.
                self._uncommitted.clear()
