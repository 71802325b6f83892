"""Reruns as the pages of an item show them, to whoever asked for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Request

from pipeline.review.places import Place, PlaceState
from pipeline.review.reruns import Rerun, RerunCase
from pipeline.types import Account, OutputError
from pipeline.web.evidence import CaseRow, make_row
from pipeline.web.services import reading_of, reruns_of

__all__ = ["RerunRow", "RerunView", "rerun_values"]


@dataclass(frozen=True, slots=True)
class RerunRow:
    """One draw of one case.

    Attributes:
        case: As the other evidence shows it.
        worst: The output whose relative L2 error uses up most of its limit; None where nothing was compared.
        differences: Of a replay, what is not as recorded.
    """

    case: CaseRow
    worst: OutputError | None
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RerunView:
    """One rerun.

    Attributes:
        rerun: What was asked for.
        before: How many come before it while it waits.
        rows: What differs or fails comes first.
    """

    rerun: Rerun
    before: int
    rows: tuple[RerunRow, ...]


def rerun_values(request: Request, account: Account, place: Place) -> dict[str, Any]:
    """Return what the template of reruns is made of."""
    reruns, review_id = reruns_of(request.app), place.item.review.id
    run = reading_of(request.app).exhibits(place.item).evidence.run
    return {
        "base": f"/review/{review_id}/{place.slot}",
        "can_rerun": run is not None and bool(run.cases),
        "is_finished": place.state is PlaceState.FINISHED,
        "reruns": [
            RerunView(rerun, reruns.count_before(rerun), _list_rows(rerun))
            for rerun in reruns.list(account, review_id, place.slot)
        ],
    }


def _list_rows(rerun: Rerun) -> tuple[RerunRow, ...]:
    rows = [_make_row(case) for case in rerun.outcome.cases] if rerun.outcome else []
    rows.sort(key=lambda row: (not row.differences, row.case.result.verdict.value == "correct"))
    return tuple(rows)


def _make_row(case: RerunCase) -> RerunRow:
    compared = [error for error in case.result.errors if error.tolerance and error.tolerance.rel_l2 > 0]
    worst = max(compared, key=_use, default=None)
    return RerunRow(make_row(case.result), worst, case.differences)


def _use(error: OutputError) -> float:
    return error.rel_l2 / error.tolerance.rel_l2 if error.tolerance else 0.0
