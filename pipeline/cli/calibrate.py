"""``nki-grader calibrate``: from expert labels to probabilities and certificates, in one command."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, keep_text, plain_option
from pipeline.cli.render import Cell, Screen, print_json

if TYPE_CHECKING:
    from pipeline.routing.calibration_result import Findings, ScopeCalibration
    from pipeline.stats.agreement import Estimate

__all__ = ["command"]


@click.command("calibrate", short_help="Find out which grades may stand without a human.")
@database_option
@click.option(
    "--policy",
    metavar="ID[@vN]",
    callback=keep_text,
    help="Routing policy to certify for.  [default: the newest version of standard]",
)
@click.option(
    "--policies",
    "policies_root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder with one folder per policy and their lock.  [default: those that ship with nki-grader]",
)
@click.option(
    "--scope",
    metavar="PREFIX",
    default="",
    callback=keep_text,
    help="Only the scope whose hash begins so.  [default: every scope with labels]",
)
@click.option(
    "--constructed",
    is_flag=True,
    help="Take the levels that tasks give their own solutions as labels too. They are no evidence of "
    "quality, and no policy accepts a grade on them.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Put nothing in force and leave the labels that certify alone: a look at them is spent for good.",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=keep_text,
    help="Write the HTML report there.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    callback=keep_text,
    help="Write everything as JSON there; - is standard output, which then holds nothing else.",
)
@plain_option
def command(
    database: Path,
    policy: str | None,
    policies_root: Path | None,
    scope: str,
    constructed: bool,
    dry_run: bool,
    report: Path | None,
    json_path: Path | None,
    plain: bool,
) -> int:
    """Learn from expert labels how far each judge can be trusted, and certify which grades may stand alone.

    For every scope (one judge, prompt, rubric and set of versions) it fits probabilities on one part of the
    labels, tests thresholds on another, measures on a third, and puts what is certified in force for the
    policy. Exits with 3 if nothing is certified.

    \b
    Examples:
      nki-grader calibrate --dry-run
      nki-grader calibrate --policy strict --report calibration.html
    """
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.library.policies import load_policy
    from pipeline.report.output import check_output_path
    from pipeline.routing.calibration import calibrate

    for path in (report, json_path):
        # A look would be spent before it turns out that nobody can read what came of it.
        if path is not None and str(path) != "-":
            check_output_path(path)
    rules = load_policy(policy, root=policies_root)
    # A dry run writes too: to which split a submission belongs is kept as soon as it is asked for.
    with open_existing(database, read_only=False) as store:
        echo_notices(store)
        found = calibrate(
            store, rules, scope=scope, constructed=constructed, dry_run=dry_run, by=_user_name()
        )
    if report is not None:
        from pipeline.report.calibration.render import write_calibrations

        write_calibrations(found, report)
    if json_path is not None:
        _write_json(found, json_path)
    if json_path is None or str(json_path) != "-":
        screen = Screen(plain)
        for one in found:
            _print(screen, one)
        screen.line()
        if dry_run:
            screen.line("Dry run: nothing is in force, and the labels that certify were left alone.")
        if report is not None:
            screen.line(f"Report: {report}")
    certified = any(one.is_certified for one in found)
    return ExitCode.OK if certified or dry_run else ExitCode.DIFFERENT


def _print(screen: Screen, one: ScopeCalibration) -> None:
    screen.heading(f"{one.names.judge} · {one.names.rubric}")
    screen.line(f"scope {one.scope.content_hash()[:12]}: prompt {one.names.prompt}, {one.names.runs_on}")
    screen.line()
    screen.line(one.verdict, style="green" if one.is_certified else "red")
    screen.line(one.summary, style="yellow" if one.constructed else "")
    for finding in one.findings:
        if finding.budget:
            screen.line(f"{finding.title}: {finding.budget}")
    for note in one.notes:
        screen.line(f"note: {note}", style="yellow")
    screen.line()
    columns = [
        "of",
        "n",
        "right",
        "calibration error",
        "AUROC",
        "judge-people",
        "people-people",
        "certificate",
    ]
    screen.table(columns, [_row(finding) for finding in one.findings])


def _row(finding: Findings) -> list[str | Cell]:
    measured, certificate = finding.reliability, finding.certificate
    if certificate is None:
        words: str | Cell = "not tested"
    elif certificate.threshold is None:
        words = Cell("none", "red")
    else:
        words = Cell(
            f"{certificate.content_hash()[:12]} accepts {100 * (certificate.coverage or 0):.0f} %", "green"
        )
    return [
        finding.title,
        str(measured.n),
        _say(measured.right, percent=True),
        _say(measured.calibration_error),
        _say(measured.auroc),
        _say(finding.judge.ac2),
        _say(finding.people.ac2),
        words,
    ]


def _say(estimate: Estimate, *, percent: bool = False) -> str:
    """Return an estimate with its interval, or ``too few`` where nothing can be said."""
    if estimate.value is None:
        return "too few" if estimate.reason.startswith("too few") else "none"
    value, interval = estimate.value, estimate.interval
    ends = () if interval is None else (interval.low, interval.high)
    if percent:
        span = " to ".join(f"{100 * end:.0f}" for end in ends)
        return f"{100 * value:.0f} %" + (f" ({span} %)" if span else "")
    span = " to ".join(f"{end:.2f}" for end in ends)
    return f"{value:.2f}" + (f" ({span})" if span else "")


def _write_json(found: Sequence[ScopeCalibration], path: Path) -> None:
    data = [one.to_data() for one in found]
    if str(path) == "-":
        print_json(data)
        return
    from pipeline.report.output import write_whole

    with write_whole(path, "JSON") as file:
        json.dump(data, file, indent=2, allow_nan=False)
        file.write("\n")


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
