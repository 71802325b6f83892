"""Run the command line as a user does: in a process of its own.

`run` and what stands on it fork that process from one that has everything imported; whoever has to see Python
itself start, or talks to the process while it runs, starts ``command(...)``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.e2e.zygote import Zygote

ROOT = Path(__file__).parents[2]
TINY_TASKS = ROOT / "tests" / "fixtures" / "tasks"
TINY_SOLUTIONS = TINY_TASKS / "tiny_add" / "solutions"


def environment() -> dict[str, str]:
    """Return a user's environment: no provider keys, one BLAS thread, and output buffered as is usual."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith("_API_KEY") and name != "PYTHONUNBUFFERED"
    }
    return kept | {"OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "200"}


def command(*arguments: str | Path) -> list[str]:
    """Return the argument vector of ``nki-grader ARGUMENTS``."""
    return [str(Path(sys.executable).with_name("nki-grader")), *map(str, arguments)]


@cache
def zygote() -> Zygote:
    """Return the zygote of this process; it starts when it is first asked for."""
    return Zygote(environment())


def run(
    *arguments: str | Path,
    timeout: float = 240,
    patch: str = "",
    plan: Mapping[str, Any] | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``nki-grader ARGUMENTS`` to its end.

    Args:
        arguments: What is typed after ``nki-grader``.
        timeout: Seconds until it is killed, wherever it is.
        patch: Function that is called in its process first, as ``module:function``; empty for none.
        plan: Keyword arguments of that function.
        variables: Added to the `environment`.

    Raises:
        TimeoutExpired: If it was killed because its time was up.
    """
    given = environment() | dict(variables or {})
    return zygote().run(list(map(str, arguments)), given, timeout=timeout, patch=patch, plan=plan)


def run_json(*arguments: str | Path) -> Any:
    """Run a command with ``--json`` and return what it printed."""
    completed = run(*arguments, "--json")
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def grade_tiny(db: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Grade the solutions of the tiny task into `db`."""
    return run("grade", TINY_SOLUTIONS, "--tasks", TINY_TASKS, "--db", db, *arguments)


def decide(db: Path, review_id: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Decide a review as the reviewer ada."""
    return run("review", "decide", review_id, "--db", db, "--reviewer", "ada", *arguments)


def copy_database(source: Path, target: Path) -> None:
    """Copy a database that nobody has open, with its journal."""
    shutil.copy(source, target)
    shutil.copy(f"{source}.journal.jsonl", f"{target}.journal.jsonl")
