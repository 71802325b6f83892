"""Starting other processes on a database."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@contextmanager
def started(action: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run an action of `tests.store.worker`; it is killed at the end at the latest."""
    command = [sys.executable, "-m", "tests.store.worker", action, str(path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next thing that it says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the other process ended without a word"
    said: dict[str, Any] = json.loads(line)
    return said


def everything_heard(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Return all that it says until it ends; a line it could not finish is left out."""
    assert process.stdout is not None
    lines = process.stdout.read().split("\n")
    process.wait()
    return [json.loads(line) for line in lines[:-1]]


def tell(process: subprocess.Popen[str]) -> None:
    """Let it go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
