"""Jobs that test a sandbox: a level is judged by what it does here and not by its name."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["echo", "try_to_escape"]


def echo(payload: bytes) -> bytes:
    """Return the payload: the job that costs nothing but its sandbox."""
    return payload


def try_to_escape(payload: bytes) -> bytes:
    """Attempt what a job must not be able to do.

    Args:
        payload: JSON with ``outside``, a file that the grader's user can read and a job must not.

    Returns:
        JSON list of the attempts that succeeded.
    """
    outside = Path(json.loads(payload)["outside"])
    attempts: dict[str, Callable[[], object]] = {
        "read a file outside its view": outside.read_bytes,
        "write a file outside its view": lambda: outside.write_bytes(b"escaped"),
        "create a file": lambda: _create_file(outside.parent),
        "open a socket": lambda: socket.socket().close(),
        "see other processes": lambda: Path("/proc/1/stat").read_bytes(),
        "start a thread": _start_thread,
        "start a process": _start_process,
        "signal another process": lambda: os.kill(os.getppid(), 0),
        "trace another process": _trace,
    }
    return json.dumps([what for what, attempt in attempts.items() if _succeeds(attempt)]).encode()


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (OSError, RuntimeError):
        return False
    return True


def _create_file(beside: Path) -> None:
    for folder in (beside, Path("/"), Path("/tmp"), Path("/dev/shm")):
        try:
            descriptor = os.open(folder / "escaped", os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError:
            continue
        os.close(descriptor)
        return
    raise PermissionError("nowhere to write")


def _start_thread() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def _start_process() -> None:
    if os.fork() == 0:
        os._exit(0)


_PTRACE_ATTACH: Final = 16


def _trace() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(_PTRACE_ATTACH, os.getppid(), None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
