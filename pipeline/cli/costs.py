"""``nki-grader costs``: what calls to models cost, and which of them may have been paid twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.errors import ExitCode
from pipeline.cli.options import database_option, json_option, plain_option
from pipeline.cli.render import Screen, print_json

if TYPE_CHECKING:
    from pipeline.store import CostLine

__all__ = ["command"]

_GROUPS = ("day", "provider", "model", "role", "submission", "grading", "criterion")
_MICRO = 1_000_000


@click.command("costs", short_help="Show what calls to models cost.")
@database_option
@click.option(
    "--by",
    type=click.Choice(_GROUPS),
    default="day",
    show_default=True,
    help="What to add up by. A call about several criteria is split evenly among them.",
)
@json_option
@plain_option
def command(database: Path, by: Any, as_json: bool, plain: bool) -> int:
    """Show what calls to language models took and cost, in US dollars by the price list.

    Calls that were under way when a process died, or whose answer was lost, are named: the provider may have
    charged for them all the same. Works while a batch runs.
    """
    from pipeline.cli.lookup import echo_notices, open_existing

    with open_existing(database) as store:
        echo_notices(store)
        lines = store.ledger.list_costs(by)
        doubtful = store.ledger.list_doubtful()
    if as_json:
        print_json(
            {
                "by": by,
                "lines": [line.model_dump(mode="json") for line in lines],
                "possibly_paid_twice": [call.model_dump(mode="json") for call in doubtful],
            }
        )
        return ExitCode.OK
    screen = Screen(plain)
    if not lines:
        screen.line("No model was asked anything.")
        return ExitCode.OK
    header = [by, "calls", "answered", "failed", "lost", "open", "read", "cached", "written", "cost"]
    rows = [_cells(line.value or "(none)", line) for line in lines]
    if by != "criterion" and len(rows) > 1:
        rows.append(_cells("all", *lines))
    screen.table(header, rows)
    for call in doubtful:
        screen.line(
            f"possibly paid twice: {call.call_id} for {call.submission_id} ({call.provider} {call.model},"
            f" {call.outcome}, {call.started_at:%Y-%m-%d %H:%M} UTC, ${call.cost / _MICRO:.6f})",
            style="yellow",
        )
    return ExitCode.OK


def _cells(value: str, *lines: CostLine) -> list[str]:
    def add(name: str) -> int:
        return sum(getattr(line, name) for line in lines)

    return [
        value,
        *(str(add(name)) for name in ("calls", "answered", "failed", "lost", "open")),
        str(add("input_tokens") + add("cache_write_tokens")),
        str(add("cache_read_tokens")),
        str(add("output_tokens")),
        f"${add('cost') / _MICRO:.4f}",
    ]
