"""``nki-grader doctor``: what this machine offers, and what keeps grading from running here."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import click

from pipeline import __version__
from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, plain_option
from pipeline.cli.render import Screen, print_json, style_of
from pipeline.config import Settings

__all__ = ["command"]

#: Distributions whose versions shape results, with what they are for.
_PACKAGES = ("numpy", "ml_dtypes", "duckdb", "langgraph", "pydantic", "msgspec", "matplotlib")
#: Variable of each provider's key. Only whether it is set is ever read.
_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
#: Below this, a batch of a thousand submissions may not fit.
_ENOUGH_DISK = 1 << 30


@dataclass(frozen=True, slots=True)
class _Line:
    """One thing looked at; ``error`` means that grading cannot run."""

    what: str
    status: Literal["ok", "warning", "error"]
    detail: str


@click.command("doctor", short_help="Say what this machine offers, and what is missing.")
@database_option
@json_option
@plain_option
def command(database: Path, as_json: bool, plain: bool) -> int:
    """Say what this machine offers: versions, executor, sandbox levels, keys (set or not), database, disk.

    Exits with 1 if grading cannot run here, with the reason and the remedy in the line marked "error".
    """
    lines = list(_look_around(database))
    broken = any(line.status == "error" for line in lines)
    if as_json:
        print_json({"can_grade": not broken, "checks": [asdict(line) for line in lines]})
        return ExitCode.FAULT if broken else ExitCode.OK
    screen = Screen(plain)
    screen.table(["", "status", "found"], [[line.what, style_of(line.status), line.detail] for line in lines])
    screen.line("Grading cannot run here." if broken else "Grading can run here.", style="bold")
    return ExitCode.FAULT if broken else ExitCode.OK


def _look_around(database: Path) -> Iterator[_Line]:
    yield _Line("nki-grader", "ok", __version__)
    yield _Line("python", "ok", f"{platform.python_version()}, {platform.platform()}")
    yield from _look_at_packages()
    yield from _look_at_library()
    yield from _look_at_executors()
    yield from _look_at_sandboxes()
    for provider, variable in _KEYS.items():
        yield _Line(
            f"key: {provider}", "ok", f"{variable} is {'set' if os.environ.get(variable) else 'not set'}"
        )
    yield from _look_at_database(database)
    yield _Line("cores", "ok", str(Settings().workers))


def _look_at_packages() -> Iterator[_Line]:
    from importlib.metadata import PackageNotFoundError, version

    for name in _PACKAGES:
        try:
            yield _Line(name, "ok", version(name))
        except PackageNotFoundError:
            yield _Line(name, "error", "not installed (install nki-grader again)")


def _look_at_library() -> Iterator[_Line]:
    from pipeline.library.errors import LibraryError
    from pipeline.library.prompts import load_prompt
    from pipeline.library.roots import tasks_root
    from pipeline.library.rubrics import list_rubrics, load_rubric
    from pipeline.library.tasks import load_tasks

    try:
        tasks = load_tasks(tasks_root())
        rubrics = [load_rubric(name) for name in list_rubrics()]
        prompt = load_prompt()
        yield _Line("tasks", "ok", ", ".join(tasks) or "none")
        yield _Line("rubrics", "ok", ", ".join(f"{rubric.id} {rubric.version}" for rubric in rubrics))
        yield _Line("prompts", "ok", f"{prompt.id} {prompt.version}")
    except LibraryError as error:
        yield _Line("library", "error", str(error))


def _look_at_executors() -> Iterator[_Line]:
    from importlib.metadata import PackageNotFoundError, version

    from pipeline.emulator.targets import TARGETS

    yield _Line(
        "executor", "ok", f"emulator: {', '.join(TARGETS)}; values are emulated, times are not measured"
    )
    devices = sorted(Path("/dev").glob("neuron[0-9]*"))
    found = f"{len(devices)} Neuron devices" if devices else "no Neuron device"
    try:
        compiler = f"neuronx-cc {version('neuronx-cc')}"
    except PackageNotFoundError:
        compiler = "neuronx-cc not installed"
    yield _Line("trainium", "ok", f"{found}, {compiler}; this release grades on the emulator only")


def _look_at_sandboxes() -> Iterator[_Line]:
    from pipeline.execute.sandbox import Level, probe_levels

    probes = probe_levels()
    for probe in probes:
        reason = "available" if probe.available else probe.reason
        yield _Line(f"sandbox: {probe.level}", "ok" if probe.available else "warning", reason)
    usable = [probe.level for probe in probes if probe.available]
    contained = [level for level in usable if level.contained]
    if contained:
        yield _Line("isolation", "ok", f"submissions run under {contained[0]}")
    elif Level.LIMITS in usable:
        yield _Line(
            "isolation",
            "error",
            "only plain limits: grading needs --allow-unsandboxed, and a person decides all",
        )
    else:
        yield _Line("isolation", "error", "no way to run a submission")


def _look_at_database(database: Path) -> Iterator[_Line]:
    folder = database.resolve().parent
    if not folder.is_dir():
        yield _Line("database", "error", f"{folder} is no folder (make it, or give another path with --db)")
        return
    if os.access(folder, os.W_OK | os.X_OK):
        state = "exists" if database.exists() else "will be created"
        yield _Line("database", "ok", f"{database} {state}; its folder can be written to")
    else:
        yield _Line("database", "error", f"{folder} may not be written to (give another path with --db)")
    free = shutil.disk_usage(folder).free
    enough = free >= _ENOUGH_DISK
    yield _Line("disk", "ok" if enough else "warning", f"{free / 1e9:.1f} GB free in {folder}")
