"""Landlock: which files a process may read, enforced by the kernel without any privilege.

Structures and constants: Linux ``linux/landlock.h``.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pipeline.execute.sandbox import kernel

__all__ = ["create_ruleset", "probe_abi", "restrict"]

# The same on every architecture.
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446

_CREATE_RULESET_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1

_READ_FILE: Final = 1 << 2
_READ_DIRECTORY: Final = 1 << 3

# Bits of file access known from each ABI on: REFER, TRUNCATE, IOCTL_DEV after the first thirteen.
_FILE_BITS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_BIND_AND_CONNECT_TCP: Final = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS: Final = 0b11


def probe_abi() -> int:
    """Return the version of Landlock that the running kernel enforces, 0 for none."""
    try:
        return kernel.call(_CREATE_RULESET, "landlock", None, 0, _CREATE_RULESET_VERSION)
    except OSError:
        return 0


def create_ruleset(abi: int, readable: Iterable[Path], hidden: Iterable[Path]) -> int:
    """Return the descriptor of a ruleset: read `readable` without `hidden`, and nothing else.

    Whatever the ABI can govern is denied: writing, creating, running programs, TCP, signals to outsiders.
    Names below a readable folder can be listed even where they are hidden; their contents cannot be read.

    Raises:
        OSError: If the kernel refuses.
    """
    file_access = (1 << _FILE_BITS[min(abi, 5)]) - 1
    attributes = struct.pack("<Q", file_access)
    if abi >= 4:
        attributes += struct.pack("<Q", _BIND_AND_CONNECT_TCP)
    if abi >= 6:
        attributes += struct.pack("<Q", _ABSTRACT_SOCKETS_AND_SIGNALS)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    ruleset = kernel.call(_CREATE_RULESET, "landlock_create_ruleset", buffer, len(attributes), 0)
    hidden = tuple(hidden)
    for path in readable:
        for part, access in _split(path, hidden):
            _allow(ruleset, part, access)
    return ruleset


def _split(path: Path, hidden: tuple[Path, ...]) -> Iterator[tuple[Path, int]]:
    """Yield the parts of `path` around `hidden`: rules only ever add, so a hole needs its siblings."""
    if path in hidden:
        return
    if not any(hole.is_relative_to(path) for hole in hidden):
        yield path, _READ_FILE | _READ_DIRECTORY if path.is_dir() else _READ_FILE
        return
    yield path, _READ_DIRECTORY
    for child in path.iterdir():
        yield from _split(child, hidden)


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # What we cannot open, a job cannot either.
        return
    try:
        # struct landlock_path_beneath_attr is packed: 64 bits of access, then the descriptor.
        rule = ctypes.create_string_buffer(struct.pack("<Qi", access, descriptor), 12)
        kernel.call(_ADD_RULE, f"landlock_add_rule {path}", ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def restrict(ruleset: int) -> None:
    """Hold this thread, and what it becomes, to `ruleset` for good.

    Raises:
        OSError: If the kernel refuses.
    """
    kernel.call(_RESTRICT_SELF, "landlock_restrict_self", ruleset, 0)
