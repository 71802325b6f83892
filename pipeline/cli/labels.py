"""``nki-grader labels``: what people said blind, to files and from other annotation programs."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, keep_text, plain_option
from pipeline.cli.render import Screen, print_json

if TYPE_CHECKING:
    from pipeline.review.exchange import ImportResult
    from pipeline.review.exchange.expert_labels import ExpertImport
    from pipeline.review.exports import Format
    from pipeline.store import Store

__all__ = ["command"]

_LABELS = ("parquet", "jsonl", "csv")
_PROGRAMS = ("label-studio", "argilla")
_EXPERT = "expert"
#: The largest file that is read whole.
_LARGEST = 1 << 30


@click.group("labels", short_help="Export labels, or have them made elsewhere.")
def command() -> None:
    """Export what people said blind, or have items labelled in Label Studio or Argilla."""


def _read_raters(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    raters: dict[str, str] = {}
    for value in values:
        user, separator, name = keep_text(context, parameter, value).partition("=")
        if not (user and separator and name.strip()):
            raise click.BadParameter(f"{value!r} is not USER=NAME, e.g. 12=ada")
        if raters.setdefault(user, name.strip()) != name.strip():
            raise click.BadParameter(f"user {user!r} is given two names")
    return raters


@command.command("export", short_help="Write labels, or items to be labelled elsewhere, to a file.")
@click.argument(
    "output", type=click.Path(path_type=Path, dir_okay=False), metavar="OUTPUT", callback=keep_text
)
@database_option
@click.option(
    "--format",
    "form",
    type=click.Choice([*_LABELS, *_PROGRAMS]),
    help="Labels as parquet, jsonl or csv; items for label-studio or argilla.  [default: OUTPUT's ending]",
)
@click.option("--pseudonyms", is_flag=True, help="Put a pseudonym in the place of every rater's name.")
@click.option(
    "--rubric", metavar="ID", callback=keep_text, help="Of items: only those judged by this rubric."
)
@click.option("--all", "decided_too", is_flag=True, help="Of items: decided ones too.")
@json_option
def export_command(
    output: Path,
    database: Path,
    form: str | None,
    pseudonyms: bool,
    rubric: str | None,
    decided_too: bool,
    as_json: bool,
) -> int:
    """Write every blind label to OUTPUT, or with --format label-studio or argilla what waits to be labelled.

    Items hold the code, the task, what checks established and a question per criterion; nothing of the judge
    or the author. The form that asks the questions is written beside OUTPUT.

    \b
    Examples:
      nki-grader labels export labels.parquet
      nki-grader labels export items.json --format label-studio
    """
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.report.output import check_output_path

    form = form or output.suffix.removeprefix(".")
    if form not in (*_LABELS, *_PROGRAMS):
        raise click.BadParameter(
            f"{output.name} ends like no format: say which with --format", param_hint="OUTPUT"
        )
    if form in _LABELS and (rubric is not None or decided_too):
        raise click.UsageError("--rubric and --all choose items; labels are exported whole")
    if form in _PROGRAMS and pseudonyms:
        raise click.UsageError("--pseudonyms is about labels; items name nobody")
    check_output_path(output)
    # The secret behind pseudonyms is made when it is first needed.
    with open_existing(database, read_only=not pseudonyms) as store:
        echo_notices(store)
        if form in _LABELS:
            summary = _export_labels(store, output, form, pseudonyms)
        else:
            summary = _export_items(store, output, form, rubric, decided_too)
    if as_json:
        print_json(summary)
    else:
        _print_export(summary)
    return ExitCode.OK


@command.command("import", short_help="Take in labels that were made elsewhere.")
@click.argument(
    "file", type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True), metavar="FILE"
)
@database_option
@click.option(
    "--format",
    "form",
    type=click.Choice([*_PROGRAMS, _EXPERT]),
    required=True,
    help="Program that wrote the file, or expert for a table of expert labels.",
)
@click.option(
    "--rater",
    "raters",
    multiple=True,
    metavar="USER=NAME",
    callback=_read_raters,
    help="Name of a user whom the file knows by number or id; may be repeated.",
)
@json_option
@plain_option
def import_command(
    file: Path, database: Path, form: str, raters: dict[str, str], as_json: bool, plain: bool
) -> int:
    """Take in what people answered elsewhere, or a table of expert labels, with their origin.

    Decides nothing. What cannot be taken is listed with the reason, the rest is kept; the same file again
    changes nothing.

    With --format expert FILE is CSV, JSON Lines or Parquet with the columns submission (id, path or SHA-256
    of the code), review or grading; rater; criterion; level (a number, or cannot_judge with a reason);
    rubric (id and version, or hash); and, where known, at, probability and note. What labels export writes
    is read too.

    \b
    Examples:
      nki-grader labels import answers.json --format label-studio --rater 12=ada
      nki-grader labels import experts.csv --format expert
    """
    if form == _EXPERT:
        if raters:
            raise click.UsageError(
                "--rater names users of other programs; a table of labels names its raters"
            )
        return _import_expert(file, database, as_json, plain)
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.review.exchange import import_answers
    from pipeline.review.exchange.argilla import read_responses
    from pipeline.review.exchange.label_studio import read_annotations

    data = _read_file(file)
    rows = read_annotations(data, raters) if form == "label-studio" else read_responses(data, raters)
    with open_existing(database, read_only=False) as store:
        echo_notices(store)
        result = import_answers(
            store,
            "label_studio" if form == "label-studio" else "argilla",
            rows,
            imported_by=_user_name(),
        )
    if as_json:
        print_json(
            {
                "assessments": result.assessments,
                "labels": result.labels,
                "skipped": result.skipped,
                "bad": [{"where": row.where, "reason": row.reason} for row in result.bad],
            }
        )
    else:
        _print_import(Screen(plain), result)
    return ExitCode.USAGE if result.bad and not result.assessments else ExitCode.OK


def _import_expert(file: Path, database: Path, as_json: bool, plain: bool) -> int:
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.review.exchange.expert_labels import import_expert_labels

    data = _read_file(file)
    with open_existing(database, read_only=False) as store:
        echo_notices(store)
        result = import_expert_labels(store, file, data, imported_by=_user_name())
    if as_json:
        print_json(
            {
                "file": result.file,
                "labels": result.labels,
                "unchanged": result.unchanged,
                "notes": result.notes,
                "bad": [{"where": row.where, "reason": row.reason} for row in result.bad],
            }
        )
    else:
        _print_expert(Screen(plain), result)
    return ExitCode.USAGE if result.bad and not (result.labels or result.unchanged) else ExitCode.OK


def _export_labels(store: Store, output: Path, form: str, pseudonyms: bool) -> dict[str, Any]:
    from pipeline.report.output import write_whole
    from pipeline.review.exports import export_labels, write_labels
    from pipeline.review.labels import Labels

    reader = Labels(store)
    labels = reader.read()
    if pseudonyms:
        labels = [reader.hide_rater(label) for label in labels]
    if form == "parquet":
        write_labels(labels, output)
    else:
        with write_whole(output, "labels") as file:
            file.write(export_labels(labels, cast("Format", form)).decode())
    return {"output": str(output), "form": None, "labels": len(labels), "items": 0, "left_out": []}


def _export_items(
    store: Store, output: Path, form: str, rubric: str | None, decided_too: bool
) -> dict[str, Any]:
    from pipeline.report.output import write_whole
    from pipeline.review.exchange import argilla, collect_items, gather_criteria, label_studio

    items, left_out = collect_items(store, rubric=rubric, decided_too=decided_too)
    criteria = gather_criteria(items)
    if form == "label-studio":
        records, questions = label_studio.export_tasks(items), label_studio.export_configuration(criteria)
        form_path = output.with_name(f"{output.stem}.config.xml")
    else:
        records, questions = argilla.export_records(items), argilla.export_settings(criteria)
        form_path = output.with_name(f"{output.stem}.settings.json")
    for path, text in ((form_path, questions), (output, records)):
        with write_whole(path, "items") as file:
            file.write(text)
    return {
        "output": str(output),
        "form": str(form_path),
        "labels": 0,
        "items": len(items),
        "left_out": left_out,
    }


def _print_export(summary: dict[str, Any]) -> None:
    if summary["form"] is None:
        click.echo(f"Labels: {summary['labels']} in {summary['output']}")
        return
    click.echo(f"Items: {summary['items']} in {summary['output']}")
    click.echo(f"Form: {summary['form']}")
    for reason in summary["left_out"]:
        click.echo(f"note: left out {reason}", err=True)


def _print_import(screen: Screen, result: ImportResult) -> None:
    screen.line(
        f"Kept: {result.labels} labels in {result.assessments} assessments."
        f" Skipped: {result.skipped} drafts or skipped items. Not taken: {len(result.bad)} rows."
    )
    if result.bad:
        screen.table(["row", "reason"], [[row.where, row.reason] for row in result.bad])


def _print_expert(screen: Screen, result: ExpertImport) -> None:
    screen.line(
        f"Kept: {result.labels} labels. Known already: {result.unchanged}. Not taken: {len(result.bad)} rows."
    )
    for note in result.notes:
        click.echo(f"note: {note}", err=True)
    if result.bad:
        screen.table(["row", "reason"], [[row.where, row.reason] for row in result.bad])


def _read_file(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise click.BadParameter("it is larger than 1 GiB: split it", param_hint="FILE")
        return path.read_bytes()
    except OSError as error:
        raise click.BadParameter(f"it cannot be read: {error.strerror}", param_hint="FILE") from error


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""  # Only a note of who ran the command: the labels are the raters' own.
