"""``nki-grader judge``: which judges drafted what, which of two is better, and whether one has changed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import Amount, database_option, json_option, judge_options, keep_text, plain_option
from pipeline.cli.render import Screen, print_json

if TYPE_CHECKING:
    from pipeline.store import Store

__all__ = ["command"]

_policy_option = click.option(
    "--policy",
    "policy_name",
    metavar="ID[@vN]",
    callback=keep_text,
    help="Policy that says when a grade is wrong.  [default: the newest standard one]",
)


@click.group("judge", short_help="Compare judges, and see whether one has changed.")
def command() -> None:
    """Compare two judges on the same submissions, and see whether a judge or what it gets has changed."""


@command.command("list", short_help="List which judges drafted what.")
@database_option
@json_option
@plain_option
def list_command(database: Path, as_json: bool, plain: bool) -> int:
    """List every scope: the judge, prompt, rubric and versions that drafts were made by, the latest first.

    The id in front is the beginning of its hash, which judge compare takes.
    """
    from pipeline.cli.judge_tables import describe_scope, print_scopes
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.routing.known_scopes import list_scopes

    with open_existing(database) as store:
        echo_notices(store)
        known = list_scopes(store)
    if as_json:
        print_json([describe_scope(one) for one in known])
        return ExitCode.OK
    print_scopes(Screen(plain), known)
    return ExitCode.OK


@command.command("compare", short_help="Show whether a judge is no worse than another.")
@click.argument("old", metavar="A", callback=keep_text)
@click.argument("new", metavar="B", callback=keep_text)
@database_option
@click.option(
    "--margin",
    type=Amount(min=0.0001, max=1, max_open=True),
    default=0.02,
    show_default=True,
    metavar="SHARE",
    help="How much more often B may err than A and still be no worse.",
)
@click.option(
    "--criterion",
    metavar="ID",
    callback=keep_text,
    help="Compare errors of this criterion.  [default: of the grade as a whole]",
)
@_policy_option
@click.option(
    "--constructed",
    is_flag=True,
    help="Use the levels that tasks give their own solutions too: no evidence of quality.",
)
@json_option
@plain_option
def compare_command(
    old: str,
    new: str,
    database: Path,
    margin: float,
    criterion: str | None,
    policy_name: str | None,
    constructed: bool,
    as_json: bool,
    plain: bool,
) -> int:
    """Compare judge B with judge A on the submissions that both drafted. Both are scopes: see judge list.

    Shows how often they differ, which takes no labels, and whether B errs at most the margin more often, by
    labels of the split for choosing. That they were used is kept: they never certify a judge. Exits with 0 if
    it is shown, 3 if it is not, and 2 if there are too few labels to say anything.

    \b
    Example:
      nki-grader judge compare 3f9a1c 77b2e0 --margin 0.05
    """
    from pipeline.cli.judge_tables import comparison_data, print_comparison
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.library.policies import load_policy
    from pipeline.review.constructed import constructed_labels
    from pipeline.review.labels import read_labels
    from pipeline.routing.judge_comparison import compare_judges
    from pipeline.routing.known_scopes import find_scope, list_scopes
    from pipeline.types import GRADE

    policy = load_policy(policy_name)
    with open_existing(database, read_only=False) as store:
        echo_notices(store)
        known = list_scopes(store)
        labels = read_labels(store)
        if constructed:
            told = {label.submission_id for label in labels}
            labels += [made for made in constructed_labels(store) if made.submission_id not in told]
        found = compare_judges(
            store,
            find_scope(known, old),
            find_scope(known, new),
            labels,
            policy=policy,
            criterion=criterion or GRADE,
            margin=margin,
        )
    if as_json:
        print_json(comparison_data(found))
    else:
        print_comparison(Screen(plain), found)
    if found.is_too_little:
        return ExitCode.USAGE
    return ExitCode.OK if found.is_shown else ExitCode.DIFFERENT


@command.command("replay", short_help="Ask the judge again, and see whether it has changed.")
@database_option
@click.option(
    "--items",
    "count",
    type=click.IntRange(min=20, max=10_000),
    default=40,
    show_default=True,
    metavar="N",
    help="Submissions to ask about, at most; fewer than 20 say nothing.",
)
@judge_options
@json_option
@plain_option
def replay_command(database: Path, count: int, as_json: bool, plain: bool, **judge: Any) -> int:
    """Ask the judge afresh about its golden set, and compare with the drafts that were kept.

    The set is the gold items that leads planted at the desk, filled up with labelled submissions; it stays
    the same from night to night. Where too little is known of how often the judge contradicts itself anyway,
    it is asked twice. Exits with 3 if it has changed beyond that, and with 2 if too little can be compared.

    \b
    Example:
      nki-grader judge replay --judge anthropic --items 50
    """
    from datetime import UTC, datetime

    from pipeline.cli.judge_tables import print_replay, replay_data
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.config import Settings
    from pipeline.judge import check_judge
    from pipeline.routing.replay import replay_golden

    judge["fresh"] = judge["fresh"] or datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    settings = Settings(**judge)
    check_judge(settings)
    with open_existing(database, read_only=False) as store:
        echo_notices(store)
        # Said first: a run that is killed says nothing any more.
        click.echo(f"note: asking anew; --fresh {settings.fresh} goes on with this replay", err=True)
        found = replay_golden(store, settings, count)
    if as_json:
        print_json(replay_data(found))
    else:
        print_replay(Screen(plain), found)
    if found.stopped is not None:
        click.echo(f"stopped: {found.stopped}; the same command with --fresh {found.label} goes on", err=True)
        return ExitCode.STOPPED
    if found.changed is None:
        return ExitCode.USAGE
    return ExitCode.DIFFERENT if found.changed else ExitCode.OK


@command.command("drift", short_help="Compare two batches or nights without labels.")
@click.argument("before", required=False, metavar="[BATCH_A", callback=keep_text)
@click.argument("after", required=False, metavar="BATCH_B]", callback=keep_text)
@database_option
@click.option(
    "--nights",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compare the latest night with the N nights before it that graded anything (UTC days).",
)
@_policy_option
@json_option
@plain_option
def drift_command(
    before: str | None,
    after: str | None,
    database: Path,
    nights: int | None,
    policy_name: str | None,
    as_json: bool,
    plain: bool,
) -> int:
    """Compare confidence, levels and the share that goes to people between two batches, or nights.

    It needs no labels, and so says that something changed, never whether grades became worse: other tasks or
    other authors change them too. Below stands the alarm over audits, which does count wrong grades. Exits
    with 3 if anything changed or the alarm is raised, and with 2 if there is too little to compare.

    \b
    Examples:
      nki-grader judge drift b-41 b-97
      nki-grader judge drift --nights 7
    """
    from pipeline.cli.judge_tables import print_drift
    from pipeline.cli.lookup import echo_notices, open_existing
    from pipeline.library.policies import load_policy
    from pipeline.routing.drift import compare_windows, read_window, watch_audits
    from pipeline.routing.truth import read_population

    if (nights is None) == (before is None) or (before is None) != (after is None):
        raise click.UsageError("give two batches, or --nights N")
    policy = load_policy(policy_name)
    with open_existing(database) as store:
        echo_notices(store)
        earlier, later = _choose_batches(store, before, after, nights)
        windows = read_window(store, earlier), read_window(store, later)
        changes = compare_windows(*windows)
        population = read_population(store, policy.loss)
        alarm = watch_audits(population.judged, policy.alpha, policy.delta)
    changed = alarm.raised_at is not None or any(change.changed for change in changes)
    if as_json:
        print_json(
            {
                "before": {"batches": earlier, "routed": windows[0].routed},
                "after": {"batches": later, "routed": windows[1].routed},
                "changes": [dataclasses.asdict(change) for change in changes],
                "alarm": dataclasses.asdict(alarm) | {"evidence": alarm.evidence},
                "changed": changed,
            }
        )
    else:
        print_drift(Screen(plain), (earlier, later), windows, changes, alarm)
    if changed:
        return ExitCode.DIFFERENT
    return ExitCode.USAGE if all(change.test.reason for change in changes) else ExitCode.OK


def _choose_batches(
    store: Store, before: str | None, after: str | None, nights: int | None
) -> tuple[list[str], list[str]]:
    from datetime import UTC

    from pipeline.cli.lookup import find_batch, not_found

    if nights is None:
        return [find_batch(store, before)], [find_batch(store, after)]
    by_night: dict[Any, list[str]] = {}
    for batch in store.list_batches():
        by_night.setdefault(batch.opened_at.astimezone(UTC).date(), []).append(batch.id)
    latest, *earlier = sorted(by_night, reverse=True) or [None]
    if not earlier:
        raise not_found("the database holds fewer than two nights", "grade on another night, or name batches")
    return [name for night in earlier[:nights] for name in by_night[night]], by_night[latest]
