"""Opening a database: as its owner, as a client of its owner, or as a reader of its snapshot."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

from pipeline.store.errors import OwnerGone, OwnerSilent, StoreError, explain
from pipeline.store.local import LocalTransport
from pipeline.store.ownership import Ownership, read_owner
from pipeline.store.remote import RemoteTransport
from pipeline.store.schema import newest_version
from pipeline.store.server import Server, choose_socket
from pipeline.store.shared import SharedTransport
from pipeline.store.snapshot import SnapshotTransport, snapshot_path
from pipeline.store.store import Store
from pipeline.store.transport import Transport

__all__ = ["open_store"]

#: An owner that has the lock but does not listen yet is opening, or closing: both are short.
_BETWEEN_OWNERS_SECONDS = 20.0
_PAUSE_SECONDS = 0.02


class OwnerTransport(LocalTransport):
    """The owner's transport, which other processes are served from as long as it is open."""

    def __init__(self, path: Path, ownership: Ownership) -> None:
        """Open the database at `path` and listen for other processes; releases `ownership` if that fails.

        Raises:
            StoreError: If either cannot be done.
        """
        self._ownership = ownership
        with ExitStack() as undo:
            undo.callback(ownership.release)
            super().__init__(path)
            undo.callback(super().close)
            address = choose_socket(path)
            try:
                self._server = Server(self, address, newest_version())
            except OSError as error:
                raise explain(error, address) from error
            ownership.announce(address)
            undo.pop_all()

    def close(self) -> None:
        """Hang up on clients, commit what is left, close the file and let the next process have it."""
        with ExitStack() as steps:
            steps.callback(self._ownership.release)
            steps.callback(super().close)
            self._server.close()


def open_store(path: Path, *, read_only: bool = False, patience: float = 5.0) -> Store:
    """Open the database at `path`, which other processes may be using right now.

    Whoever comes first owns the file and serves the others over a socket; when the owner ends, one of the
    others takes over. A reader that gets no answer reads the latest snapshot, and ``Store.notices`` says how
    old that is.

    Args:
        path: The DuckDB file; a writer makes it where there is none.
        read_only: Refuse every write, and fall back to the snapshot.
        patience: Seconds to wait for the owner's first answer.

    Raises:
        StoreError: If the folder cannot be written, the file is no database, is damaged, belongs to a newer
            release or another program, the disk is full, or (for a reader) there is nothing to read.
    """
    path = Path(os.path.realpath(path))
    _check(path, read_only)
    try:
        transport: Transport = SharedTransport(path, lambda: _acquire(path, patience))
    except StoreError as error:
        if not read_only or error.fault.code not in _READABLE_AROUND:
            raise
        if error.fault.code == "unwritable":
            transport = _open_in_place(path, error)
        else:
            transport = SnapshotTransport(path, error.fault.message)
    return Store(transport, path, read_only=read_only)


#: Faults of the file's owner or folder, not of the file: its snapshot can still be read.
_READABLE_AROUND = ("owner_silent", "in_use", "unwritable")


def _check(path: Path, read_only: bool) -> None:
    if path.is_dir():
        raise StoreError("not_a_database", "this is a folder, not a database", where=str(path))
    if path.exists() and not path.is_file():
        # A device is empty too, and where nothing is a database is put.
        raise StoreError("not_a_database", "this is a device or a pipe, not a database", where=str(path))
    if read_only and not path.exists():
        raise StoreError(
            "no_database",
            "there is no database",
            where=str(path),
            remedy="grade something first, or give the path of one",
        )
    if not read_only:
        if not path.parent.is_dir():
            raise StoreError(
                "no_folder", f"there is no folder {path.parent}", where=str(path), remedy="make it first"
            )
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise StoreError(
                "unwritable",
                f"the folder {path.parent} may not be written to",
                where=str(path),
                remedy="give another path for the database",
            )


def _open_in_place(path: Path, error: StoreError) -> Transport:
    """Read the newest file that can be read where nothing can be written."""
    if snapshot_path(path).exists():
        return SnapshotTransport(path, error.fault.message)
    raise error


def _acquire(path: Path, patience: float) -> Transport:
    """Own the database, or connect to whoever does.

    Raises:
        OwnerSilent: If the owner does not answer.
        StoreError: If the database cannot be opened.
    """
    deadline = time.monotonic() + max(patience, _BETWEEN_OWNERS_SECONDS)
    while True:
        if (ownership := Ownership.take(path)) is not None:
            return OwnerTransport(path, ownership)
        owner = read_owner(path)
        if owner is not None:
            pid, address = owner
            try:
                return RemoteTransport(path, address, pid, newest_version(), patience)
            except OwnerGone:
                pass  # It is closing, or has just ended: the lock tells.
        if time.monotonic() > deadline:
            raise OwnerSilent(path, owner[0] if owner else None, patience)
        time.sleep(_PAUSE_SECONDS)
