"""``nki-grader tasks``: what can be graded, and whether grading tells good solutions from bad."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import grading_options, json_option, plain_option
from pipeline.cli.render import Cell, Screen, print_json, style_of

if TYPE_CHECKING:
    from pipeline.config import Settings
    from pipeline.store import GradingSummary
    from pipeline.types import Fault, Task

__all__ = ["command"]

#: What a finding of the audit says in JSON.
_FAULT_FIELDS = {"code", "message", "where", "remedy"}


@click.group("tasks", short_help="List tasks, or check that grading tells good solutions from bad.")
def command() -> None:
    """List tasks, or check that grading tells their good solutions from their bad ones."""


@command.command("list", short_help="List the tasks.")
@click.option(
    "--tasks",
    "root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder with one folder per task.  [default: those that ship with nki-grader]",
)
@json_option
@plain_option
def list_tasks(root: Path | None, as_json: bool, plain: bool) -> int:
    """List the tasks; a broken one is named with its fault and makes the exit code 2."""
    from pipeline.cli.errors import explain_failure
    from pipeline.library.roots import tasks_root
    from pipeline.library.tasks import TaskError, load_tasks

    broken: list[TaskError] = []
    tasks = load_tasks(root or tasks_root(), on_fault=broken.append)
    if as_json:
        print_json([_as_data(task) for task in tasks.values()])
    else:
        Screen(plain).table(
            ["task", "family", "rubric", "entry", "cases", "solutions", "title"],
            [
                [
                    task.id,
                    task.family.value,
                    task.rubric,
                    task.entry,
                    str(len(task.cases)),
                    str(len(task.solutions)),
                    task.title,
                ]
                for task in tasks.values()
            ],
        )
    for error in broken:
        explain_failure(error)
    return ExitCode.USAGE if broken else ExitCode.OK


@command.command("check", short_help="Audit a task, run its solutions and compare the verdicts.")
@click.argument("task_ids", nargs=-1, metavar="[ID]...")
@grading_options
@json_option
@plain_option
def check_tasks(task_ids: tuple[str, ...], as_json: bool, plain: bool, **grading: Any) -> int:
    """Load the tasks called ID (all by default), audit them, grade every solution, and compare the verdicts.

    The audit asks of a task what no submission can answer for it: that its reference is sound and repeats
    itself, that every input matters, that answers which take no work fail. Works in a database of its own
    that is deleted afterwards. Exits with 3 if the audit finds anything or a verdict is not the expected one.
    """
    from pipeline.cli.session import check_task, read_settings, unknown_task

    settings = read_settings(grading)
    tasks = check_task(settings, None)
    for task_id in task_ids:
        if task_id not in tasks:
            raise unknown_task(task_id, tasks)
    chosen = [tasks[task_id] for task_id in task_ids or tasks]
    gradings = _grade_solutions(chosen, settings)
    findings = _audit(chosen, settings)
    rows = [
        (task.id, solution.name, solution.expected.value, _say_verdict(gradings[task.id, solution.name]))
        for task in chosen
        for solution in task.solutions
    ]
    differing = [(task, name) for task, name, expected, got in rows if expected != got]
    if as_json:
        print_json(
            {
                "solutions": [
                    {
                        "task": task,
                        "solution": name,
                        "expected": expected,
                        "verdict": got,
                        "reason": gradings[task, name].reason,
                    }
                    for task, name, expected, got in rows
                ],
                "audit": [
                    {"task": task, **fault.model_dump(mode="json", include=_FAULT_FIELDS)}
                    for task, faults in findings.items()
                    for fault in faults
                ],
            }
        )
    else:
        _print_check(Screen(plain), rows, gradings, findings)
    return ExitCode.DIFFERENT if differing or any(findings.values()) else ExitCode.OK


def _print_check(
    screen: Screen,
    rows: list[tuple[str, str, str, str]],
    gradings: Mapping[tuple[str, str], GradingSummary],
    findings: Mapping[str, list[Fault]],
) -> None:
    screen.table(
        ["", "task", "solution", "expected", "verdict"],
        [[_mark(expected == got), task, name, expected, style_of(got)] for task, name, expected, got in rows],
    )
    differing = [(task, name) for task, name, expected, got in rows if expected != got]
    for task, name in differing:
        screen.line(f"{task}/{name}: {gradings[task, name].reason}", style="red")
    screen.line(
        f"{len(rows) - len(differing)} of {len(rows)} verdicts as expected",
        style="red" if differing else "green",
    )
    for faults in findings.values():
        for fault in faults:
            screen.line(f"audit: {fault}", style="red")
    sound = sum(not faults for faults in findings.values())
    screen.line(
        f"{sound} of {len(findings)} {'task passes' if len(findings) == 1 else 'tasks pass'} the audit",
        style="green" if sound == len(findings) else "red",
    )


def _audit(tasks: list[Task], settings: Settings) -> dict[str, list[Fault]]:
    """Return what the audit finds, by task."""
    from pipeline.compare.audit import audit_task
    from pipeline.execute.sandbox import Level, SandboxPool, choose_level
    from pipeline.library.roots import tasks_root

    root = settings.tasks or tasks_root()
    wanted = Level(settings.sandbox) if settings.sandbox is not None else None
    level = choose_level(wanted, allow_unsandboxed=settings.allow_unsandboxed)
    with SandboxPool(1, level, ("pipeline.execute.jobs.reference",)) as workers:
        return {
            task.id: [*audit_task(task, workers), *_check_levels(root / task.id, task, settings)]
            for task in tasks
        }


def _check_levels(folder: Path, task: Task, settings: Settings) -> list[Fault]:
    """Return what is wrong with the levels that the task's solutions were made to deserve."""
    from pipeline.library.errors import TaskError
    from pipeline.library.levels import check_levels
    from pipeline.library.rubrics import load_rubric

    version = settings.rubric_versions.get(task.rubric)
    try:
        check_levels(folder, task, load_rubric(task.rubric, version, root=settings.rubrics))
    except TaskError as error:
        return [error.fault]
    return []


def _grade_solutions(tasks: list[Task], settings: Settings) -> Mapping[tuple[str, str], GradingSummary]:
    """Return the grading of every solution by task and file name."""
    import tempfile

    from pipeline.errors import GraderError
    from pipeline.graph.batch import grade_batch
    from pipeline.graph.services import open_services
    from pipeline.library.submissions import Received, admit_code
    from pipeline.store import open_store

    identities: dict[tuple[str, str], str] = {}
    items: list[Received] = []
    for task in tasks:
        for solution in task.solutions:
            submission = admit_code(task, solution.code.encode())
            items.append(Received(origin=f"{task.id}/{solution.name}", submission=submission))
            identities[task.id, solution.name] = submission.id
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(Path(folder, "check.duckdb")) as store,
        open_services(store, settings) as services,
    ):
        outcome = grade_batch(items, services)
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.stopped is not None:
            raise GraderError(outcome.stopped)
        rows = store.list_gradings(outcome.batch_id)
    graded = {row.submission_id: row for row in rows}
    return {name: graded[identity] for name, identity in identities.items()}


def _say_verdict(row: GradingSummary) -> str:
    return row.verdict.value if row.verdict is not None else "not graded"


def _mark(good: bool) -> Cell:
    return Cell("✓", "green") if good else Cell("✗", "bold red")


def _as_data(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "family": task.family.value,
        "rubric": task.rubric,
        "entry": task.entry,
        "targets": list(task.targets),
        "toolchain": list(task.toolchain),
        "cases": len(task.cases),
        "solutions": {solution.name: solution.expected.value for solution in task.solutions},
    }
