"""``nki-grader review``: the queue from a terminal."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, keep_text, plain_option
from pipeline.cli.render import (
    ID_LENGTH,
    Screen,
    name_submissions,
    print_json,
    say_command,
    shorten,
    show_overall,
    style_of,
)

if TYPE_CHECKING:
    from pipeline.store import ReviewState, Store
    from pipeline.types import Grade

__all__ = ["command"]


@click.group("review", short_help="List, show and decide what waits for a person.")
def command() -> None:
    """List, show and decide what waits for a person."""


@command.command("list", short_help="List what waits for a person.")
@database_option
@click.option("--all", "decided_too", is_flag=True, help="List decided reviews too.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="Longest list."
)
@json_option
@plain_option
def list_reviews(database: Path, decided_too: bool, limit: int, as_json: bool, plain: bool) -> int:
    """List what waits for a person, the longest wait first."""
    from pipeline.cli.lookup import echo_notices, open_existing

    with open_existing(database) as store:
        echo_notices(store)
        # One more than is shown tells whether there are more.
        states = store.list_reviews(open_only=not decided_too, limit=limit + 1)
        shown = [(state, store.load_summary(state.review.grading_id)) for state in states[:limit]]
    if as_json:
        print_json(
            [
                {**state.model_dump(mode="json"), "grading": summary.model_dump(mode="json")}
                for state, summary in shown
            ]
        )
        return ExitCode.OK
    screen = Screen(plain)
    if not shown:
        screen.line("Nothing waits for a person.")
        return ExitCode.OK
    names = name_submissions([summary for _, summary in shown])
    columns = ["review", "waits since", "submission", "task", "verdict", "draft"]
    screen.table(
        [*columns, *(["decided by"] if decided_too else []), "reason"],
        [
            [
                state.review.id[:ID_LENGTH],
                f"{state.review.opened_at.astimezone():%Y-%m-%d %H:%M}",
                name,
                summary.task_id,
                style_of(summary.verdict.value if summary.verdict else "none yet"),
                show_overall(summary.overall, summary.passed),
                *([state.decision.reviewer if state.decision else ""] if decided_too else []),
                shorten(state.review.reason),
            ]
            for (state, summary), name in zip(shown, names, strict=True)
        ],
    )
    if len(states) > limit:
        screen.line(f"There are more than {limit}: --limit shows more.")
    screen.line(f"Show one with: {say_command('review show ID', database)}")
    return ExitCode.OK


@command.command("show", short_help="Show a review, and what can be decided.")
@click.argument("identifier", metavar="ID")
@database_option
@json_option
@plain_option
def show_review(identifier: str, database: Path, as_json: bool, plain: bool) -> int:
    """Show the review called ID (or of a submission or grading): the draft, and the levels to choose from."""
    from pipeline.cli.lookup import echo_notices, find_review, open_existing
    from pipeline.cli.show import detail_data, print_detail
    from pipeline.report.collect import Collector

    with open_existing(database) as store:
        echo_notices(store)
        review = find_review(store, identifier)
        detail = Collector(store).load_detail(store.load_summary(review.review.grading_id))
    if as_json:
        print_json({"review": review.model_dump(mode="json"), "grading": detail_data(detail)})
        return ExitCode.OK
    screen = Screen(plain)
    print_detail(screen, detail)
    if detail.rubric is not None:
        screen.heading("Levels to choose from")
        for criterion in detail.rubric.criteria:
            screen.line(f"{criterion.id} — {criterion.question}")
            for step in criterion.levels:
                screen.line(f"  {step.level}  {step.anchor}", style="dim")
    if review.decision is None:
        screen.line()
        decide = say_command(f"review decide {review.review.id}", database)
        screen.line(f"Decide with: {decide} --level CRITERION=LEVEL ...")
    return ExitCode.OK


@command.command("decide", short_help="Decide a review and release its grade.")
@click.argument("identifier", metavar="ID")
@database_option
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="CRITERION=N",
    help="Level of a criterion; may be repeated. One left out keeps the draft's.",
)
@click.option(
    "--pass/--fail",
    "passed",
    default=None,
    help="Overrule the rubric's pass or fail; needs --comment.",
)
@click.option(
    "--comment",
    default="",
    metavar="TEXT",
    callback=keep_text,
    help="What the author should know; kept with the grade.",
)
@click.option(
    "--reviewer", metavar="NAME", callback=keep_text, help="Who decides.  [default: the user's name]"
)
@json_option
@plain_option
def decide_review(
    identifier: str,
    database: Path,
    levels: tuple[str, ...],
    passed: bool | None,
    comment: str,
    reviewer: str | None,
    as_json: bool,
    plain: bool,
) -> int:
    """Decide the review called ID (or that of the submission or grading ID), and release its grade.

    With neither --level nor --pass or --fail the draft is released as it stands. A decision is final: it is
    journalled before this command says so.

    \b
    Example:
      nki-grader review decide r-1f2e --level judgement=3 --comment "Clear; the tail is untested."
    """
    from datetime import UTC, datetime

    from pipeline.cli.lookup import echo_notices, find_review, open_existing
    from pipeline.review.decisions import decide
    from pipeline.types import Decision

    chosen = _read_levels(levels)
    name = (reviewer or _user_name()).strip()
    if not 0 < len(name) <= 200:
        raise click.BadParameter("a name has 1 to 200 characters", param_hint="--reviewer")
    if len(comment) > 20_000:
        raise click.BadParameter("a comment has at most 20,000 characters", param_hint="--comment")
    with open_existing(database, read_only=False) as store:
        echo_notices(store)
        review = find_review(store, identifier)
        decision = Decision(
            review_id=review.review.id,
            reviewer=name,
            levels=chosen,
            passed=passed,
            comment=comment,
            decided_at=datetime.now(UTC),
        )
        decide(store, decision)
        grade = _release(store, review)
    if as_json:
        print_json(
            {
                "decision": decision.model_dump(mode="json"),
                "grade": grade.model_dump(mode="json") if grade else None,
            }
        )
    else:
        _print_grade(Screen(plain), review, grade)
    return ExitCode.OK


def _read_levels(values: tuple[str, ...]) -> dict[str, int]:
    levels: dict[str, int] = {}
    for value in values:
        name, _, level = value.partition("=")
        if not name or not level.isascii() or not level.isdigit() or len(level) > 3:
            raise click.BadParameter(f"{value!r} is not CRITERION=N, e.g. judgement=3", param_hint="--level")
        if name in levels:
            raise click.BadParameter(f"criterion {name!r} is given twice", param_hint="--level")
        levels[name] = int(level)
    return levels


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise click.UsageError("this system does not know your name: give it with --reviewer") from error


def _release(store: Store, review: ReviewState) -> Grade | None:
    """Let the waiting thread go on to its end; None when that is left to a later run."""
    from pipeline.config import Settings
    from pipeline.errors import GraderError
    from pipeline.graph.batch import resume_decided
    from pipeline.graph.services import open_services

    # Everything before the decision is in the store. A stage that got lost is made again only under the very
    # settings that its fingerprint names, so isolation cannot be weakened here.
    settings = Settings(allow_unsandboxed=True, workers=1)
    try:
        with open_services(store, settings) as services:
            resume_decided(services)
    except GraderError as error:
        # The decision stands whatever happens now; whoever runs the next batch releases the grade.
        click.echo(f"note: the decision is kept; the grade is released by the next run ({error})", err=True)
    return store.load_grade(review.review.grading_id)


def _print_grade(screen: Screen, review: ReviewState, grade: Grade | None) -> None:
    screen.line(f"Decided: {review.review.id}")
    if grade is None:
        screen.line("The grade is not released yet: the next run of nki-grader does it.", style="yellow")
        return
    screen.fields(
        {
            "grading": grade.grading_id,
            "verdict": style_of(grade.verdict.value),
            "overall": show_overall(grade.overall.value, grade.overall.passed),
            "reason": grade.overall.reason,
            "decided by": grade.decided_by,
        }
    )
