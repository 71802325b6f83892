"""The confined process that forks a child per job. Runs no code of a submission and sees none of its data."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import socket
import time
from pathlib import Path
from typing import Final, NoReturn

from pipeline.execute.sandbox import kernel, landlock
from pipeline.execute.sandbox.job import run_job
from pipeline.execute.sandbox.namespaces import NOBODY, enter_namespaces
from pipeline.execute.sandbox.outcome import Level
from pipeline.execute.sandbox.wire import Ending, Order, Spec

__all__ = ["main"]

_PACKET_BYTES: Final = 1 << 16
_DESCRIPTORS: Final = 256


def main(spec: Spec) -> NoReturn:
    """Confine this process as `spec` says, import what jobs need, serve orders until the socket closes."""
    # A grader with many files open hands over a high number, which jobs would not close.
    inherited, spec["control"] = spec["control"], os.dup(spec["control"])
    os.close(inherited)
    control = socket.socket(fileno=spec["control"])
    try:
        ruleset = _set_up(spec)
    except Exception as error:
        # Whatever it is, the grader reports it as the machine's fault.
        with contextlib.suppress(OSError):
            control.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)
    # Nothing is left to say but over the socket.
    os.dup2(0, 2)
    control.send(b"{}")
    _serve(control, ruleset, Level(spec["level"]))


def _set_up(spec: Spec) -> int | None:
    """Return the Landlock ruleset for jobs, or None where they get none."""
    level = Level(spec["level"])
    os.umask(0o022)
    # Jobs close every descriptor up to this one.
    resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
    if level is Level.NAMESPACES:
        enter_namespaces(spec)
    os.chdir("/")
    _give_up_privileges([*spec["readable"], *spec["import_paths"]])
    os.environ.clear()
    os.environ.update(spec["environment"])
    for name in spec["preload"]:
        importlib.import_module(name)
    ruleset = None
    abi = 0 if level is Level.LIMITS else landlock.probe_abi()
    if abi:
        ruleset = landlock.create_ruleset(abi, map(Path, spec["readable"]), map(Path, spec["hidden"]))
    elif level is Level.LANDLOCK:
        raise OSError("this kernel has no Landlock")
    # Children that never collect keep sharing the memory of what was imported.
    gc.collect()
    gc.freeze()
    return ruleset


def _give_up_privileges(paths: list[str]) -> None:
    """Become nobody, or a root without any power where nobody is unknown or cannot read the interpreter."""
    with contextlib.suppress(OSError):
        if os.geteuid() == 0 and _readable_by_nobody(paths):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
    kernel.drop_capabilities()
    kernel.forbid_new_privileges()
    kernel.set_undumpable()


def _readable_by_nobody(paths: list[str]) -> bool:
    try:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        return all(os.access(path, os.R_OK, effective_ids=True) for path in paths)
    finally:
        os.seteuid(0)
        os.setegid(0)


def _serve(control: socket.socket, ruleset: int | None, level: Level) -> NoReturn:
    while True:
        packet, descriptors, _, _ = socket.recv_fds(control, _PACKET_BYTES, 3)
        if not packet:
            os._exit(0)
        order: Order = json.loads(packet)
        order["zygote"] = os.getpid()
        error, child = "", 0
        try:
            child = os.fork()
        except OSError as refusal:
            error = f"no process for the job: {refusal}"
        if child == 0 and not error:
            run_job(order, descriptors, ruleset, level)
        for descriptor in descriptors:
            os.close(descriptor)
        request = control.recv(_PACKET_BYTES)
        patience = json.loads(request)["patience"] if request else 0.0
        ending = _end(child, patience) if child else _no_child(error)
        if not request:
            os._exit(0)
        control.send(json.dumps(ending).encode())


def _no_child(error: str) -> Ending:
    return {"error": error, "status": 0, "killed": False, "cpu_seconds": 0.0}


def _end(child: int, patience: float) -> Ending:
    """Wait up to `patience` seconds for `child`, then kill it."""
    deadline = time.monotonic() + patience
    sent = False
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid == 0 and time.monotonic() >= deadline:
            os.kill(child, signal.SIGKILL)
            sent = True
            pid, status, usage = os.wait4(child, 0)
        if pid:
            # A process that was on its way out keeps the status it had.
            killed = sent and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            seconds = usage.ru_utime + usage.ru_stime
            return {"error": "", "status": status, "killed": killed, "cpu_seconds": seconds}
        time.sleep(0.0005)
