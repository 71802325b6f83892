"""What ``grade --dry-run`` prints: who would be sent what, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
    on_progress: Callable[[Progress], None] | None,
) -> int:
    """Rehearse grading `items` and print what would be sent; return the exit code."""
    from pipeline.graph.rehearsal import rehearse
    from pipeline.graph.services import open_services
    from pipeline.judge.calls.pending import CollectingCaller
    from pipeline.judge.setup import read_setup

    caller = CollectingCaller(read_setup(settings), store)
    origins: dict[str, str] = {}
    with open_services(store, settings, caller=caller) as services:
        rehearsal = rehearse(_note_origins(items, origins), services, caller, on_progress=on_progress)
    if as_json:
        print_json(_as_data(rehearsal, settings, origins))
    else:
        _print(screen, rehearsal, settings, origins)
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


def _print(screen: Screen, rehearsal: Rehearsal, settings: Settings, origins: dict[str, str]) -> None:
    from pipeline.judge.privacy import NEVER_SENT

    for rejection in rehearsal.rejections:
        screen.line(f"rejected: {rejection.fault}", style="yellow")
    if rehearsal.questions:
        screen.table(
            ["submission", "to", "model", "role", "asks about", "tokens at most", "cost at most"],
            [_cells(question, settings, origins) for question in rehearsal.questions[:_LISTED]],
        )
        if len(rehearsal.questions) > _LISTED:
            screen.line(f"and {len(rehearsal.questions) - _LISTED} more; --json lists them all")
        screen.heading("Who would be sent code")
        for line in _list_receivers(rehearsal, settings):
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
    screen.line(
        "Nothing was sent." + (" The whole text of every request: --json" if rehearsal.questions else "")
    )


def _list_receivers(rehearsal: Rehearsal, settings: Settings) -> Iterator[str]:
    """Yield a line per provider and model: where it is, how often it is asked, and what that may cost."""
    groups: dict[tuple[str, str, str], list[Question]] = {}
    for question in rehearsal.questions:
        role = question.role
        where = role.base_url or "its own address"
        groups.setdefault((role.called, role.model, where), []).append(question)
    for (called, model, where), questions in groups.items():
        total = _estimate_all(questions, settings)
        cost = "price unknown" if total["unpriced"] else f"${total['cost'] / _MICRO:.2f} at most"
        how = " in batches" if settings.provider_batches else ""
        yield (
            f"{called} {model} at {where}: {_count(len(questions), 'call')}{how}, at most"
            f" {total['input_tokens']} tokens read and {total['output_tokens']} written, {cost}"
        )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _cells(question: Question, settings: Settings, origins: dict[str, str]) -> list[str]:
    estimate = _estimate(question, settings)
    return [
        PurePath(origins.get(question.submission_id, question.submission_id)).name,
        question.role.called,
        question.role.model,
        question.role_name,
        ", ".join(question.criteria),
        str(estimate["input_tokens"] + estimate["output_tokens"]),
        "unknown" if estimate["unpriced"] else f"${estimate['cost'] / _MICRO:.4f}",
    ]


def _estimate(question: Question, settings: Settings) -> dict[str, int]:
    from pipeline.judge.calls.estimates import estimate_call
    from pipeline.judge.providers.models import find_model

    found = estimate_call(question.request, find_model(question.role), batch=settings.provider_batches)
    return {
        "input_tokens": found.input_tokens,
        "output_tokens": found.output_tokens,
        "cost": found.cost,
        "unpriced": found.unpriced,
    }


def _estimate_all(questions: Iterable[Question], settings: Settings) -> dict[str, int]:
    total = {"input_tokens": 0, "output_tokens": 0, "cost": 0, "unpriced": 0}
    for question in questions:
        for name, value in _estimate(question, settings).items():
            total[name] += value
    return total


def _as_data(rehearsal: Rehearsal, settings: Settings, origins: dict[str, str]) -> dict[str, Any]:
    from pipeline.judge.privacy import NEVER_SENT

    return {
        "total": rehearsal.total,
        "asking": rehearsal.asking,
        "held": rehearsal.held,
        "estimate": _estimate_all(rehearsal.questions, settings),
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
                "estimate": _estimate(question, settings),
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
