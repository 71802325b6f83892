"""What ``grade --dry-run`` prints: who would be sent what, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

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
    with open_services(store, settings, caller=caller) as services:
        rehearsal = rehearse(items, services, caller, on_progress=on_progress)
    if as_json:
        print_json(_as_data(rehearsal, settings))
    else:
        _print(screen, rehearsal, settings)
    return ExitCode.OK


def _print(screen: Screen, rehearsal: Rehearsal, settings: Settings) -> None:
    from pipeline.judge.privacy import NEVER_SENT

    for rejection in rehearsal.rejections:
        screen.line(f"rejected: {rejection.fault}", style="yellow")
    if rehearsal.questions:
        screen.table(
            ["submission", "to", "model", "role", "asks about", "tokens at most", "cost at most"],
            [_cells(question, settings) for question in rehearsal.questions],
        )
        screen.heading("What the first request holds")
        screen.table(
            ["what", "characters", "made of"],
            [[part.what, str(part.characters), part.where_from] for part in rehearsal.sent],
        )
        screen.heading("What is never sent")
        for line in NEVER_SENT:
            screen.line(f"  {line}")
        screen.line()
    total = _estimate_all(rehearsal, settings)
    screen.line(
        f"{rehearsal.total} submissions: a model would be asked about {rehearsal.asking}, in"
        f" {len(rehearsal.questions)} calls of at most {total['input_tokens']} tokens read and"
        f" {total['output_tokens']} written, ${total['cost'] / _MICRO:.2f} at most"
        + (f" ({total['unpriced']} of them without a known price)" if total["unpriced"] else "")
    )
    screen.line("Repairs, a second and an arbiter come on top where a first answer leads to them.")
    screen.line("Nothing was sent. The whole text of every request: --json")


def _cells(question: Question, settings: Settings) -> list[str]:
    estimate = _estimate(question, settings)
    return [
        question.submission_id,
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


def _estimate_all(rehearsal: Rehearsal, settings: Settings) -> dict[str, int]:
    total = {"input_tokens": 0, "output_tokens": 0, "cost": 0, "unpriced": 0}
    for question in rehearsal.questions:
        for name, value in _estimate(question, settings).items():
            total[name] += value
    return total


def _as_data(rehearsal: Rehearsal, settings: Settings) -> dict[str, Any]:
    from pipeline.judge.privacy import NEVER_SENT

    return {
        "total": rehearsal.total,
        "asking": rehearsal.asking,
        "held": rehearsal.held,
        "estimate": _estimate_all(rehearsal, settings),
        "never_sent": list(NEVER_SENT),
        "requests": [
            {
                "submission_id": question.submission_id,
                "grading_id": question.grading_id,
                "provider": question.role.called,
                "base_url": question.role.base_url,
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
