"""``nki-grader evals``: how well the grader itself does."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import json_option, plain_option
from pipeline.cli.render import Screen, print_json
from pipeline.cli.suite_tables import print_table
from pipeline.cli.suites import find_module, list_suites, run_suite

__all__ = ["command"]


@click.group("evals", short_help="Grade the grader: how often it is wrong.")
def command() -> None:
    """Grade the grader itself: how often it fails what is right, and passes what is wrong."""


@command.command("correctness", short_help="False accepts and false rejects, with intervals.")
@click.option(
    "--reseeds",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    metavar="N",
    help="How many times inputs are drawn anew for each solution.",
)
@click.option(
    "--tasks",
    "task_ids",
    multiple=True,
    metavar="ID",
    help="Only this task; may be repeated.  [default: all]",
)
@click.option(
    "--root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder with one folder per task.  [default: those that ship with nki-grader]",
)
@click.option(
    "--every",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Try one of N mutants: for a quick look.",
)
@click.option("--markdown", is_flag=True, help="Print the table in Markdown, as the README has it.")
@json_option
@plain_option
def grade_grader(
    reseeds: int,
    task_ids: tuple[str, ...],
    root: Path | None,
    every: int,
    markdown: bool,
    as_json: bool,
    plain: bool,
) -> int:
    """Print the grader's own confusion table.

    Good solutions must never be rejected, on inputs drawn anew many times; bad ones, answers that take no
    work and the red team must never be accepted; mutants of good solutions must be caught unless they are
    equivalent. Progress goes to standard error. Exits with 3 if anything is accepted or rejected wrongly.
    """
    from pipeline.cli.session import unknown_task
    from pipeline.library.roots import tasks_root
    from pipeline.library.tasks import load_tasks

    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other")
    suite = find_module("evals.correctness.run")
    tasks = load_tasks(root or tasks_root())
    for task_id in task_ids:
        if task_id not in tasks:
            raise unknown_task(task_id, tasks)
    table = suite.measure(
        {task_id: tasks[task_id] for task_id in task_ids or tasks},
        reseeds=reseeds,
        every=every,
        red_team=not task_ids and root is None,
        on_progress=lambda line: click.echo(line, err=True),
    )
    if as_json:
        print_json(table.to_data())
    elif markdown:
        click.echo(table.to_markdown())
    else:
        screen = Screen(plain)
        print_table(screen, table)
        verdict = (
            "no false accept and no false reject" if table.holds else "false accepts or rejects: see above"
        )
        screen.line(verdict, style="green" if table.holds else "red")
    return ExitCode.OK if table.holds else ExitCode.DIFFERENT


command.add_command(run_suite)
command.add_command(list_suites)
