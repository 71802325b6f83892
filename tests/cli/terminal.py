"""The command line in this process: what it printed, and its exit code."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.cli.main import main

TINY_TASKS = Path(__file__).parents[1] / "fixtures" / "tasks"
TINY_SOLUTIONS = TINY_TASKS / "tiny_add" / "solutions"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Standard output, read as JSON."""
        return json.loads(self.out)


def run(*arguments: str | Path) -> Ended:
    """Run ``nki-grader ARGUMENTS`` to its end."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
    return Ended(code, out.getvalue(), err.getvalue())
