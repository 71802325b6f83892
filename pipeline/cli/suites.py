"""``nki-grader evals run`` and ``list``: every suite that grades the grader, by one protocol."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import Amount, json_option, keep_text, plain_option
from pipeline.cli.render import Screen, print_json
from pipeline.cli.suite_tables import describe_comparison, print_comparison, print_table

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["find_module", "list_suites", "run_suite"]

#: What a suite heeds, by the parameters of `evals run` that say it; the first is its option in lists.
_HEEDED: Final = {
    "judge": {"judge": "--judge", "model": "--model", "base_url": "--base-url", "max_cost": "--max-cost",
              "database": "--db"},
    "tasks": {"task_ids": "--tasks", "root": "--root"},
    "every": {"every": "--every"},
    "repeats": {"repeats": "--repeats"},
}  # fmt: skip


def find_module(name: str) -> ModuleType:
    """Return a module of the suites, which lie in the repository beside the package and in no wheel.

    Raises:
        click.UsageError: If it is not there.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("evals"):
            raise
        raise click.UsageError(
            "the suites that grade the grader are no part of an installation: run this in a checkout of "
            "nki-grader, installed with pip install -e ."
        ) from None


@click.command("list", short_help="The suites, and the stored run of each.")
@json_option
@plain_option
def list_suites(as_json: bool, plain: bool) -> int:
    """List the suites that `evals run` runs, with what each finds out and when its baseline was made."""
    suites = find_module("evals.suites.registry").SUITES
    baselines = find_module("evals.suites.baseline")
    found = []
    for suite in suites.values():
        path = baselines.FOLDER / f"{suite.name}.json"
        stored = baselines.read_baseline(path, suite.name) if path.exists() else None
        found.append(
            {
                "name": suite.name,
                "summary": suite.summary,
                "options": [
                    option
                    for heeded in _HEEDED
                    if heeded in suite.heeds
                    for option in _HEEDED[heeded].values()
                ],
                "baseline": stored["date"] if stored else None,
            }
        )
    if as_json:
        print_json(found)
    else:
        rows = [
            [one["name"], one["baseline"] or "none", " ".join(one["options"]), one["summary"]]
            for one in found
        ]
        Screen(plain).table(["suite", "baseline", "heeds", "what it finds out"], rows)
    return ExitCode.OK


@click.command("run", short_help="Run one suite and compare it with its stored run.")
@click.argument("name", metavar="NAME")
@click.option(
    "--judge",
    default="rules",
    show_default=True,
    metavar="NAME",
    help="Who drafts, as for grade: no model is asked unless it is named here.",
)
@click.option(
    "--model", metavar="NAME", help="Model of a judge given by name.  [default: the provider's own]"
)
@click.option("--base-url", metavar="URL", help="Where an openai-compatible server listens.")
@click.option(
    "--max-cost",
    type=Amount(min=0, min_open=True),
    metavar="USD",
    help="What this run may cost; it stops before it costs more.",
)
@click.option(
    "--db",
    "database",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=keep_text,
    help="Keep a judge's answers here, so that none is paid twice.  [default: kept nowhere]",
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
    help="Try one of N submissions, attacks or mutants: for a quick look.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="How often what is drawn is drawn anew: inputs, or samples of labels.  [default: the suite's own]",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Compare with this stored run, whoever its judge was.  [default: evals/baselines/NAME.json]",
)
@click.option(
    "--write-baseline",
    is_flag=True,
    help="Store this run: at --baseline, else in evals/baselines. Only a run whose gates hold is stored.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write everything as JSON to FILE; - for standard output, in place of the table.",
)
@click.option("--markdown", is_flag=True, help="Print the table in Markdown.")
@plain_option
@click.pass_context
def run_suite(
    context: click.Context,
    name: str,
    judge: str,
    model: str | None,
    base_url: str | None,
    max_cost: float | None,
    database: Path | None,
    task_ids: tuple[str, ...],
    root: Path | None,
    every: int,
    repeats: int | None,
    baseline: Path | None,
    write_baseline: bool,
    json_path: Path | None,
    markdown: bool,
    plain: bool,
) -> int:
    """Run suite NAME (see `evals list`), print its table, and compare it with a stored run.

    Exits with 3 if a gate does not hold, or if something got worse than in the stored run beyond what chance
    does. The stored run of another judge is shown, but fails nothing unless --baseline names it. Progress
    goes to standard error.
    """
    from pipeline.cli.session import unknown_task
    from pipeline.config import Settings
    from pipeline.errors import GraderError
    from pipeline.judge import check_judge
    from pipeline.library.roots import tasks_root
    from pipeline.library.tasks import load_tasks
    from pipeline.report.output import check_output_path, write_whole

    suites = find_module("evals.suites.registry").SUITES
    if name not in suites:
        raise click.UsageError(f"no suite is called {name!r} (choose from: {', '.join(suites)})")
    suite = suites[name]
    _refuse_unheeded(context, suite)
    to_stdout = str(json_path) == "-"
    if json_path is not None and not to_stdout:
        check_output_path(json_path)
    known = load_tasks(root or tasks_root()) if task_ids else {}
    for task_id in task_ids:
        if task_id not in known:
            raise unknown_task(task_id, known)
    settings = Settings(judge=judge, model=model, base_url=base_url, max_cost=max_cost)
    check_judge(settings)
    options = find_module("evals.suites.suite").Options(
        settings=settings,
        database=database,
        tasks=task_ids,
        root=root,
        every=every,
        repeats=repeats,
        on_progress=lambda line: click.echo(line, err=True),
    )
    baselines = find_module("evals.suites.baseline")
    path = baseline or baselines.FOLDER / f"{name}.json"
    stored = None
    if write_baseline:
        check_output_path(path)
    elif baseline is not None or path.exists():
        stored = baselines.read_baseline(path, name)
    try:
        table = suite.measure(options)
    except GraderError as error:
        if error.fault.code != "judge_stopped":
            raise
        click.echo(f"stopped: {error.fault}", err=True)
        return ExitCode.STOPPED
    compared = baselines.compare(table, stored) if stored is not None else None
    regressed = bool(compared and compared.worse and (compared.same_judge or baseline is not None))
    data = table.to_data() | {"baseline": describe_comparison(compared, path), "regressed": regressed}
    if json_path is not None and not to_stdout:
        with write_whole(json_path, "results") as file:
            file.write(json.dumps(data, indent=2, allow_nan=False) + "\n")
    if to_stdout:
        print_json(data)
    elif markdown:
        click.echo(table.to_markdown())
    else:
        screen = Screen(plain)
        print_table(screen, table)
        print_comparison(screen, compared, path)
        screen.line()
        holds = "every gate holds" if table.holds else "a gate does not hold: see above"
        screen.line(holds, style="green" if table.holds else "red")
    if write_baseline and table.holds:
        baselines.write_baseline(path, table)
        click.echo(f"stored: {path}", err=True)
    return ExitCode.OK if table.holds and not regressed else ExitCode.DIFFERENT


def _refuse_unheeded(context: click.Context, suite: Any) -> None:
    """Refuse what was asked for and would change nothing.

    Raises:
        click.UsageError: If there is such an option.
    """
    for heeded, parameters in _HEEDED.items():
        for parameter, option in parameters.items():
            given = context.get_parameter_source(parameter) is ParameterSource.COMMANDLINE
            if given and heeded not in suite.heeds:
                raise click.UsageError(f"{option} changes nothing in {suite.name}: leave it out")
