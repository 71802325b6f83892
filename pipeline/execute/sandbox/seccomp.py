"""Which system calls a job may make, as a seccomp filter assembled here.

An allow list: what a computation in Python needs once its libraries are loaded. Everything else is refused
with EPERM, so sockets, new processes and threads, programs, mounts, tracing, shared memory, asynchronous
rings and whatever a later kernel brings need no rule of their own.

Numbers: Linux ``asm/unistd_64.h`` (x86_64) and ``asm-generic/unistd.h`` (aarch64). Instructions: Linux
``linux/bpf_common.h`` and ``linux/seccomp.h``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Final

__all__ = ["MACHINES", "assemble_filter"]

_AUDIT_ARCHITECTURE: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

MACHINES: Final = frozenset(_AUDIT_ARCHITECTURE)
"""Machines, as ``os.uname().machine`` names them, that a filter exists for."""

# name: (x86_64, aarch64); None where the machine has no such call.
_FREE: Final[dict[str, tuple[int | None, int | None]]] = {
    "access": (21, None),
    "alarm": (37, None),
    "arch_prctl": (158, None),
    "brk": (12, 214),
    "chdir": (80, 49),
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "fadvise64": (221, 223),
    "fchdir": (81, 50),
    "fstat": (5, 80),
    "fstatfs": (138, 44),
    "futex": (202, 98),
    "getcpu": (309, 168),
    "getcwd": (79, 17),
    "getdents64": (217, 61),
    "getegid": (108, 177),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getgroups": (115, 158),
    "getitimer": (36, 102),
    "getpgid": (121, 155),
    "getpgrp": (111, None),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getrandom": (318, 278),
    "getresgid": (120, 150),
    "getresuid": (118, 148),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "getsid": (124, 156),
    "gettid": (186, 178),
    "gettimeofday": (96, 169),
    "getuid": (102, 174),
    "lseek": (8, 62),
    "lstat": (6, None),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "mincore": (27, 232),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    "nanosleep": (35, 101),
    "newfstatat": (262, 79),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "poll": (7, None),
    "ppoll": (271, 73),
    "pread64": (17, 67),
    "preadv": (295, 69),
    "pselect6": (270, 72),
    "read": (0, 63),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "readv": (19, 65),
    "restart_syscall": (219, 128),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigpending": (127, 136),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigtimedwait": (128, 137),
    "sched_getaffinity": (204, 123),
    "sched_yield": (24, 124),
    "select": (23, None),
    "set_robust_list": (273, 99),
    "set_tid_address": (218, 96),
    "setitimer": (38, 103),
    "sigaltstack": (131, 132),
    "stat": (4, None),
    "statfs": (137, 43),
    "statx": (332, 291),
    "sysinfo": (99, 179),
    "time": (201, None),
    "times": (100, 153),
    "umask": (95, 166),
    "uname": (63, 160),
    "write": (1, 64),
    "writev": (20, 66),
}

_OPEN: Final = (2, None)
_OPENAT: Final = (257, 56)
_IOCTL: Final = (16, 29)
_FCNTL: Final = (72, 25)
_PRLIMIT: Final = (302, 261)
_KILL: Final = (62, 129)
_TGKILL: Final = (234, 131)
_TKILL: Final = (200, 130)
_CLONE3: Final = (435, 435)

# O_WRONLY and O_RDWR, O_CREAT, O_TRUNC, __O_TMPFILE.
_WRITING: Final = 0o3 | 0o100 | 0o1000 | 0o20000000
# TCGETS, TIOCGWINSZ, FIONBIO, FIONCLEX, FIOCLEX: what Python asks of any file it opens.
_HARMLESS_IOCTLS: Final = (0x5401, 0x5413, 0x5421, 0x5450, 0x5451)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: not F_SETOWN, which sends signals, and no
# larger pipes.
_HARMLESS_FCNTLS: Final = (0, 1, 2, 3, 4, 1030)

_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_ANY_BIT: Final = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K

_ALLOW: Final = 0x7FFF0000
_KILL_PROCESS: Final = 0x80000000
_ERRNO: Final = 0x00050000
_EPERM: Final = 1
_ENOSYS: Final = 38


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _load_argument(index: int) -> bytes:
    # struct seccomp_data: number, architecture, instruction pointer, then six 64-bit arguments. The low half
    # is what the kernel reads for the int arguments tested here.
    return _instruction(_LOAD, 16 + 8 * index)


_LOAD_NUMBER: Final = _instruction(_LOAD, 0)
_LOAD_ARCHITECTURE: Final = _instruction(_LOAD, 4)
_REFUSE: Final = _instruction(_RETURN, _ERRNO | _EPERM)
_PASS: Final = _instruction(_RETURN, _ALLOW)


def _on(number: int | None, block: bytes) -> bytes:
    """Run `block`, which ends in a return, for system call `number`."""
    if number is None:
        return b""
    return _instruction(_JUMP_EQUAL, number, 0, len(block) // 8) + block


def _only(argument: int, values: Sequence[int]) -> bytes:
    """Allow where the low half of `argument` is one of `values`."""
    tests = b"".join(_instruction(_JUMP_EQUAL, value, 0, 1) + _PASS for value in values)
    return _load_argument(argument) + tests + _REFUSE


def _without(argument: int, bits: int) -> bytes:
    """Allow where `argument` has none of `bits`."""
    return _load_argument(argument) + _instruction(_JUMP_ANY_BIT, bits, 0, 1) + _REFUSE + _PASS


@cache
def _common_part(machine: str) -> bytes:
    column = ("x86_64", "aarch64").index(machine)
    return b"".join(
        [
            _LOAD_ARCHITECTURE,
            _instruction(_JUMP_EQUAL, _AUDIT_ARCHITECTURE[machine], 1, 0),
            _instruction(_RETURN, _KILL_PROCESS),
            _LOAD_NUMBER,
            *(_on(numbers[column], _PASS) for numbers in _FREE.values()),
            _on(_OPEN[column], _without(1, _WRITING)),
            _on(_OPENAT[column], _without(2, _WRITING)),
            _on(_IOCTL[column], _only(1, _HARMLESS_IOCTLS)),
            _on(_FCNTL[column], _only(1, _HARMLESS_FCNTLS)),
            _on(_PRLIMIT[column], _only(0, (0,))),
            # ENOSYS lets a C library fall back to clone, which is then refused in the words people know.
            _on(_CLONE3[column], _instruction(_RETURN, _ERRNO | _ENOSYS)),
        ]
    )


def assemble_filter(machine: str, pid: int) -> bytes:
    """Return the filter for process `pid` on `machine`, as 8-byte BPF instructions.

    The process may signal itself, so that an abort looks like one, and nobody else.

    Raises:
        KeyError: If there is no table for `machine`; see `MACHINES`.
    """
    if machine not in MACHINES:
        raise KeyError(machine)
    column = ("x86_64", "aarch64").index(machine)
    itself = _only(0, (pid,))
    return b"".join(
        [
            _common_part(machine),
            *(_on(call[column], itself) for call in (_KILL, _TGKILL, _TKILL)),
            _REFUSE,
        ]
    )
