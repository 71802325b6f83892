"""What every test needs."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

#: Gives the folder of a name, filled by whichever worker comes first.
ShareFolder = Callable[[str, Callable[[Path], None]], Path]

# A shell starts background jobs with Ctrl-C ignored, and their children inherit that. Tests that send it to a
# process of theirs need it to arrive, however this one was started.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Tests compare results over runs, processes and databases: all of them draw the same inputs.
os.environ.setdefault("NKI_GRADER_BATTERY_SEED", "0123456789abcdef0123456789abcdef")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more worker than there are cores: tests often wait, for a process, a server or a time to pass."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_finish() -> None:
    """What is collected stays to the end: no collection of garbage needs to look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def share_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> ShareFolder:
    """Fill a folder once per run, not once per worker; tests read it or copy from it."""
    base = tmp_path_factory.getbasetemp()
    root = (base if worker_id == "master" else base.parent) / "shared"

    def share(name: str, fill: Callable[[Path], None]) -> Path:
        folder, ready = root / name, root / f"{name}.ready"
        folder.mkdir(parents=True, exist_ok=True)
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not ready.exists():
                fill(folder)
                ready.touch()
        return folder

    return share


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without rows: copying one is quicker than making one."""
    from pipeline.store import open_store

    path = tmp_path_factory.mktemp("empty") / "grades.duckdb"
    with open_store(path):
        pass
    return path


@pytest.fixture(scope="session")
def shipped(share_folder: ShareFolder) -> Path:
    """A folder: ``grades.duckdb``, ``report.html`` and ``output.txt`` of grading all shipped solutions."""
    return share_folder("shipped", _grade_shipped)


def _grade_shipped(folder: Path) -> None:
    from pipeline.library.roots import tasks_root
    from tests.e2e.commands import run

    solutions = sorted(tasks_root().glob("*/solutions"))
    written = ("--db", folder / "grades.duckdb", "--report", folder / "report.html")
    ended = run("grade", *solutions, *written, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (folder / "output.txt").write_text(ended.stdout)
