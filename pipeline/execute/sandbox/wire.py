"""What crosses between the grader, a zygote and its jobs; both sides import this and nothing else in common.

Control socket, grader to zygote and back: one JSON object per packet. Reply pipe, job to grader: one byte
(the child is confined, or could not be), then one frame of header and body, or an error text.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NotRequired, TypedDict

__all__ = ["FRAME", "MAGIC", "READY", "REFUSED", "Ending", "Kind", "Order", "Spec"]

READY: Final = b"R"
"""First byte of a reply pipe: from here on the job runs, confined."""

REFUSED: Final = b"E"
"""First byte of a reply pipe: confinement failed; the reason follows as text."""

MAGIC: Final = b"nkij"

FRAME: Final = struct.Struct("<4sBQ")
"""Magic, kind, length of the body in bytes."""


class Kind(IntEnum):
    """What the body of a frame is."""

    REPLY = 0
    """The bytes that the job returned."""
    ERROR = 1
    """Type and message of its exception, as UTF-8, separated by the first newline."""
    MEMORY = 2
    """Nothing: it ran out of memory."""


class Spec(TypedDict):
    """How to set up a zygote."""

    control: int
    level: str
    import_paths: list[str]
    readable: list[str]
    hidden: list[str]
    links: dict[str, str]
    environment: dict[str, str]
    preload: list[str]


class Order(TypedDict):
    """One job for a zygote; its payload, reply and log descriptors come along."""

    job: str
    cpu_seconds: int
    address_space: int
    open_files: int
    zygote: NotRequired[int]
    """Process number of the zygote, as it sees itself; it adds this before it forks."""


class Ending(TypedDict):
    """How the child of a job ended, or why there was none."""

    error: str
    status: int
    killed: bool
    cpu_seconds: float
