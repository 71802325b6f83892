"""The transport of a process that speaks to the owner over its socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.store.errors import OwnerGone, OwnerSilent, StoreError
from pipeline.store.transport import Command, Row
from pipeline.store.wire import PROTOCOL, Answer, Request, receive, send
from pipeline.types import Fault

__all__ = ["RemoteTransport"]

#: Longer than any honest request takes; the first answer has to come much sooner.
_REQUEST_SECONDS = 120.0


class RemoteTransport:
    """One connection to the owner; requests of several threads take turns."""

    def __init__(self, path: Path, address: Path, pid: int | None, schema: int, patience: float) -> None:
        """Connect to the owner of the database at `path`, listening at `address`.

        Raises:
            OwnerGone: If nobody listens there.
            OwnerSilent: If it does not answer within `patience` seconds.
            StoreError: If it is of another release.
        """
        self._path = path
        self._pid = pid
        self._lock = threading.Lock()
        self._patience = patience
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection.settimeout(patience)
        try:
            try:
                self._connection.connect(str(address))
            except TimeoutError as error:
                raise OwnerSilent(path, pid, patience) from error
            except OSError as error:
                raise OwnerGone(str(error)) from error
            hello = self._request("hello")
        except BaseException:
            self._connection.close()
            raise
        if (hello["protocol"], hello["schema"]) != (PROTOCOL, schema):
            self._connection.close()
            raise StoreError(
                "other_release",
                f"process {hello['pid']} holds the database with another release (schema {hello['schema']}, "
                f"ours is {schema})",
                where=str(path),
                remedy="end it, or use the same release",
            )
        self._pid = hello["pid"]
        self._patience = _REQUEST_SECONDS
        self._connection.settimeout(_REQUEST_SECONDS)

    @property
    def is_owner(self) -> bool:
        """Never: this is a client."""
        return False

    def select(self, query: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Ask the owner."""
        rows: list[Row] = self._request("select", query, list(parameters))
        return rows

    def find(self, table: str, key: Sequence[Any]) -> Row | None:
        """Ask the owner."""
        row: Row | None = self._request("find", table, list(key))
        return row

    def write(self, commands: Sequence[Command], *, wait: bool = False) -> None:
        """Hand `commands` to the owner's writer."""
        self._request("write", list(commands), wait)

    def flush(self) -> None:
        """Wait for the owner's writer."""
        self._request("flush")

    def decide(self, decision: str) -> None:
        """Hand the decision to the owner."""
        self._request("decide", decision)

    def record(self, events: Sequence[str], *, wait: bool = True) -> None:
        """Hand events to the owner, and wait until they are committed: nobody would send them again."""
        self._request("record", list(events))

    def vouch(self, kind: str, key: str, record: str) -> None:
        """Hand the record to the owner."""
        self._request("vouch", kind, key, record)

    def close_batch(self, batch_id: str) -> None:
        """Let the owner close the batch."""
        self._request("close_batch", batch_id)

    def is_batch_closed(self, batch_id: str) -> bool:
        """Ask the owner."""
        return bool(self._request("is_batch_closed", batch_id))

    def snapshot(self) -> str:
        """Let the owner publish a copy."""
        return str(self._request("snapshot"))

    def list_notices(self) -> list[str]:
        """Return what the owner found when it opened the database."""
        notices: list[str] = self._request("list_notices")
        return notices

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _request(self, method: str, *arguments: Any) -> Any:
        try:
            with self._lock:
                send(self._connection, Request(method, list(arguments)))
                answer = receive(self._connection, Answer)
        except TimeoutError as error:
            # A late answer must not be taken for the next one.
            self._connection.close()
            raise OwnerSilent(self._path, self._pid, self._patience) from error
        if answer.fault is not None:
            fault = Fault.model_validate_json(answer.fault)
            raise StoreError(fault.code, fault.message, where=fault.where, remedy=fault.remedy)
        return answer.value
