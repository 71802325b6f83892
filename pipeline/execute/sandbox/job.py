"""The child of one job: confine, run, reply."""

from __future__ import annotations

import fcntl
import importlib
import os
import resource
import signal
import traceback
from collections.abc import Callable
from typing import Final, NoReturn

from pipeline.execute.sandbox import kernel, landlock, seccomp
from pipeline.execute.sandbox.outcome import Level
from pipeline.execute.sandbox.wire import FRAME, MAGIC, READY, REFUSED, Kind, Order

__all__ = ["run_job"]

_REPLY: Final = 3
_FIRST_UNUSED: Final = 10
_TYPE_CHARACTERS: Final = 200
_MESSAGE_CHARACTERS: Final = 4000
_MEMORY_FRAME: Final = FRAME.pack(MAGIC, Kind.MEMORY, 0)


def run_job(order: Order, descriptors: list[int], ruleset: int | None, level: Level) -> NoReturn:
    """Run one job in this freshly forked process, which ends with it.

    Args:
        order: What to run, with which limits.
        descriptors: Payload file, reply pipe, log pipe.
        ruleset: Landlock ruleset to be held to, if any.
        level: Where filtered system calls may be missing, at `Level.LIMITS` only.
    """
    try:
        payload, reply, log = (_move_up(descriptor) for descriptor in descriptors)
        rules = None if ruleset is None else _move_up(ruleset)
        os.dup2(reply, _REPLY)
    except BaseException:
        # A fork must not go on as a second zygote; its silence is noticed.
        os._exit(1)
    try:
        function = _find_function(order["job"])
        data = _read_payload(payload)
        os.dup2(log, 1)
        os.dup2(log, 2)
        _confine(order, rules, level)
    except BaseException as error:
        # The grader raises it as the machine's fault.
        _write(REFUSED + f"{type(error).__name__}: {error}".encode(errors="replace"))
        os._exit(1)
    _write(READY)
    _run(function, data)
    os._exit(0)


def _move_up(descriptor: int) -> int:
    """Return a copy that no later ``dup2`` to a fixed number can overwrite."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_UNUSED)


def _find_function(name: str) -> Callable[[bytes], bytes]:
    module, _, function = name.partition(":")
    found: Callable[[bytes], bytes] = getattr(importlib.import_module(module), function)
    return found


def _read_payload(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    parts: list[bytes] = []
    position = 0
    while position < size:
        part = os.pread(descriptor, size - position, position)
        if not part:
            raise EOFError(f"payload ends after {position} of {size} bytes")
        parts.append(part)
        position += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _confine(order: Order, ruleset: int | None, level: Level) -> None:
    kernel.die_with_parent(signal.SIGKILL)
    if os.getppid() != order["zygote"]:
        # It ended before this process had asked to end with it.
        os._exit(1)
    if ruleset is not None:
        landlock.restrict(ruleset)
    highest, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.closerange(_REPLY + 1, highest)
    cpu = order["cpu_seconds"]
    for kind, soft, hard in (
        (resource.RLIMIT_AS, order["address_space"], order["address_space"]),
        # The soft limit can be ignored by a handler; the hard one cannot.
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_NOFILE, order["open_files"], order["open_files"]),
        (resource.RLIMIT_NPROC, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ):
        _lower_limit(kind, soft, hard)
    machine = os.uname().machine
    if machine in seccomp.MACHINES:
        try:
            kernel.install_filter(seccomp.assemble_filter(machine, os.getpid()))
        except OSError:
            if level is not Level.LIMITS:
                raise
    elif level is not Level.LIMITS:
        raise OSError(f"no system call filter for {machine}")


def _lower_limit(kind: int, soft: int, hard: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


def _run(function: Callable[[bytes], bytes], payload: bytes) -> None:
    try:
        reply = function(payload)
        if not isinstance(reply, bytes):
            raise TypeError(f"a job returns bytes, got {type(reply).__name__}")
        _write(FRAME.pack(MAGIC, Kind.REPLY, len(reply)))
        _write(reply)
    except MemoryError:
        _write(_MEMORY_FRAME)
    except SystemExit as leaving:
        os._exit(_exit_code(leaving.code))
    except BaseException as error:
        _write_error(error)


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def _write_error(error: BaseException) -> None:
    try:
        kind, message = type(error).__name__, str(error)
        traceback.print_exception(error)
    except BaseException:
        # An exception that cannot be printed is still one.
        kind, message = "Exception", "raised an exception that cannot be printed"
    kind = kind.replace("\n", " ")[:_TYPE_CHARACTERS]
    body = f"{kind}\n{message[:_MESSAGE_CHARACTERS]}".encode(errors="replace")
    _write(FRAME.pack(MAGIC, Kind.ERROR, len(body)))
    _write(body)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(_REPLY, view) :]
        except OSError:
            # Nobody reads any more, or the job closed it: there is nothing left to do here.
            os._exit(1)
