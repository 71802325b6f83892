"""The entry point: finds the command, runs it, and turns what went wrong into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from pipeline import __version__
from pipeline.cli.errors import EXIT_CODES, ExitCode, explain_failure

__all__ = ["command_line", "main"]

#: Module of every command. A command's own module imports click alone; the rest comes when it runs.
COMMANDS = {
    "grade": "pipeline.cli.grade",
    "show": "pipeline.cli.show",
    "feedback": "pipeline.cli.feedback",
    "review": "pipeline.cli.review",
    "serve": "pipeline.cli.serve",
    "accounts": "pipeline.cli.accounts",
    "labels": "pipeline.cli.labels",
    "calibrate": "pipeline.cli.calibrate",
    "certificates": "pipeline.cli.certificates",
    "judge": "pipeline.cli.judge",
    "replay": "pipeline.cli.replay",
    "report": "pipeline.cli.report",
    "costs": "pipeline.cli.costs",
    "tasks": "pipeline.cli.tasks",
    "rubrics": "pipeline.cli.rubrics",
    "emulate": "pipeline.cli.emulate",
    "evals": "pipeline.cli.evals",
    "doctor": "pipeline.cli.doctor",
}

_EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command


@click.group(
    cls=_LazyGroup,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="nki-grader")
def command_line() -> None:
    """Pre-grade NKI kernels for AWS Trainium the way an expert reviewer would.

    \b
    Start with:
      nki-grader grade SUBMISSIONS    files, folders or JSONL
      nki-grader review list          what waits for a person
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line on `arguments` (the process's by default) and exit with a documented code."""
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that knows no "✓" gets "\u2713", not an exception.
            stream.reconfigure(errors="backslashreplace")
    try:
        status = command_line.main(
            args=None if arguments is None else list(arguments), prog_name="nki-grader", standalone_mode=False
        )
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads has seen enough, as `head` has after ten lines: nothing to say, as click has it too.
        status = ExitCode.FAULT
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        status = ExitCode.INTERRUPTED
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        status = ExitCode.USAGE
    except Exception as error:
        status = explain_failure(error)
    _discard_unwritten_output()
    sys.exit(status)


def _open_standard_streams() -> None:
    """Put the null device where a standard stream is closed.

    A database opened next would get the stream's number, and whatever is printed would be written into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def _discard_unwritten_output() -> None:
    """Let go of what could not be written: at exit Python would try again, and fail in its own words."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
