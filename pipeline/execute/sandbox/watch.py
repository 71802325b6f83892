"""The grader's end of one job's pipes: read everything, keep what is allowed, stop at the first excess."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import time
from dataclasses import dataclass, field
from typing import Final

from pipeline.execute.sandbox.outcome import Limits, Status
from pipeline.execute.sandbox.wire import FRAME, MAGIC, READY, Kind

__all__ = ["BoundedLog", "Watch"]

_CHUNK_BYTES: Final = 1 << 20
_PIPE_BYTES: Final = 1 << 20
_ERROR_BYTES: Final = 1 << 15
_FLOOD_BYTES: Final = 64 << 20
_SET_UP_SECONDS: Final = 30.0


class BoundedLog:
    """Keeps the first and the last half of at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._head_bytes = limit // 2
        self._tail_bytes = limit - self._head_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def append(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        del self._tail[: -self._tail_bytes]

    def text(self) -> str:
        """Return what was kept; a line says how many bytes are missing, if any."""
        missing = self.total - len(self._head) - len(self._tail)
        gap = f"\n[... {missing} bytes not kept ...]\n".encode() if missing else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode(errors="replace")


@dataclass
class Watch:
    """Reads the reply and log pipes of one job until it replied, failed, ended or went too far.

    Attributes:
        ready: Whether the child was confined and ran the job.
        kind: Kind of the frame that arrived whole, if one did.
        status: What stopped the job, if it was stopped from here.
        message: One line on that.
        wall_seconds: From confinement until then.
    """

    reply: int
    log: int
    limits: Limits
    ready: bool = False
    kind: Kind | None = None
    status: Status | None = None
    message: str = ""
    wall_seconds: float = 0.0
    _received: bytearray = field(default_factory=bytearray)
    _expected: tuple[Kind, int] | None = None
    _started: float = field(default_factory=time.monotonic)
    _text: BoundedLog = field(init=False)
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        os.set_blocking(self.reply, False)
        with contextlib.suppress(OSError):
            # Users have a quota of pipe memory; a smaller pipe is only slower.
            fcntl.fcntl(self.reply, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(self.log, False)
        self._text = BoundedLog(self.limits.log_bytes)
        self._deadline = self._started + _SET_UP_SECONDS

    def body(self) -> bytes:
        """Return the body of the frame, or whatever came instead of one."""
        return bytes(self._received)

    def log_text(self) -> str:
        """Return what the job printed, bounded; call after its end to miss nothing."""
        while self._read_log():
            pass
        return self._text.text()

    def wait(self) -> None:
        """Read until there is nothing more to wait for."""
        self._read_all()
        self.wall_seconds = time.monotonic() - self._started

    def _read_all(self) -> None:
        poll = select.poll()
        poll.register(self.reply, select.POLLIN)
        poll.register(self.log, select.POLLIN)
        while self.kind is None and self.status is None:
            remaining = self._deadline - time.monotonic()
            if remaining <= 0:
                self._stop(Status.TIMEOUT, f"ran longer than the {self.limits.wall_seconds:g} s of wall time")
                return
            for descriptor, _ in poll.poll(remaining * 1000 + 1):
                if descriptor == self.reply:
                    if not self._read_reply():
                        return
                elif not self._read_log():
                    poll.unregister(self.log)

    def _stop(self, status: Status, message: str) -> None:
        self.status, self.message = status, message

    def _read_reply(self) -> bool:
        """Take what is there; return False at the end of the pipe."""
        try:
            data = os.read(self.reply, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._received += data
        if not self.ready and self._received.startswith(READY):
            self.ready = True
            self._started = time.monotonic()
            self._deadline = self._started + self.limits.wall_seconds
            del self._received[:1]
        if self.ready and self._expected is None and len(self._received) >= FRAME.size:
            self._read_header()
        if self._expected is not None and len(self._received) >= self._expected[1]:
            self.kind, length = self._expected
            del self._received[length:]
        return bool(data)

    def _read_header(self) -> None:
        magic, kind, length = FRAME.unpack(self._received[: FRAME.size])
        if magic != MAGIC or kind not in set(Kind):
            self._stop(Status.FORGED, "wrote something else than a reply to its reply pipe")
            return
        allowed = self.limits.reply_bytes if kind == Kind.REPLY else _ERROR_BYTES
        if length > allowed:
            self._stop(Status.OVERSIZED, f"replied with {length} bytes, more than the {allowed} allowed")
            return
        self._expected = Kind(kind), length
        del self._received[: FRAME.size]

    def _read_log(self) -> bool:
        """Take what is there; return False when there is nothing now or for good."""
        try:
            data = os.read(self.log, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        self._text.append(data)
        if self._text.total > _FLOOD_BYTES and self.status is None:
            self._stop(Status.OVERSIZED, f"printed more than {_FLOOD_BYTES >> 20} MiB")
        return bool(data)
