"""Exit codes, and the one place that turns an exception into a line on standard error.

Imports nothing of the vocabulary at the top: this module is loaded before any command is known.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import Final

import click

__all__ = ["EXIT_CODES", "ExitCode", "explain_failure"]


class ExitCode(IntEnum):
    """What the process says to whoever started it."""

    OK = 0
    FAULT = 1
    USAGE = 2
    DIFFERENT = 3
    STOPPED = 4
    INTERRUPTED = 130


#: Meaning of every exit code, as the help and the documentation print it.
EXIT_CODES: Final[dict[int, str]] = {
    ExitCode.OK: "done",
    ExitCode.FAULT: "a fault of the grader or of this machine",
    ExitCode.USAGE: "wrong usage or bad input: a missing path, an unknown task or id, a broken task folder",
    ExitCode.DIFFERENT: "a verdict differs from the expected one, a check failed, or nothing was certified",
    ExitCode.STOPPED: "stopped by a cap on cost or a judge out of reach; the same command goes on",
    ExitCode.INTERRUPTED: "interrupted; the same command goes on where it stopped",
}

#: How writing to a full device or a lost terminal fails; no file of ours is written without naming it.
_STREAM_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})

#: Codes of faults that a person corrects on the command line, whoever raised them.
_USAGE_FAULTS: Final = frozenset(
    {
        "already_decided",
        "ambiguous_id",
        "bad_author",
        "bad_import",
        "bad_key",
        "bad_key_file",
        "bad_models_file",
        "bad_seed",
        "foreign_database",
        "invalid",
        "invalid_decision",
        "invalid_setup",
        "labels_used",
        "missing_path",
        "no_base_url",
        "no_batches",
        "no_database",
        "no_drafts",
        "no_folder",
        "no_key",
        "no_model",
        "no_reason",
        "no_setup",
        "no_temperature",
        "not_a_database",
        "not_found",
        "price_unknown",
        "provider_not_allowed",
        "several_rubrics",
        "unknown_certificate",
        "unknown_id",
        "unknown_judge",
        "unknown_rubric",
        "unknown_sandbox",
        "unknown_scope",
        "unknown_target",
        "unknown_task",
        "unknown_toolchain",
        "unknown_version",
        "wrong_labels",
    }
)


def explain_failure(error: Exception) -> ExitCode:
    """Print what went wrong, in one line, and return the exit code.

    An exception without a fault is a defect of the grader: its traceback is wanted, so it comes first.
    """
    from pipeline.types import Fault, Owner

    fault = getattr(error, "fault", None)
    if isinstance(error, OSError) and error.errno in _STREAM_ERRORS and error.filename is None:
        click.echo(f"error: standard output cannot be written: {error.strerror}", err=True)
        return ExitCode.FAULT
    if not isinstance(fault, Fault):
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
        click.echo(
            "error: this is a defect of nki-grader, not of your input: please report it with the lines above",
            err=True,
        )
        return ExitCode.FAULT
    from pipeline.types.visible import show_controls

    click.echo("error: " + show_controls(" ".join(str(fault).split())), err=True)
    correctable = fault.owner in (Owner.SUBMISSION, Owner.TASK) or fault.code in _USAGE_FAULTS
    return ExitCode.USAGE if correctable else ExitCode.FAULT
