"""The owner's side of the socket: other processes speak to the database through it."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from pipeline.store.errors import OwnerGone, StoreError
from pipeline.store.forks import forget_in_children
from pipeline.store.transport import Command, Transport
from pipeline.store.wire import PROTOCOL, Answer, Request, receive, send

__all__ = ["Server", "choose_socket"]

#: ``sun_path`` has 108 bytes, one of them the final NUL.
_LONGEST_SOCKET = 107


def choose_socket(path: Path) -> Path:
    """Return a short path for the socket of the database at `path`, in a folder that only we may enter.

    Raises:
        StoreError: If no such folder can be had.
    """
    name = sha256(os.fsencode(path)).hexdigest()[:16] + ".sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    roots = [Path(runtime)] if runtime else []
    roots += [Path(tempfile.gettempdir()), Path("/tmp")]
    for root in roots:
        folder = root / f"nki-grader-{os.getuid()}"
        if len(os.fsencode(folder / name)) <= _LONGEST_SOCKET and _is_ours(folder):
            return folder / name
    raise StoreError(
        "no_socket_folder",
        "no folder for the database's socket: none of "
        + ", ".join(str(root) for root in roots)
        + " is short enough, writable and ours",
        remedy="set XDG_RUNTIME_DIR to a short folder of your own",
    )


def _is_ours(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and stat.S_IMODE(found.st_mode) & 0o077 == 0
        and os.access(folder, os.W_OK | os.X_OK)
    )


class Server:
    """Answers clients, one thread each, until it is closed."""

    def __init__(self, transport: Transport, address: Path, schema: int) -> None:
        """Listen at `address`; whatever lies there is a leftover, since the caller holds the database's lock.

        Raises:
            OSError: If the socket cannot be made.
        """
        self._transport = transport
        self._schema = schema
        self._address = address
        self._closing = False
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._methods: dict[str, Callable[..., Any]] = {
            "hello": self._hello,
            "select": transport.select,
            "find": transport.find,
            "write": self._write,
            "flush": transport.flush,
            "decide": transport.decide,
            "record": transport.record,
            "vouch": transport.vouch,
            "close_batch": transport.close_batch,
            "is_batch_closed": transport.is_batch_closed,
            "snapshot": transport.snapshot,
            "list_notices": transport.list_notices,
        }
        address.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listener.bind(str(address))
            self._listener.listen(64)
        except OSError:
            self._listener.close()
            raise
        forget_in_children(self)
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, name="store-server", daemon=True)
        self._accepting.start()

    def close(self) -> None:
        """Finish the requests under way and hang up on every client."""
        with self._lock:
            self._closing = True
            connections = list(self._connections)
        self._address.unlink(missing_ok=True)
        # Closing alone does not wake a thread that waits in accept.
        for connection in [self._listener, *connections]:
            try:
                connection.shutdown(socket.SHUT_RD)
            except OSError:
                continue
        self._accepting.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def forget(self) -> None:
        """Close the sockets in a forked child, where nobody answers on them."""
        for connection in [self._listener, *self._connections]:
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._closing:
                    connection.close()
                    return
                self._connections.add(connection)
                self._threads = [thread for thread in self._threads if thread.is_alive()]
                thread = threading.Thread(
                    target=self._serve, args=(connection,), name="store-client", daemon=True
                )
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while not self._closing:
                    send(connection, self._answer(receive(connection, Request)))
            except OwnerGone:
                pass  # The client has ended, or we are closing: nothing is left to say to it.
            finally:
                with self._lock:
                    self._connections.discard(connection)

    def _answer(self, request: Request) -> Answer:
        try:
            return Answer(self._methods[request.method](*request.arguments))
        except StoreError as error:
            return Answer(fault=error.fault.model_dump_json())
        except (KeyError, TypeError, ValueError) as error:
            # A client of another release, or a bug of ours: it must learn of it, and the others must not.
            fault = StoreError("bad_request", f"the owner refused {request.method}: {error!r}").fault
            return Answer(fault=fault.model_dump_json())

    def _hello(self) -> dict[str, Any]:
        return {"protocol": PROTOCOL, "schema": self._schema, "pid": os.getpid()}

    def _write(self, commands: list[Any], wait: bool) -> None:
        self._transport.write(msgspec.convert(commands, list[Command]), wait=wait)
