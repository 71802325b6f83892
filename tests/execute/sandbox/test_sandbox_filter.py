"""The system call filter, interpreted here for both machines: only one of them can be run."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from pipeline.execute.sandbox.seccomp import _FREE, assemble_filter

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
PID = 4242


def decide(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """Return what the filter answers to one call, by the rules of classic BPF."""
    program = assemble_filter(machine, PID)
    padded = [*arguments, *([0] * (6 - len(arguments)))]
    data = struct.pack("<iIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *padded)
    instructions = list(struct.iter_unpack("<HBBI", program))
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif code == 0x15:
            position += if_true if accumulator == value else if_false
        elif code == 0x45:
            position += if_true if accumulator & value else if_false
        elif code == 0x06:
            return value
        else:
            raise AssertionError(f"unexpected instruction {code:#x}")


CALLS = {
    # Linux arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h
    "x86_64": {"read": 0, "mmap": 9, "openat": 257, "ioctl": 16, "fcntl": 72, "kill": 62, "tgkill": 234}
    | {"prlimit64": 302, "clone3": 435, "socket": 41, "clone": 56, "execve": 59, "ptrace": 101, "prctl": 157},
    "aarch64": {"read": 63, "mmap": 222, "openat": 56, "ioctl": 29, "fcntl": 25, "kill": 129, "tgkill": 131}
    | {
        "prlimit64": 261,
        "clone3": 435,
        "socket": 198,
        "clone": 220,
        "execve": 221,
        "ptrace": 117,
        "prctl": 167,
    },
}


@pytest.fixture(params=list(CALLS))
def machine(request):
    return request.param


def test_computing_calls_are_allowed(machine):
    assert decide(machine, CALLS[machine]["read"]) == ALLOW
    assert decide(machine, CALLS[machine]["mmap"]) == ALLOW


@pytest.mark.parametrize("call", ["socket", "clone", "execve", "ptrace", "prctl"])
def test_calls_that_reach_out_are_refused(machine, call):
    assert decide(machine, CALLS[machine][call]) == EPERM


def test_clone3_asks_the_library_to_fall_back(machine):
    assert decide(machine, CALLS[machine]["clone3"]) == ENOSYS


def test_calls_of_later_kernels_are_refused(machine):
    assert {decide(machine, number) for number in range(440, 1000)} == {EPERM}


def test_files_open_for_reading_only(machine):
    openat = CALLS[machine]["openat"]
    # O_CLOEXEC; then O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE.
    assert decide(machine, openat, 0, 0, 0o2000000) == ALLOW
    for flags in (0o1, 0o2, 0o100, 0o1000, 0o20000000):
        assert decide(machine, openat, 0, 0, flags) == EPERM


def test_a_process_may_signal_itself_and_nobody_else(machine):
    for call in ("kill", "tgkill"):
        assert decide(machine, CALLS[machine][call], PID) == ALLOW
        for other in (0, 1, PID + 1, 2**64 - 1):
            assert decide(machine, CALLS[machine][call], other) == EPERM


def test_descriptors_cannot_be_made_to_send_signals_or_grow(machine):
    # F_SETFD, then F_SETOWN, F_SETPIPE_SZ.
    assert decide(machine, CALLS[machine]["fcntl"], 0, 2) == ALLOW
    for command in (8, 1031):
        assert decide(machine, CALLS[machine]["fcntl"], 0, command) == EPERM


def test_terminals_cannot_be_written_to_by_ioctl(machine):
    # TCGETS, then TIOCSTI.
    assert decide(machine, CALLS[machine]["ioctl"], 0, 0x5401) == ALLOW
    assert decide(machine, CALLS[machine]["ioctl"], 0, 0x5412) == EPERM


def test_limits_of_other_processes_are_out_of_reach(machine):
    assert decide(machine, CALLS[machine]["prlimit64"], 0) == ALLOW
    assert decide(machine, CALLS[machine]["prlimit64"], 1) == EPERM


def test_calls_by_the_numbers_of_another_architecture_kill(machine):
    # AUDIT_ARCH_I386: int 0x80 on x86_64.
    assert decide(machine, CALLS[machine]["read"], architecture=0x40000003) == KILL


def test_x32_numbers_are_refused():
    assert decide("x86_64", 0x40000000 + CALLS["x86_64"]["read"]) == EPERM


def test_unknown_machine_has_no_filter():
    with pytest.raises(KeyError):
        assemble_filter("riscv64", PID)


@pytest.mark.parametrize(
    ("header", "column", "pattern"),
    [
        ("x86_64-linux-gnu/asm/unistd_64.h", 0, r"#define __NR_(\w+) (\d+)\n"),
        ("asm-generic/unistd.h", 1, r"#define __NR(?:3264)?_(\w+) (\d+)\n"),
    ],
)
def test_numbers_are_those_of_the_kernel_headers(header, column, pattern):
    path = Path("/usr/include", header)
    if not path.exists():
        pytest.skip("needs the kernel headers (linux-libc-dev)")
    numbers = {name: int(number) for name, number in re.findall(pattern, path.read_text())}
    numbers.setdefault("newfstatat", numbers.get("fstatat", -1))
    assert {name: pair[column] for name, pair in _FREE.items()} == {name: numbers.get(name) for name in _FREE}
