"""``nki-grader rubrics``: what versions change, and a lead's word that other words mean the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, keep_text, plain_option
from pipeline.cli.render import Screen, print_json, say_command

if TYPE_CHECKING:
    from pipeline.library.rubric_revisions import RubricRevision
    from pipeline.review.rubric_succession import RubricSuccession
    from pipeline.store import Store
    from pipeline.types import Rubric

__all__ = ["command"]

_VERSION = re.compile(r"v[1-9]\d*")

_rubrics_option = click.option(
    "--rubrics",
    "root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Folder with one folder per rubric and their lock.  [default: those that ship with nki-grader]",
)


@click.group("rubrics", short_help="Show versions of rubrics, and sign editorial changes.")
def command() -> None:
    """Show what versions of rubrics change, and sign that other words leave their meaning as it was."""


@command.command("list", short_help="List every version.")
@_rubrics_option
@database_option
@json_option
@plain_option
def list_command(root: Path | None, database: Path, as_json: bool, plain: bool) -> int:
    """List every published version, what it changes, and who signed where only its words differ.

    Labels, certificates and waiting reviews carry over where a lead signed, and nowhere else.
    """
    from pipeline.library.lock import list_versions
    from pipeline.library.roots import rubrics_root
    from pipeline.library.rubric_revisions import list_revisions
    from pipeline.library.rubrics import list_rubrics

    folder = root or rubrics_root()
    revisions = {(one.after.id, one.after.version): one for one in list_revisions(root=folder)}
    with _open_if_there(database) as store:
        rows = [
            (
                name,
                version,
                revisions.get((name, version)),
                _find_signature(store, revisions.get((name, version))),
            )
            for name in list_rubrics(root=folder)
            for version in list_versions(folder, name)
        ]
    if as_json:
        print_json(
            [
                {"rubric": name, "version": version, **_as_data(revision, signed)}
                for name, version, revision, signed in rows
            ]
        )
        return ExitCode.OK
    Screen(plain).table(
        ["rubric", "version", "follows", "change", "signed"],
        [
            [
                name,
                version,
                revision.before.version if revision else "none",
                _name_change(revision),
                _say_signed(revision, signed),
            ]
            for name, version, revision, signed in rows
        ],
    )
    return ExitCode.OK


@command.command("show", short_help="Show a version and what it changes.")
@click.argument("rubric", metavar="RUBRIC", callback=keep_text)
@_rubrics_option
@database_option
@json_option
@plain_option
def show_command(rubric: str, root: Path | None, database: Path, as_json: bool, plain: bool) -> int:
    """Show RUBRIC, such as migration_fidelity or migration_fidelity@v1: its criteria, and what it changes.

    Without a version it is the newest.
    """
    from pipeline.library.rubric_revisions import describe_differences, find_revision
    from pipeline.library.rubrics import load_rubric

    name, version = _split(rubric)
    shown = load_rubric(name, version, root=root)
    revision = find_revision(name, shown.version, root=root)
    with _open_if_there(database) as store:
        signed = _find_signature(store, revision)
    if as_json:
        print_json({**shown.model_dump(mode="json"), **_as_data(revision, signed)})
        return ExitCode.OK
    screen = Screen(plain)
    _show_rubric(screen, shown)
    if revision is None:
        return ExitCode.OK
    screen.heading(f"Beside {revision.before.version}: {_name_change(revision)}")
    for line in describe_differences(revision.differences):
        screen.line(line)
    if revision.kind == "editorial":
        screen.line()
        why = "" if signed is None else f": {signed.reason}" if signed.reason else ", without a reason"
        screen.line(f"Signed: {_say_signed(revision, signed)}{why}")
        if signed is None:
            where = f" --rubrics {shlex.quote(str(root))}" if root is not None else ""
            command = say_command(f"rubrics sign {name}@{shown.version} --by LEAD{where}", database)
            screen.line(f"Nothing carries over until a lead signs: {command}")
    return ExitCode.OK


@command.command("sign", short_help="Sign that a change of words leaves the meaning as it was.")
@click.argument("rubric", metavar="RUBRIC@vN", callback=keep_text)
@click.option(
    "--by", "lead", required=True, metavar="LEAD", callback=keep_text, help="Account of the lead who signs."
)
@click.option("--reason", default="", metavar="TEXT", callback=keep_text, help="Why the meaning is the same.")
@_rubrics_option
@database_option
def sign_command(rubric: str, lead: str, reason: str, root: Path | None, database: Path) -> int:
    """Sign that RUBRIC@vN asks in other words for what the version before it asks for.

    From then on labels and certificates under either version count for both, and reviews that nobody has
    begun are shown in the new words. It is kept for good, with the name and the reason.

    \b
    Example:
      nki-grader rubrics sign performance_quality@v2 --by dora --reason "clearer anchors"
    """
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.library.rubric_revisions import describe_differences, load_revision
    from pipeline.review.rubric_succession import sign_revision

    name, version = _split(rubric)
    if version is None:
        raise click.BadParameter("say which version, such as performance_quality@v2", param_hint="RUBRIC@vN")
    revision = load_revision(name, version, root=root)
    revision.require_editorial()
    with open_existing(database, read_only=False) as store:
        echo_notices(store)
        signed = sign_revision(store, revision, lead=lead, reason=reason)
    screen = Screen(plain=True)
    for line in describe_differences(revision.differences):
        screen.line(line)
    screen.line(f"Signed: {name} {version} means what {signed.after} means, says {signed.lead}")
    return ExitCode.OK


def _split(rubric: str) -> tuple[str, str | None]:
    name, separator, version = rubric.partition("@")
    if separator and not _VERSION.fullmatch(version):
        raise click.BadParameter(f"{version!r} is no version; write one as ID@v2", param_hint="RUBRIC")
    return name, version or None


@contextmanager
def _open_if_there(database: Path) -> Iterator[Store | None]:
    """Open the database if there is one: without it nothing was signed."""
    from pipeline.cli.lookup import echo_notices, open_existing

    if not database.exists():
        yield None
        return
    with open_existing(database) as store:
        echo_notices(store)
        yield store


def _find_signature(store: Store | None, revision: RubricRevision | None) -> RubricSuccession | None:
    from pipeline.review.rubric_succession import find_signature

    return find_signature(store, revision) if store is not None and revision is not None else None


def _name_change(revision: RubricRevision | None) -> str:
    if revision is None:
        return "first"
    return revision.kind or "not said"


def _say_signed(revision: RubricRevision | None, signed: RubricSuccession | None) -> str:
    if revision is None or revision.kind != "editorial":
        return "nothing to sign"
    return f"by {signed.lead} on {signed.at:%Y-%m-%d}" if signed is not None else "not yet"


def _show_rubric(screen: Screen, rubric: Rubric) -> None:
    screen.line(f"{rubric.title} ({rubric.id} {rubric.version})", style="bold")
    screen.line(rubric.purpose)
    screen.heading("Criteria")
    screen.table(
        ["criterion", "weight", "scored by", "question"],
        [
            [criterion.id, f"{criterion.weight:g}", criterion.source, criterion.question]
            for criterion in rubric.criteria
        ],
    )


def _as_data(revision: RubricRevision | None, signed: RubricSuccession | None) -> dict[str, object]:
    return {
        "after": revision.before.version if revision else None,
        "change": revision.kind if revision else None,
        "differences": [
            {"key": one.key, "before": one.before, "after": one.after, "words": one.is_words}
            for one in (revision.differences if revision else ())
        ],
        "signed": signed.model_dump(mode="json", include={"lead", "reason", "at"}) if signed else None,
    }
