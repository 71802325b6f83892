"""Zygotes start when needed, die with their grader, and take their jobs with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pipeline.execute.sandbox import Limits, Sandbox, SandboxError, SandboxPool, Status
from pipeline.types import Owner

ATTACKS = Path(__file__).parent / "attacks"
REPOSITORY = Path(__file__).parents[3]


def descendants(pid: int) -> set[int]:
    """Processes below `pid`, however deep."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name in parentheses may hold spaces; the parent is the second field after it.
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition) -> bool:
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def fresh(level):
    with Sandbox(level, ("attacks",), import_paths=(ATTACKS,)) as sandbox:
        yield sandbox


def reverse(sandbox: Sandbox | SandboxPool) -> bytes | None:
    return sandbox.run("attacks:reverse", b"abc", Limits()).reply


def test_nothing_starts_before_the_first_job(level):
    before = descendants(os.getpid())
    with Sandbox(level):
        assert descendants(os.getpid()) == before


def test_close_leaves_no_process_and_no_descriptor(level):
    processes, descriptors = descendants(os.getpid()), len(list(Path("/proc/self/fd").iterdir()))
    with Sandbox(level, ("attacks",), import_paths=(ATTACKS,)) as sandbox:
        reverse(sandbox)
        sandbox.run("attacks:sleep", b"", Limits(wall_seconds=0.1))
    assert descendants(os.getpid()) == processes
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_jobs_of_a_grader_with_many_open_files_inherit_none_of_them(level):
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(600)]
    try:
        with Sandbox(level, ("attacks",), import_paths=(ATTACKS,)) as sandbox:
            seen = json.loads(sandbox.run("attacks:describe", b"[]", Limits()).reply)
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert seen["fds"] == [0, 1, 2, 3]


def test_dead_zygote_is_replaced(fresh):
    before = descendants(os.getpid())
    assert reverse(fresh) == b"cba"
    for pid in descendants(os.getpid()) - before:
        os.kill(pid, signal.SIGKILL)
    assert reverse(fresh) == b"cba"


def test_closed_sandbox_refuses(fresh):
    fresh.close()
    with pytest.raises(SandboxError, match="closed") as caught:
        reverse(fresh)
    assert caught.value.fault.owner is Owner.ENVIRONMENT


def test_close_from_another_thread_ends_a_running_job(fresh):
    others = descendants(os.getpid())
    reverse(fresh)
    before = descendants(os.getpid())
    caught: list[BaseException] = []

    def run():
        try:
            fresh.run("attacks:sleep", b"", Limits(wall_seconds=600))
        except SandboxError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert wait_until(lambda: descendants(os.getpid()) - before)
    fresh.close()
    thread.join()
    assert [str(error) for error in caught] == ["sandbox: the sandbox is closed"]
    assert descendants(os.getpid()) == others


def test_preload_that_cannot_be_imported_is_told_by_name(level):
    with (
        Sandbox(level, ("no_such_module",)) as sandbox,
        pytest.raises(SandboxError, match="No module named 'no_such_module'"),
    ):
        reverse(sandbox)


def test_unknown_job_is_our_fault_not_the_jobs(fresh):
    with pytest.raises(SandboxError, match="no_such_job"):
        fresh.run("attacks:no_such_job", b"", Limits())
    assert reverse(fresh) == b"cba"


def test_pool_runs_jobs_at_the_same_time(level):
    with SandboxPool(2, level, ("attacks",), import_paths=(ATTACKS,)) as pool:
        replies: list[bytes | None] = []
        # Each loan is held until both have one: with a single sandbox this would never meet.
        meeting = threading.Barrier(2)

        def run():
            with pool.acquire() as sandbox:
                meeting.wait(timeout=60)
                replies.append(reverse(sandbox))

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert replies == [b"cba", b"cba"]


def test_misbehaving_job_does_not_touch_its_neighbours(level):
    with SandboxPool(2, level, ("attacks",), import_paths=(ATTACKS,)) as pool:
        outcomes = {}

        def run(name):
            outcomes[name] = [pool.run(f"attacks:{name}", b"abc", Limits(wall_seconds=60)) for _ in range(5)]

        threads = [threading.Thread(target=run, args=(name,)) for name in ("abort", "fork_bomb", "reverse")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {outcome.reply for outcome in outcomes["reverse"]} == {b"cba"}
    assert {outcome.status for outcome in outcomes["abort"]} == {Status.CRASHED}
    assert {outcome.reply for outcome in outcomes["fork_bomb"]} == {b"0"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_survives_the_grader(level, number):
    script = (
        "from pathlib import Path; from pipeline.execute.sandbox import *; "
        f"Sandbox(Level('{level}'), ('attacks',), import_paths=(Path({str(ATTACKS)!r}),))"
        ".run('attacks:ignore_every_signal', b'', Limits(wall_seconds=600, cpu_seconds=600))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path[1:]])}
    grader = subprocess.Popen(
        [sys.executable, "-c", script], env=environment, cwd=REPOSITORY, stderr=subprocess.DEVNULL
    )
    # The grader's zygote and its job at least; bubblewrap and namespaces add a process outside.
    expected = 2 if level in ("landlock", "limits") else 3
    assert wait_until(lambda: len(descendants(grader.pid)) >= expected)
    below = descendants(grader.pid)
    grader.send_signal(number)
    grader.wait()
    assert wait_until(lambda: not any(alive(pid) for pid in below))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can read another process's memory")
def test_the_zygote_never_holds_what_its_jobs_hold(level):
    marker = os.urandom(32)
    before = descendants(os.getpid())
    with Sandbox(level, ("attacks",), import_paths=(ATTACKS,)) as sandbox:
        payload = marker * 1000
        assert sandbox.run("attacks:reverse", payload, Limits()).reply == payload[::-1]
        for pid in descendants(os.getpid()) - before:
            assert not holds(pid, marker)
            assert not holds(pid, marker[::-1])


def holds(pid: int, marker: bytes) -> bool:
    with Path(f"/proc/{pid}/mem").open("rb") as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, mode, *_ = line.split()
            if not mode.startswith("rw"):
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            memory.seek(start)
            if marker in memory.read(end - start):
                return True
    return False
