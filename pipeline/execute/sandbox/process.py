"""A running zygote: start it, hand it jobs, make sure that nothing of it remains."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from pipeline.execute.sandbox.command import compose_command
from pipeline.execute.sandbox.errors import SandboxError
from pipeline.execute.sandbox.outcome import Level, Limits, Outcome, Status
from pipeline.execute.sandbox.view import View
from pipeline.execute.sandbox.watch import Watch
from pipeline.execute.sandbox.wire import Ending, Kind, Order

__all__ = ["Zygote", "ZygoteEnded"]

_PACKET_BYTES: Final = 1 << 16
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 2.0
# After its reply a child has only to exit; after the end of its pipe its exit code matters.
_EXIT_SECONDS: Final = 0.25
_SILENT_EXIT_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 15.0
_CREDENTIALS: Final = struct.Struct("3i")
_BASE_ADDRESS_SPACE: Final = 1 << 30


class ZygoteEnded(Exception):
    """The zygote is gone; a new one may do better."""


class Zygote:
    """A confined process that forks one child per job."""

    def __init__(self, level: Level, view: View, preload: tuple[str, ...]) -> None:
        """Start it and wait until it is confined and has imported `preload`.

        Raises:
            SandboxError: If that fails; the message says why.
        """
        self._level = level
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The kernel translates the sender's process number into ours, whatever namespace it lives in.
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._control.settimeout(_START_SECONDS)
        self._pidfd: int | None = None
        self._errors = os.memfd_create("zygote-errors")
        try:
            with theirs:
                self._process = subprocess.Popen(
                    compose_command(level, view, preload, theirs.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._errors,
                    env=view.environment,
                    cwd="/",
                    pass_fds=(theirs.fileno(),),
                    # Ctrl-C at the terminal is for the grader; it ends its zygotes itself.
                    start_new_session=True,
                )
        except BaseException:
            self._control.close()
            os.close(self._errors)
            raise
        try:
            self._address_space = self._greet()
        except BaseException:
            self.stop()
            raise

    def _greet(self) -> int:
        """Wait until it is ready; return the address space it takes, in bytes."""
        try:
            packet, ancillary, _, _ = self._control.recvmsg(
                _PACKET_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size)
            )
        except TimeoutError:
            raise self._failure(f"not ready after {_START_SECONDS:g} s") from None
        if not packet:
            self._process.wait(_STOP_SECONDS)
            printed = os.pread(self._errors, _PACKET_BYTES, 0).decode(errors="replace").strip()
            raise self._failure(printed.splitlines()[-1] if printed else "it ended without a word")
        message = json.loads(packet)
        if "error" in message:
            raise self._failure(message["error"])
        pid = next(
            _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
            for layer, kind, data in ancillary
            if (layer, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        )
        self._pidfd = os.pidfd_open(pid)
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        except OSError:
            return _BASE_ADDRESS_SPACE
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _failure(self, reason: str) -> SandboxError:
        return SandboxError(
            f"the {self._level} sandbox does not start: {reason}",
            "nki-grader doctor says which levels work here",
        )

    def run(self, job: str, payload: bytes, limits: Limits) -> Outcome:
        """Run one job; see `Sandbox.run`.

        Raises:
            ZygoteEnded: If the zygote is gone; the job may have run.
            SandboxError: If the child could not be confined.
        """
        order: Order = {
            "job": job,
            "cpu_seconds": limits.cpu_seconds,
            "address_space": self._address_space + limits.memory_bytes,
            "open_files": limits.open_files,
        }
        with ExitStack() as stack:
            reply, log = self._send(order, payload, stack)
            watch = Watch(reply, log, limits)
            watch.wait()
            patience = _SILENT_EXIT_SECONDS if watch.kind is None else _EXIT_SECONDS
            ending = self._end(0.0 if watch.status else patience)
            return self._conclude(watch, ending, limits)

    def _send(self, order: Order, payload: bytes, stack: ExitStack) -> tuple[int, int]:
        """Hand over a job; return the descriptors to read its reply and its log from."""
        with ExitStack() as given:
            # A file in memory, not a pipe: nobody has to feed it, and the zygote never holds the data.
            file = os.memfd_create("payload")
            given.callback(os.close, file)
            rest = memoryview(payload)
            while rest:
                rest = rest[os.write(file, rest) :]
            ours, theirs = [], [file]
            for _ in range(2):
                reading, writing = os.pipe()
                stack.callback(os.close, reading)
                given.callback(os.close, writing)
                ours.append(reading)
                theirs.append(writing)
            try:
                socket.send_fds(self._control, [json.dumps(order).encode()], theirs)
            except OSError:
                raise ZygoteEnded from None
        return ours[0], ours[1]

    def _end(self, patience: float) -> Ending:
        """Have the child waited for, or killed, and return how it ended."""
        self._control.settimeout(_ANSWER_SECONDS + patience)
        try:
            self._control.send(json.dumps({"patience": patience}).encode())
            packet = self._control.recv(_PACKET_BYTES)
        except OSError:
            raise ZygoteEnded from None
        if not packet:
            raise ZygoteEnded
        ending: Ending = json.loads(packet)
        return ending

    def _conclude(self, watch: Watch, ending: Ending, limits: Limits) -> Outcome:
        if not watch.ready:
            reason = ending["error"] or watch.body()[1:].decode(errors="replace") or "the child died"
            raise SandboxError(f"the {self._level} sandbox could not confine a job: {reason}")
        ended = os.waitstatus_to_exitcode(ending["status"])
        code = ended if ended >= 0 and not ending["killed"] else None
        killer = -ended if ended < 0 and not ending["killed"] else None
        status, message, reply, error_type, error_message = watch.status, watch.message, None, "", ""
        if watch.kind is Kind.REPLY:
            status, reply = Status.OK, watch.body()
        elif watch.kind is Kind.MEMORY:
            status, message = Status.MEMORY, f"needs more than {limits.memory_bytes >> 20} MiB of memory"
        elif watch.kind is Kind.ERROR:
            status = Status.FAILED
            error_type, _, error_message = watch.body().decode(errors="replace").partition("\n")
            message = f"raised {error_type}"
        elif status is None and killer is not None:
            # Limits count clock ticks and usage does not; but no thread outruns the wall clock.
            used_up = watch.wall_seconds >= limits.cpu_seconds
            if killer == signal.SIGXCPU or (killer == signal.SIGKILL and used_up):
                status, message = Status.TIMEOUT, f"used more than {limits.cpu_seconds} s of processor time"
            else:
                status, message = Status.CRASHED, f"was ended by {_name_signal(killer)}"
        elif status is None and code is None:
            status, message = Status.SILENT, "closed its reply pipe and went on running"
        elif status is None:
            status, message = Status.SILENT, f"exited with code {code} without a reply"
        return Outcome(
            status=status or Status.SILENT,
            reply=reply,
            message=message,
            error_type=error_type,
            error_message=error_message,
            log=watch.log_text(),
            exit_code=code,
            signal=killer,
            wall_seconds=watch.wall_seconds,
            cpu_seconds=ending["cpu_seconds"],
        )

    def kill(self) -> None:
        """End it at once, from any thread; `stop` is still needed."""
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def stop(self) -> None:
        """End it, its job and whatever started it, and wait for them."""
        # A zygote that finds its socket closed kills its job, then itself.
        self._control.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.kill()
            self._process.wait()
        pidfd, self._pidfd = self._pidfd, None
        if pidfd is not None:
            os.close(pidfd)
        os.close(self._errors)


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
