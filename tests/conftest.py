"""What every test needs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

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


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without rows: copying one is quicker than making one."""
    from pipeline.store import open_store

    path = tmp_path_factory.mktemp("empty") / "grades.duckdb"
    with open_store(path):
        pass
    return path
