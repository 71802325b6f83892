"""What ``grade --dry-run`` prints: who would be sent what, and what it may cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.render import Screen, print_json

if TYPE_CHECKING:
    from pipeline.config import Settings
    from pipeline.graph.batch import Progress
    from pipeline.graph.rehearsal import Rehearsal
    from pipeline.judge.calls.caller import Question
    from pipeline.judge.calls.estimates import Estimate
    from pipeline.library.submissions import Received
    from pipeline.store import Store
    from pipeline.types import Rejection

__all__ = ["show_rehearsal"]

_MICRO = 1_000_000
#: Questions that are listed one by one; a night's run has thousands, and they differ little.
_LISTED = 20


def show_rehearsal(
    items: Iterable[Received | Rejection],
    store: Store,
    settings: Settings,
    screen: Screen,
    *,
    as_json: bool,
    count: bool,
    on_progress: Callable[[Progress], None] | None,
) -> int:
    """Rehearse grading `items` and print what would be sent; return the exit code.

    Args:
        items: Submissions.
        store: Where building and running is kept.
        settings: Name the judge.
        screen: Where to print.
        as_json: Whether to print JSON.
        count: Whether providers count the tokens, for which the text is sent to them.
        on_progress: Told after each submission.
    """
    from pipeline.graph.rehearsal import rehearse
    from pipeline.graph.services import open_services
    from pipeline.judge.calls.pending import CollectingCaller
    from pipeline.judge.setup import read_setup

    caller = CollectingCaller(read_setup(settings), store)
    origins: dict[str, str] = {}
    with open_services(store, settings, caller=caller) as services:
        rehearsal = rehearse(_note_origins(items, origins), services, caller, on_progress=on_progress)
    estimates = _estimate_each(rehearsal, settings, count=count)
    if as_json:
        print_json(_as_data(rehearsal, estimates, origins))
    else:
        _print(screen, rehearsal, settings, estimates, origins)
        screen.line(
            "Tokens were counted by the providers that can; nobody was asked to answer."
            if count
            else "Nothing was sent."
        )
    if not rehearsal.total:
        click.echo("error: there was nothing to grade: every input was rejected", err=True)
        return ExitCode.USAGE
    return ExitCode.OK


def _note_origins(
    items: Iterable[Received | Rejection], origins: dict[str, str]
) -> Iterator[Received | Rejection]:
    """Pass `items` on, and remember where each submission came from."""
    from pipeline.library.submissions import Received

    for item in items:
        if isinstance(item, Received):
            origins.setdefault(item.submission.id, item.origin)
        yield item


def _print(
    screen: Screen,
    rehearsal: Rehearsal,
    settings: Settings,
    estimates: Mapping[str, Estimate],
    origins: dict[str, str],
) -> None:
    from pipeline.judge.privacy import NEVER_SENT

    for rejection in rehearsal.rejections:
        screen.line(f"rejected: {rejection.fault}", style="yellow")
    if rehearsal.questions:
        screen.table(
            ["submission", "to", "model", "role", "asks about", "tokens at most", "cost at most"],
            [_cells(question, estimates, origins) for question in rehearsal.questions[:_LISTED]],
        )
        if len(rehearsal.questions) > _LISTED:
            screen.line(f"and {len(rehearsal.questions) - _LISTED} more; --json lists them all")
        screen.heading("Who would be sent code")
        for line in _list_receivers(rehearsal, settings, estimates):
            screen.line(f"  {line}")
        screen.heading("What the first request holds")
        screen.table(
            ["what", "characters", "made of"],
            [[part.what, str(part.characters), part.where_from] for part in rehearsal.sent],
        )
        screen.heading("What is never sent")
        for text in NEVER_SENT:
            screen.line(f"  {text}")
        screen.line()
    asked = f"a model would be asked about {rehearsal.asking}"
    screen.line(
        f"{_count(rehearsal.total, 'submission')}: {asked if rehearsal.asking else 'no model would be asked'}"
    )
    if rehearsal.questions:
        screen.line("Repairs, a second and an arbiter come on top where a first answer leads to them.")
    if rehearsal.held:
        screen.line(
            f"{rehearsal.held} held by a fault of this machine: the real run tries again", style="yellow"
        )
    if rehearsal.questions:
        screen.line("The whole text of every request: --json")


def _list_receivers(
    rehearsal: Rehearsal, settings: Settings, estimates: Mapping[str, Estimate]
) -> Iterator[str]:
    """Yield a line per provider and model: where it is, how often it is asked, and what that may cost."""
    groups: dict[tuple[str, str, str], list[Question]] = {}
    for question in rehearsal.questions:
        role = question.role
        where = _hide_password(role.base_url) or "its own address"
        groups.setdefault((role.called, role.model, where), []).append(question)
    for (called, model, where), questions in groups.items():
        total = _add_up(estimates[question.key] for question in questions)
        cost = "price unknown" if total.unpriced else f"${total.cost / _MICRO:.2f} at most"
        how = " in batches" if settings.provider_batches else ""
        yield (
            f"{called} {model} at {where}: {_count(len(questions), 'call')}{how}, at most"
            f" {total.input_tokens} tokens read and {total.output_tokens} written, {cost}"
        )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _cells(question: Question, estimates: Mapping[str, Estimate], origins: dict[str, str]) -> list[str]:
    estimate = estimates[question.key]
    return [
        PurePath(origins.get(question.submission_id, question.submission_id)).name,
        question.role.called,
        question.role.model,
        question.role_name,
        ", ".join(question.criteria),
        str(estimate.input_tokens + estimate.output_tokens),
        "unknown" if estimate.unpriced else f"${estimate.cost / _MICRO:.4f}",
    ]


def _estimate_each(rehearsal: Rehearsal, settings: Settings, *, count: bool) -> dict[str, Estimate]:
    """Return what each question may take at most, by its key."""
    from pipeline.judge.calls.counting import count_questions
    from pipeline.judge.calls.estimates import estimate_call
    from pipeline.judge.providers.models import find_model

    counted = asyncio.run(count_questions(rehearsal.questions)) if count else {}
    return {
        question.key: estimate_call(
            question.request,
            find_model(question.role),
            batch=settings.provider_batches,
            counted=counted.get(question.key),
        )
        for question in rehearsal.questions
    }


def _add_up(estimates: Iterable[Estimate]) -> Estimate:
    from pipeline.judge.calls.estimates import Estimate

    return sum(estimates, Estimate())


def _say_estimate(estimate: Estimate) -> dict[str, int]:
    return {
        "input_tokens": estimate.input_tokens,
        "output_tokens": estimate.output_tokens,
        "cost": estimate.cost,
        "unpriced": estimate.unpriced,
    }


def _as_data(
    rehearsal: Rehearsal, estimates: Mapping[str, Estimate], origins: dict[str, str]
) -> dict[str, Any]:
    from pipeline.judge.privacy import NEVER_SENT

    return {
        "total": rehearsal.total,
        "asking": rehearsal.asking,
        "held": rehearsal.held,
        "estimate": _say_estimate(_add_up(estimates.values())),
        "never_sent": list(NEVER_SENT),
        "requests": [
            {
                "submission_id": question.submission_id,
                "origin": origins.get(question.submission_id),
                "grading_id": question.grading_id,
                "provider": question.role.called,
                "base_url": _hide_password(question.role.base_url),
                "model": question.role.model,
                "role": question.role_name,
                "criteria": list(question.criteria),
                "estimate": _say_estimate(estimates[question.key]),
                "system": list(question.request.system),
                "messages": [
                    {"role": message.role, "text": message.text} for message in question.request.messages
                ],
                "schema": dict(question.request.schema),
            }
            for question in rehearsal.questions
        ],
        "rejections": [rejection.model_dump(mode="json") for rejection in rehearsal.rejections],
    }


def _hide_password(address: str | None) -> str | None:
    """Return `address` without a name and a password in it."""
    if address is None or "@" not in address:
        return address
    split = urlsplit(address)
    return urlunsplit(split._replace(netloc=split.netloc.rpartition("@")[2]))
