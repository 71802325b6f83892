"""Jobs that behave, and jobs that do not. Imported inside the sandbox only."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import sys
import threading
import time
from pathlib import Path

MODULE_STATE: list[int] = []


def reverse(payload: bytes) -> bytes:
    return payload[::-1]


def describe(payload: bytes) -> bytes:
    listing = {}
    for name in json.loads(payload):
        try:
            listing[name] = sorted(path.name for path in Path(name).iterdir())
        except OSError as error:
            listing[name] = type(error).__name__
    return json.dumps(
        {
            "argv": sys.argv,
            "cwd": str(Path.cwd()),
            "environment": dict(os.environ),
            "fds": [number for number in range(4096) if _is_open(number)],
            "files": listing,
            "groups": os.getgroups(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "uid": os.getresuid(),
            "hash": hash("kernel"),
        }
    ).encode()


def read_each(payload: bytes) -> bytes:
    contents = []
    for name in json.loads(payload):
        try:
            contents.append(Path(name).read_text())
        except OSError as error:
            contents.append(type(error).__name__)
    return json.dumps(contents).encode()


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def remember(payload: bytes) -> bytes:
    MODULE_STATE.append(1)
    return str(len(MODULE_STATE)).encode()


def multiply(payload: bytes) -> bytes:
    import numpy as np

    matrix = np.full((256, 256), 2.0)
    return bytes(str((matrix @ matrix)[0, 0]), "ascii")


def try_in_turn(payload: bytes) -> bytes:
    """Return the exception class, or None, of each attempt named in the payload."""
    outside = json.loads(payload)["outside"]
    libc = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *arguments: int) -> None:
        if libc.syscall(number, *arguments) < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    attempts = {
        "read outside": lambda: Path(outside).read_bytes(),
        "list home": lambda: list(Path(outside).parent.iterdir()),
        "write": lambda: Path("/tmp/x").write_bytes(b""),
        "write through a descriptor of the interpreter": lambda: os.open(os.__file__, os.O_RDWR),
        "make a folder": lambda: Path("/tmp/y").mkdir(),
        "delete": lambda: Path(os.__file__).unlink(),
        "change a mode": lambda: Path(os.__file__).chmod(0o777),
        "internet socket": lambda: socket.socket(),
        "unix socket": lambda: socket.socket(socket.AF_UNIX),
        "socket pair": lambda: socket.socketpair(),
        "exec": lambda: os.execv(sys.executable, [sys.executable, "-c", ""]),
        "fork": lambda: os.fork(),
        "posix_spawn": lambda: os.posix_spawn(sys.executable, [sys.executable], {}),
        "thread": lambda: threading.Thread(target=int).start(),
        "kill everybody": lambda: os.kill(-1, signal.SIGKILL),
        "kill its group": lambda: os.kill(0, signal.SIGKILL),
        "kill its parent": lambda: os.kill(os.getppid(), signal.SIGKILL),
        "new session": lambda: os.setsid(),
        "raise a limit": lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)),
        "limit its parent": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0)),
        "memory file": lambda: os.memfd_create("x"),
        "chroot": lambda: os.chroot("/"),
        "become root": lambda: os.setuid(0),
        "open its parent": lambda: os.pidfd_open(os.getppid()),
        "memory of its parent": lambda: os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY),
        "trace its parent": lambda: call(101, 16, os.getppid(), 0, 0),
        "user namespace": lambda: call(272, 0x10000000),
        "rings": lambda: call(425, 1, 0),
        "bpf": lambda: call(321, 0, 0, 0),
        "keys": lambda: call(250, 0, 0, 0, 0, 0),
        "shared memory": lambda: call(29, 0, 4096, 0o1600),
        "userfaultfd": lambda: call(323, 0),
        "32-bit call numbers": lambda: call(0x40000000 + 39),
    }
    results = {}
    for what, attempt in attempts.items():
        try:
            attempt()
            results[what] = None
        except (OSError, RuntimeError, ValueError) as error:
            results[what] = type(error).__name__
    return json.dumps(results).encode()


def print_in_order(payload: bytes) -> bytes:
    print("one")
    print("two", file=sys.stderr)
    os.write(1, b"three \xff\n")
    return b""


def print_much(payload: bytes) -> bytes:
    print("first line")
    for _ in range(1000):
        print("x" * 1000)
    print("last line")
    return b""


def print_forever(payload: bytes) -> bytes:
    while True:
        os.write(1, b"y" * 65536)


def raise_error(payload: bytes) -> bytes:
    raise ValueError("bad shape (3, 4)")


def raise_unprintable(payload: bytes) -> bytes:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    raise Unprintable


def raise_huge(payload: bytes) -> bytes:
    raise ValueError("x" * 10_000_000)


def raise_interrupt(payload: bytes) -> bytes:
    raise KeyboardInterrupt


def return_text(payload: bytes) -> bytes:
    return "not bytes"  # type: ignore[return-value]


def leave(payload: bytes) -> bytes:
    sys.exit(3)


def leave_at_once(payload: bytes) -> bytes:
    os._exit(0)


def leave_with_success_and_atexit(payload: bytes) -> bytes:
    import atexit

    atexit.register(time.sleep, 3600)
    return b"done"


def segfault(payload: bytes) -> bytes:
    ctypes.string_at(8)
    return b""


def abort(payload: bytes) -> bytes:
    os.abort()


def overflow_stack(payload: bytes) -> bytes:
    sys.setrecursionlimit(10**9)
    # Comparing nested lists recurses in C.
    value: list[object] = []
    for _ in range(300_000):
        value = [value]
    return bytes(str(value == value[0]), "ascii")


def loop(payload: bytes) -> bytes:
    while True:
        pass


def loop_in_c(payload: bytes) -> bytes:
    return bytes(str(9**9**8), "ascii")


def sleep(payload: bytes) -> bytes:
    time.sleep(3600)
    return b""


def ignore_every_signal(payload: bytes) -> bytes:
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        pass


def allocate(payload: bytes) -> bytes:
    held = bytearray(10 << 30)
    return bytes(held[:1])


def allocate_in_steps(payload: bytes) -> bytes:
    held = []
    while True:
        held.append(bytearray(1 << 20))


def allocate_with_numpy(payload: bytes) -> bytes:
    import numpy as np

    return np.ones(10 << 30, np.uint8)[:1].tobytes()


def fork_bomb(payload: bytes) -> bytes:
    started = 0
    while True:
        try:
            if os.fork() == 0:
                time.sleep(3600)
            started += 1
        except OSError:
            return str(started).encode()


def reply_too_much(payload: bytes) -> bytes:
    return bytes(2 << 20)


def write_garbage(payload: bytes) -> bytes:
    os.write(3, b"\x00garbage that is no frame" * 10)
    time.sleep(3600)
    return b""


def write_forever(payload: bytes) -> bytes:
    while True:
        os.write(3, b"z" * 65536)


def promise_a_terabyte(payload: bytes) -> bytes:
    import struct

    os.write(3, struct.pack("<4sBQ", b"nkij", 0, 1 << 40))
    time.sleep(3600)
    return b""


def promise_and_trickle(payload: bytes) -> bytes:
    import struct

    os.write(3, struct.pack("<4sBQ", b"nkij", 0, 1 << 20))
    while True:
        os.write(3, b".")
        time.sleep(0.05)


def blame_the_machine(payload: bytes) -> bytes:
    os.write(3, b"EOSError: the machine is broken")
    os._exit(1)


def forge_a_reply(payload: bytes) -> bytes:
    import struct

    os.write(3, struct.pack("<4sBQ", b"nkij", 0, 6) + b"forged and then some")
    time.sleep(3600)
    return b""


def close_everything_and_stay(payload: bytes) -> bytes:
    os.closerange(0, 64)
    time.sleep(3600)
    return b""


def close_log_and_reply(payload: bytes) -> bytes:
    os.close(1)
    os.close(2)
    return b"still here"


def hold_many_files(payload: bytes) -> bytes:
    held = []
    try:
        while True:
            held.append(os.pipe())
    except OSError:
        return str(2 * len(held)).encode()


def stop_itself(payload: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSTOP)
    return b""
