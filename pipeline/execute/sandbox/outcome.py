"""What a job may use, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

__all__ = ["Level", "Limits", "Outcome", "Status"]


class Level(StrEnum):
    """How a job is confined, strongest first.

    At every level a job is one process with one thread, resource limits, no privileges to gain and, where the
    kernel has them, filtered system calls: no sockets, no new processes or threads, no programs, no writing.
    """

    BUBBLEWRAP = "bubblewrap"
    """bubblewrap's namespaces and file view, plus Landlock where the kernel has it."""
    NAMESPACES = "namespaces"
    """The same namespaces and file view, made without bubblewrap."""
    LANDLOCK = "landlock"
    """No namespaces: Landlock limits which files can be read. For containers that forbid namespaces."""
    LIMITS = "limits"
    """Resource limits and filtered system calls only: files can be read. Needs explicit permission."""

    @property
    def contained(self) -> bool:
        """Whether hostile code can be run at this level without asking."""
        return self is not Level.LIMITS


class Status(StrEnum):
    """How a job ended."""

    OK = "ok"
    """It replied."""
    FAILED = "failed"
    """It raised an exception."""
    TIMEOUT = "timeout"
    """It used up its wall or processor time."""
    MEMORY = "memory"
    """It was refused memory beyond its limit."""
    OVERSIZED = "oversized"
    """Its reply or what it printed was larger than allowed."""
    CRASHED = "crashed"
    """A signal ended it."""
    FORGED = "forged"
    """It wrote something else than a reply where only a reply belongs."""
    SILENT = "silent"
    """It ended, or closed its reply, without a reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one job may use. Files, processes and threads are not listed: a job may create none.

    Attributes:
        wall_seconds: From the moment the job is confined until its whole reply has arrived.
        cpu_seconds: Processor time in whole seconds.
        memory_bytes: Address space beyond that of the idle zygote; payload and reply count.
        reply_bytes: Largest reply.
        log_bytes: How much of what it prints is kept, half from the start and half from the end.
        open_files: Highest number of open descriptors.
    """

    wall_seconds: float = 10.0
    cpu_seconds: int = 10
    memory_bytes: int = 1 << 30
    reply_bytes: int = 64 << 20
    log_bytes: int = 64 << 10
    open_files: int = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise ValueError(f"{field.name} must be above 0, got {getattr(self, field.name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How one job ended.

    Attributes:
        status: See `Status`.
        reply: What the job returned when `status` is ``ok``, else None. Hostile data.
        message: One line on what happened and which limit it met; empty when ``ok``.
        error_type: Class name of the exception when `status` is ``failed``. Hostile text, bounded.
        error_message: Its message. Hostile text, bounded.
        log: What the job printed, bounded, undecodable bytes replaced. Hostile text, for display only.
        exit_code: Exit code, where it exited by itself.
        signal: Number of the signal that ended it, where that was not the sandbox's own.
        wall_seconds: Time from confinement to the end.
        cpu_seconds: Processor time of the child, as the kernel counted it.
    """

    status: Status
    reply: bytes | None = None
    message: str = ""
    error_type: str = ""
    error_message: str = ""
    log: str = ""
    exit_code: int | None = None
    signal: int | None = None
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
