"""One process that has imported everything, and forks a child for every command line it is given.

    python -m tests.e2e.zygote

reads one `Order` per line of standard input, as JSON, and writes its `Ending` as one line. A child is what
``nki-grader ARGUMENTS`` becomes when Python has imported what it needs. That takes seconds, here once.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

from pipeline.execute.sandbox import SandboxError, choose_level

ROOT = Path(__file__).parents[2]
#: What commands import, most of it when they run. None of it may start a thread, which forks would not have.
MODULES = (
    "anthropic",
    "matplotlib.backends.backend_svg",
    "openai.resources.chat",
    "openai.resources.responses",
    *(
        f"pipeline.cli.{name}"
        for name in ("costs", "doctor", "emulate", "feedback", "grade", "lookup", "main")
    ),
    *(f"pipeline.cli.{name}" for name in ("rehearsal", "report", "review", "session", "show", "tasks")),
    "pipeline.graph.batch",
    "pipeline.graph.rehearsal",
    "pipeline.judge.batches",
    "pipeline.judge.language",
    "pipeline.judge.providers.anthropic_batches",
    "pipeline.judge.providers.compatible",
    "pipeline.judge.providers.openai_batches",
    "pipeline.report.author",
    "pipeline.report.render",
    "pipeline.store.local",
    "pygments.styles.default",
)


class Order(TypedDict):
    """A command line to run.

    Attributes:
        arguments: Of ``nki-grader``.
        program: What the child was called by.
        environment: All of its environment.
        folder: Its working directory.
        output: File that its standard output is added to.
        errors: The same of standard error.
        patch: Function that is called first, as ``module:function``; empty for none.
        plan: Keyword arguments of that function.
        timeout: Seconds until it is killed, wherever it is.
    """

    arguments: list[str]
    program: str
    environment: dict[str, str]
    folder: str
    output: str
    errors: str
    patch: str
    plan: dict[str, Any]
    timeout: float


class Ending(TypedDict):
    """How a child ended.

    Attributes:
        code: Its exit code, or minus the number of the signal that ended it.
        late: Whether it was killed because its time was up.
    """

    code: int
    late: bool


class Zygote:
    """Runs command lines in forks of a process that waits for them."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.zygote"],
            env=environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self._process.communicate)

    def run(
        self,
        arguments: list[str],
        environment: Mapping[str, str],
        *,
        timeout: float,
        patch: str = "",
        plan: Mapping[str, Any] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``nki-grader ARGUMENTS`` to its end; see `Order`.

        Raises:
            TimeoutExpired: If it was killed because its time was up.
        """
        with tempfile.TemporaryDirectory() as folder:
            output, errors = Path(folder, "output"), Path(folder, "errors")
            # A child that is killed at once has not come to making them.
            output.touch()
            errors.touch()
            order: Order = {
                "arguments": arguments,
                "program": str(Path(sys.executable).with_name("nki-grader")),
                "environment": dict(environment),
                "folder": str(Path.cwd()),
                "output": str(output),
                "errors": str(errors),
                "patch": patch,
                "plan": dict(plan or {}),
                "timeout": timeout,
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            ending: Ending = json.loads(self._process.stdout.readline())
            if ending["late"]:
                raise subprocess.TimeoutExpired(arguments, timeout, output.read_text(), errors.read_text())
            return subprocess.CompletedProcess(
                arguments, ending["code"], output.read_text(), errors.read_text()
            )


def preload() -> None:
    for name in MODULES:
        importlib.import_module(name)
    # Asked once per process; forks have the answer.
    with suppress(SandboxError):
        choose_level()
    threads = list(Path("/proc/self/task").iterdir())
    assert len(threads) == 1, "something that was imported runs a thread"
    # Children that never collect keep sharing the memory of what was imported.
    gc.collect()
    gc.freeze()


def become(order: Order) -> None:
    """Turn a fresh fork into the process that the order asks for."""
    for stream, path in ((1, order["output"]), (2, order["errors"])):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, stream)
        os.close(opened)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = [order["program"], *order["arguments"]]
    if order["patch"]:
        module, _, function = order["patch"].partition(":")
        getattr(importlib.import_module(module), function)(**order["plan"])
    from pipeline.cli.main import main as run

    run()


def main() -> None:
    preload()
    while line := sys.stdin.readline():
        order: Order = json.loads(line)
        # Ends as a program does, its threads joined and its streams flushed, but takes nothing apart.
        child = multiprocessing.get_context("fork").Process(target=become, args=(order,))
        child.start()
        child.join(order["timeout"])
        late = child.is_alive()
        if late:
            child.kill()
            child.join()
        ending: Ending = {"code": child.exitcode or 0, "late": late}
        print(json.dumps(ending), flush=True)


if __name__ == "__main__":
    main()
