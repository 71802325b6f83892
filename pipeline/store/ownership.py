"""Who owns a database file: a lock beside it, and the socket where the owner is spoken to."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

from pipeline.store.errors import explain
from pipeline.store.forks import forget_in_children

__all__ = ["Ownership", "read_owner"]


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


class Ownership:
    """A held lock; the file names the holder and its socket."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        forget_in_children(self)

    @classmethod
    def take(cls, path: Path) -> Ownership | None:
        """Lock the database at `path`, or return None if another process has it.

        Raises:
            StoreError: If the lock file cannot be made.
        """
        try:
            descriptor = os.open(_lock_path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise explain(error, path) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        # Nobody listens yet: whoever reads the file now must not try the last owner's socket.
        os.ftruncate(descriptor, 0)
        return cls(path, descriptor)

    def announce(self, address: Path) -> None:
        """Tell other processes where to speak to this one."""
        text = json.dumps({"pid": os.getpid(), "socket": str(address)})
        os.pwrite(self._descriptor, text.encode(), 0)

    def release(self) -> None:
        """Let the next process have it."""
        os.ftruncate(self._descriptor, 0)
        self.forget()

    def forget(self) -> None:
        """Close this process's hold on the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read_owner(path: Path) -> tuple[int, Path] | None:
    """Return process id and socket of the owner of the database at `path`, or None while it has not said."""
    try:
        found = json.loads(_lock_path(path).read_bytes())
        return int(found["pid"]), Path(found["socket"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
