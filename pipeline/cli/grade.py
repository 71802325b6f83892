"""``nki-grader grade``: submissions in; grades, a queue for people and a report out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, grading_options, json_option, plain_option
from pipeline.cli.render import (
    ID_LENGTH,
    Cell,
    Screen,
    name_submissions,
    print_json,
    say_command,
    shorten,
    show_overall,
    style_of,
)

if TYPE_CHECKING:
    from pipeline.config import Settings
    from pipeline.graph.batch import BatchOutcome, Progress
    from pipeline.judge.calls.caller import Caller
    from pipeline.library.submissions import Received
    from pipeline.store import GradingSummary, Store
    from pipeline.types import Rejection, Verdict

__all__ = ["command"]


@click.command("grade", short_help="Grade submissions: files, folders or JSONL.")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path, exists=True)
)
@database_option
@click.option(
    "--task", "task_id", metavar="ID", help="Task of every submission.  [default: told by its place]"
)
@click.option(
    "--author",
    default="",
    metavar="NAME",
    help="Model or person that wrote what names no author itself.  [default: told by its folder or file]",
)
@grading_options
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write the HTML report.  [default: beside the database]",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Stop before the judge: show what would be sent to whom, and what it may cost. Nothing is sent.",
)
@click.option(
    "--count-tokens",
    is_flag=True,
    help="With --dry-run: let providers count the tokens. It costs nothing, but they get the text.",
)
@json_option
@plain_option
def command(
    paths: tuple[Path, ...],
    database: Path,
    task_id: str | None,
    author: str,
    report_path: Path | None,
    dry_run: bool,
    count_tokens: bool,
    as_json: bool,
    plain: bool,
    **grading: Any,
) -> int:
    """Grade the submissions at PATH: .py files, folders of them, or .jsonl files.

    A submission's task is the one given by --task, the "task" of its JSONL row, or the folder it lies in
    (TASK/... or TASK/solutions/...). What was graded before under the same task, rubric, judge and
    tool versions is not graded again, so the same command goes on where an interrupted one stopped.

    \b
    Example:
      nki-grader grade submissions/ --task matmul_tiled --db night.duckdb
    """
    from pipeline.cli.lookup import echo_notices
    from pipeline.cli.session import check_task, read_settings
    from pipeline.graph.batch import grade_batch
    from pipeline.graph.services import open_services
    from pipeline.library.submissions import admit_author, collect
    from pipeline.report.output import check_output_path
    from pipeline.report.render import report_path_for, write_report
    from pipeline.store import open_store

    if count_tokens and not dry_run:
        raise click.UsageError("--count-tokens goes with --dry-run: a real run pays for what it really takes")
    settings = read_settings(grading, sending=count_tokens or not dry_run)
    tasks = check_task(settings, task_id)
    author = admit_author(author, where="--author")
    if dry_run:
        from pipeline.cli.rehearsal import show_rehearsal

        with open_store(database) as store, _progress_bar(quiet=as_json) as on_progress:
            echo_notices(store)
            items = collect(paths, tasks, task_id, author)
            return show_rehearsal(
                items,
                store,
                settings,
                Screen(plain),
                as_json=as_json,
                count=count_tokens,
                on_progress=on_progress,
            )
    report_path = report_path or report_path_for(database)
    check_output_path(report_path)
    if settings.fresh:
        # Said first: a run that is killed says nothing any more.
        click.echo(f"note: asking anew; --fresh {settings.fresh} goes on with this run", err=True)
    with open_store(database) as store:
        echo_notices(store)
        caller = _ask_in_batches(settings, store) if settings.provider_batches else None
        with open_services(store, settings, caller=caller) as services:
            expected: dict[str, Verdict] = {}
            items = _note_expected(collect(paths, tasks, task_id, author), expected)
            with _progress_bar(quiet=as_json) as on_progress:
                outcome = grade_batch(items, services, on_progress=on_progress)
        rows = store.list_gradings(outcome.batch_id)
        report = write_report(store, outcome.batch_id, report_path)
    differing = _find_differing(rows, expected)
    if as_json:
        print_json(_as_data(outcome, rows, expected, database, report))
    else:
        _print_outcome(Screen(plain), outcome, rows, expected, database, report)
    done = outcome.graded + outcome.waiting
    again = f"run the same command{_say_label(settings)} to go on"
    if outcome.interrupted:
        click.echo(f"interrupted: {done} of {outcome.total} done; {again}", err=True)
        return ExitCode.INTERRUPTED
    if outcome.stopped is not None:
        click.echo(f"stopped: {done} of {outcome.total} done; {outcome.stopped}; {again}", err=True)
        return ExitCode.STOPPED
    if not rows:
        click.echo("error: there was nothing to grade: every input was rejected", err=True)
        return ExitCode.USAGE
    return ExitCode.DIFFERENT if differing else ExitCode.OK


def _ask_in_batches(settings: Settings, store: Store) -> Caller:
    """Return what asks through provider batches, and says on standard error how far they are."""
    from pipeline.judge.batches import BatchCaller, Waiting
    from pipeline.judge.setup import read_setup

    said: list[Waiting] = []

    def say(waiting: Waiting) -> None:
        if said[-1:] != [waiting]:
            said[:] = [waiting]
            click.echo(
                f"note: {waiting.answered} of {waiting.total} questions are settled, the provider works on"
                f" {waiting.batches} {'batch' if waiting.batches == 1 else 'batches'}",
                err=True,
            )

    return BatchCaller(read_setup(settings), store, on_progress=say)


def _say_label(settings: Settings) -> str:
    """Return how to name the label of ``--fresh`` again, where there is one."""
    return f" with --fresh {settings.fresh}" if settings.fresh else ""


def _note_expected(
    items: Iterable[Received | Rejection], expected: dict[str, Verdict]
) -> Iterator[Received | Rejection]:
    """Pass `items` on, and remember the verdicts that a task's own solutions declare."""
    from pipeline.library.submissions import Received

    for item in items:
        if isinstance(item, Received) and item.submission.expected is not None:
            expected[item.submission.id] = item.submission.expected
        yield item


def _find_differing(rows: Iterable[GradingSummary], expected: dict[str, Verdict]) -> list[GradingSummary]:
    """Return what came out otherwise than declared; what a stopped run left open did not come out at all."""
    return [
        row
        for row in rows
        if row.submission_id in expected
        and row.state != "open"
        and row.verdict != expected[row.submission_id]
    ]


@contextmanager
def _progress_bar(*, quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar on standard error while the batch runs; nothing where nobody watches."""
    import sys

    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("grading", total=None)

        def advance(progress: Progress) -> None:
            bar.update(line, completed=progress.done, total=progress.total)

        yield advance


def _print_outcome(
    screen: Screen,
    outcome: BatchOutcome,
    rows: list[GradingSummary],
    expected: dict[str, Verdict],
    database: Path,
    report: Path,
) -> None:
    if rows:
        screen.table(
            ["id", "submission", "task", "verdict", "overall", "route", "reason"],
            [
                [
                    row.grading_id[:ID_LENGTH],
                    name,
                    row.task_id,
                    _mark_verdict(row, expected.get(row.submission_id)),
                    show_overall(row.overall, row.passed),
                    style_of(row.destination.value if row.destination else row.state),
                    shorten(row.reason),
                ]
                for row, name in zip(rows, name_submissions(rows), strict=True)
            ],
        )
    for rejection in outcome.rejections:
        screen.line(f"rejected: {rejection.fault}", style="yellow")
    screen.line()
    noun = "submission" if outcome.total == 1 else "submissions"
    screen.line(
        f"{outcome.total} {noun}: {outcome.graded} graded, {outcome.waiting} waiting for a person, "
        f"{outcome.held} held, {f'{outcome.left} left open, ' if outcome.left else ''}"
        f"{len(outcome.rejections)} rejected "
        f"({outcome.computed} worked on now, {outcome.unchanged} unchanged)"
    )
    spent = outcome.spending
    if spent is not None and (spent.calls or spent.remembered):
        unknown = f", {spent.unpriced} of unknown price" if spent.unpriced else ""
        screen.line(
            f"{spent.calls} {'call' if spent.calls == 1 else 'calls'} to models for"
            f" ${spent.cost / 1e6:.4f}{unknown}; {spent.remembered} answers were stored already"
        )
    if expected:
        known = [row for row in rows if row.submission_id in expected and row.state != "open"]
        differing = _find_differing(rows, expected)
        style = "red" if differing else "green"
        screen.line(f"{len(known) - len(differing)} of {len(known)} verdicts as expected", style=style)
    screen.line(f"Report: {report}")
    if rows:
        screen.line(f"Show:   {say_command('show ID', database)}")
        screen.line(f"Queue:  {say_command('review list', database)}")
        screen.line(f"Desk:   {say_command('serve', database)}")


def _mark_verdict(row: GradingSummary, expected: Verdict | None) -> Cell:
    """Return the verdict, with a mark that says whether it is the expected one where that is known."""
    verdict = style_of(row.verdict.value if row.verdict else "none yet")
    if expected is None or row.state == "open":
        return verdict
    if row.verdict == expected:
        return Cell(f"✓ {verdict.text}", verdict.style)
    return Cell(f"✗ {verdict.text}, expected {expected.value}", "bold red")


def _as_data(
    outcome: BatchOutcome,
    rows: list[GradingSummary],
    expected: dict[str, Verdict],
    database: Path,
    report: Path,
) -> dict[str, Any]:
    differing = {row.grading_id for row in _find_differing(rows, expected)}
    return {
        "batch": outcome.batch_id,
        "database": str(database),
        "report": str(report),
        "total": outcome.total,
        "computed": outcome.computed,
        "unchanged": outcome.unchanged,
        "graded": outcome.graded,
        "waiting": outcome.waiting,
        "held": outcome.held,
        "interrupted": outcome.interrupted,
        "spending": dataclasses.asdict(outcome.spending) if outcome.spending else None,
        "stopped": outcome.stopped.model_dump(mode="json") if outcome.stopped else None,
        "gradings": [
            {
                **row.model_dump(mode="json"),
                "expected": expected.get(row.submission_id),
                "as_expected": row.grading_id not in differing
                if row.submission_id in expected and row.state != "open"
                else None,
            }
            for row in rows
        ],
        "rejections": [rejection.model_dump(mode="json") for rejection in outcome.rejections],
    }
