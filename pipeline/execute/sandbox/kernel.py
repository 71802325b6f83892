"""System calls that Python has no function for, through ctypes. Linux only."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from typing import Final

__all__ = [
    "CAP_SYS_ADMIN",
    "bind_read_only",
    "call",
    "die_with_parent",
    "drop_capabilities",
    "forbid_new_privileges",
    "forget_root",
    "has_capability",
    "hide_below_tmpfs",
    "install_filter",
    "move_root",
    "set_undumpable",
    "unshare",
]

CAP_SYS_ADMIN: Final = 21

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_SET_NO_NEW_PRIVS: Final = 38
_SECCOMP_MODE_FILTER: Final = 2

_MS_RDONLY: Final = 1
_MS_NOSUID: Final = 2
_MS_NODEV: Final = 4
_MS_REMOUNT: Final = 32
_MS_BIND: Final = 4096
_MS_REC: Final = 16384
_MS_PRIVATE: Final = 1 << 18
_MNT_DETACH: Final = 2

_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000
_MOUNT_ATTR_RDONLY_NOSUID_NODEV: Final = 0x1 | 0x2 | 0x4

# mount_setattr came after the architectures agreed on numbers; pivot_root and capset did not.
_MOUNT_SETATTR: Final = 442
_NUMBERS: Final = {
    "x86_64": {"pivot_root": 155, "capset": 126},
    "aarch64": {"pivot_root": 41, "capset": 91},
}


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def call(number: int, what: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make system call `number` with integer or buffer arguments and return its result.

    Raises:
        OSError: If it fails; `what` opens the message.
    """
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _check(int(_libc().syscall(ctypes.c_long(number), *converted)), what)


def _prctl(option: int, value: int, what: str, pointer: ctypes.Structure | None = None) -> None:
    third = ctypes.c_ulong(0) if pointer is None else ctypes.byref(pointer)
    zero = ctypes.c_ulong(0)
    _check(int(_libc().prctl(option, ctypes.c_ulong(value), third, zero, zero)), what)


def die_with_parent(signal_number: int) -> None:
    """Ask for `signal_number` when the thread that forked this process ends."""
    _prctl(_PR_SET_PDEATHSIG, signal_number, "prctl(PR_SET_PDEATHSIG)")


def forbid_new_privileges() -> None:
    """Rule out privileges by set-uid programs, for good; what Landlock and filters ask of ordinary users."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "prctl(PR_SET_NO_NEW_PRIVS)")


def set_undumpable() -> None:
    """Close this process's memory to debuggers of the same user."""
    _prctl(_PR_SET_DUMPABLE, 0, "prctl(PR_SET_DUMPABLE)")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def install_filter(program: bytes) -> None:
    """Install a seccomp filter of 8-byte BPF instructions.

    Raises:
        OSError: If the kernel has no filters or refuses this one.
    """
    holder = _Program(len(program) // 8, program)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, "prctl(PR_SET_SECCOMP)", holder)


def has_capability(number: int) -> bool:
    """Return whether this process holds capability `number`."""
    with open("/proc/self/status", "rb") as status:  # noqa: PTH123
        for line in status:
            if line.startswith(b"CapEff:"):
                return bool(int(line.split()[1], 16) >> number & 1)
    return False


def drop_capabilities() -> None:
    """Give up every capability of this process."""
    header = ctypes.create_string_buffer(struct.pack("<Ii", 0x20080522, 0))
    data = ctypes.create_string_buffer(24)
    call(_NUMBERS[os.uname().machine]["capset"], "capset", header, data)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    def encode(text: str | None) -> bytes | None:
        return None if text is None else os.fsencode(text)

    result = _libc().mount(encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), encode(data))
    _check(int(result), f"mount {target}")


def hide_below_tmpfs(target: str, *, writable: bool = False) -> None:
    """Mount an empty file system of at most 1 MiB over the directory `target`."""
    flags = _MS_NOSUID | _MS_NODEV | (0 if writable else _MS_RDONLY)
    _mount("tmpfs", target, "tmpfs", flags, "size=1m,mode=0755")


def bind_read_only(source: str, target: str) -> None:
    """Show `source` and what is mounted below it at `target`, read-only.

    Raises:
        OSError: If the kernel refuses; ENOSYS before Linux 5.12.
    """
    _mount(source, target, None, _MS_BIND | _MS_REC)
    attributes = ctypes.create_string_buffer(struct.pack("<QQQQ", _MOUNT_ATTR_RDONLY_NOSUID_NODEV, 0, 0, 0))
    path = os.fsencode(target)
    call(_MOUNT_SETATTR, f"mount_setattr {target}", _AT_FDCWD, path, _AT_RECURSIVE, attributes, 32)


def move_root(root: str, old: str) -> None:
    """Make the empty file system to be mounted at `root` the root of this mount namespace.

    The former root stays visible at ``/<old>`` until `forget_root`.
    """
    # Nothing that is mounted here may travel back to the machine.
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    hide_below_tmpfs(root, writable=True)
    os.mkdir(f"{root}/{old}", 0o700)  # noqa: PTH102
    call(
        _NUMBERS[os.uname().machine]["pivot_root"],
        "pivot_root",
        os.fsencode(root),
        os.fsencode(f"{root}/{old}"),
    )
    os.chdir("/")


def forget_root(old: str) -> None:
    """Detach the former root and close the new one for writing."""
    _check(int(_libc().umount2(os.fsencode(f"/{old}"), _MNT_DETACH)), "umount the former root")
    os.rmdir(f"/{old}")  # noqa: PTH106
    _mount(None, "/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for new ones."""
    _check(int(_libc().unshare(ctypes.c_int(flags))), "unshare")
