"""``nki-grader feedback``: what the author of a submission gets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option

if TYPE_CHECKING:
    from pipeline.report.feedback import Format

__all__ = ["command"]


@click.command("feedback", short_help="Write the feedback that an author gets.")
@click.argument("identifier", metavar="ID")
@database_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "md", "html"]),
    default="text",
    show_default=True,
    help="Plain text in 80 columns, Markdown, or one HTML page that needs no other file.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write it.  [default: standard output]",
)
def command(identifier: str, database: Path, form: Format, output: Path | None) -> int:
    """Write the feedback on the grading, submission or review called ID.

    It holds what concerns the author and nothing else, and says whether it is a draft or released. Of a
    submission the latest grading is used.
    """
    from pipeline.cli.lookup import echo_notices, find_summary, open_existing
    from pipeline.report.collect import Collector
    from pipeline.report.feedback import render_feedback
    from pipeline.report.output import write_whole

    with open_existing(database) as store:
        echo_notices(store)
        text = render_feedback(Collector(store).load_detail(find_summary(store, identifier)), form)
    if output is None:
        click.echo(text, nl=False)
    else:
        with write_whole(output, "feedback") as file:
            file.write(text)
        click.echo(f"Feedback: {output}")
    return ExitCode.OK
