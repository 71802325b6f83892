"""Options that several commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from pipeline.config import DEFAULT_DATABASE

__all__ = [
    "Amount",
    "database_option",
    "grading_options",
    "json_option",
    "judge_options",
    "keep_text",
    "plain_option",
    "read_rubric_versions",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Amount(click.FloatRange):
    """A range of numbers: ``nan``, which lies neither inside nor outside, and infinity are no numbers."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return `value` as a number in the range."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number", param, ctx)
        return number


def keep_text(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return `value`, unless it holds bytes that are no UTF-8: the database takes only text.

    Raises:
        click.BadParameter: If it does.
    """
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise click.BadParameter("it holds bytes that are no UTF-8 text") from None
    return value


database_option = click.option(
    "--db",
    "database",
    type=click.Path(path_type=Path, dir_okay=False),
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="FILE",
    callback=keep_text,
    help="Database that everything is kept in.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")

plain_option = click.option(
    "--plain", is_flag=True, help="No colour and no frames; the default where output is not a terminal."
)


def _keep_pairs(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    return read_rubric_versions(values)


def read_rubric_versions(values: tuple[str, ...]) -> dict[str, str]:
    """Return ``("matmul=v2", ...)`` as a dictionary from rubric id to version.

    Raises:
        click.BadParameter: If a value is no pair, or names a rubric twice.
    """
    versions: dict[str, str] = {}
    for value in values:
        name, separator, version = value.partition("=")
        if not (name and separator and version):
            raise click.BadParameter(f"{value!r} is not ID=VERSION, e.g. performance_quality=v1")
        if name in versions:
            raise click.BadParameter(f"rubric {name!r} is given twice")
        versions[name] = version
    return versions


def _keep_names(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    return values or None


def _keep_label(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """Return the label of ``--fresh``: one made of the time where none is given, empty without the option."""
    if value is None:
        return ""
    if not value:
        return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    if Path(value).exists():
        # An option with an optional value takes whatever stands behind it.
        raise click.BadParameter(f"{value} is a path, not a label: put --fresh last, or write --fresh=LABEL")
    if not re.fullmatch(r"[\w.:-]{1,64}", value):
        raise click.BadParameter("a label is up to 64 letters, digits, dots, colons, dashes or underscores")
    return value


_JUDGE_OPTIONS = (
    click.option(
        "--judge",
        default="rules",
        show_default=True,
        metavar="NAME",
        help="Who drafts scores and feedback: rules, anthropic, openai, openai-compatible, or a .toml file "
        "that sets up a panel.",
    ),
    click.option(
        "--model",
        metavar="NAME",
        help="Model of a judge given by name.  [default: the provider's own]",
    ),
    click.option("--base-url", metavar="URL", help="Where an openai-compatible server listens."),
    click.option(
        "--max-cost",
        type=Amount(min=0, min_open=True),
        metavar="USD",
        help="What this run may cost; it stops before it costs more, and the same command goes on.",
    ),
    click.option(
        "--max-cost-per-day",
        type=Amount(min=0, min_open=True),
        metavar="USD",
        help="What may be spent from this database in one day (UTC).",
    ),
    click.option(
        "--send-to",
        multiple=True,
        metavar="PROVIDER",
        callback=_keep_names,
        help="Send code to this provider only; may be repeated.  [default: all that the judge names]",
    ),
    click.option(
        "--fresh",
        is_flag=False,
        flag_value="",
        default=None,
        metavar="LABEL",
        callback=_keep_label,
        help="Ask anew instead of using stored answers.  The same LABEL goes on with an interrupted run.",
    ),
    click.option(
        "--provider-batches",
        is_flag=True,
        help="Ask through the provider's batch API: cheaper, answers within a day.",
    ),
)

_GRADING_OPTIONS = (
    click.option(
        "--tasks",
        "tasks_root",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="DIR",
        help="Folder with one folder per task.  [default: those that ship with nki-grader]",
    ),
    click.option(
        "--rubrics",
        "rubrics_root",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="DIR",
        help="Folder with one folder per rubric and their lock.  [default: those that ship with nki-grader]",
    ),
    click.option(
        "--rubric",
        "rubric_versions",
        multiple=True,
        metavar="ID=VERSION",
        callback=_keep_pairs,
        help="Use this version of a rubric, not the latest; may be repeated.",
    ),
    click.option(
        "--policies",
        "policies_root",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="DIR",
        help="Folder with one folder per routing policy and their lock.  [default: those that ship with "
        "nki-grader]",
    ),
    click.option(
        "--policy",
        metavar="ID[@vN]",
        help="Which grades may stand without a person: standard, strict, or one of your own.  "
        "[default: standard]",
    ),
    *_JUDGE_OPTIONS,
    click.option(
        "--target", metavar="CHIP", help="Chip to grade for, e.g. trn2.  [default: the task's first]"
    ),
    click.option(
        "--toolchain", metavar="VERSION", help="NKI version to grade under.  [default: the task's first]"
    ),
    click.option(
        "--sandbox",
        type=click.Choice(["bubblewrap", "namespaces", "landlock", "limits"]),
        help="Isolation to insist on.  [default: the strongest that this machine offers; see doctor]",
    ),
    click.option(
        "--allow-unsandboxed",
        is_flag=True,
        help="Grade even where only plain limits are possible; such grades always go to a person.",
    ),
    click.option(
        "--battery-seed",
        metavar="HEX",
        help="Draw all inputs from this secret, 32 hexadecimal digits.  [default: NKI_GRADER_BATTERY_SEED, "
        "else a new one per run]",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1, max=1024),
        metavar="N",
        help="Submissions worked on at a time.  [default: one per core]",
    ),
)


def grading_options(function: _Function) -> _Function:
    """Add the options that say how submissions are graded."""
    for option in reversed(_GRADING_OPTIONS):
        function = option(function)
    return function


def judge_options(function: _Function) -> _Function:
    """Add the options that say who judges, and at what cost; `grading_options` has them among its own."""
    for option in reversed(_JUDGE_OPTIONS):
        function = option(function)
    return function
