"""``nki-grader report``: the HTML report of a batch, again."""

from __future__ import annotations

from pathlib import Path

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option
from pipeline.cli.render import print_json

__all__ = ["command"]


@click.command("report", short_help="Write the HTML report of a batch.")
@click.argument("batch", required=False, metavar="[BATCH]")
@database_option
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write it.  [default: beside the database]",
)
@json_option
def command(batch: str | None, database: Path, output: Path | None, as_json: bool) -> int:
    """Write the HTML report of the batch called BATCH, or of the latest one, as a single file."""
    from pipeline.cli.lookup import echo_notices, find_batch, open_existing
    from pipeline.report.render import report_path_for, write_report

    with open_existing(database) as store:
        echo_notices(store)
        batch_id = find_batch(store, batch)
        path = write_report(store, batch_id, output or report_path_for(database))
    if as_json:
        print_json({"batch": batch_id, "report": str(path)})
    else:
        click.echo(f"Report: {path}")
    return ExitCode.OK
