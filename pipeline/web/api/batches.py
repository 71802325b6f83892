"""Batches over the API: counts only, since outcomes of single gradings would lead whoever reviews them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated

from fastapi import Path, Request
from pydantic import Field

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.types import Account, Frozen
from pipeline.web.access import allow
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.context import context_of
from pipeline.web.services import batch_figures_of

__all__ = ["router"]

router = make_router("/batches", tag="batches")

Watcher = Annotated[Account, allow(Permission.SEE_BATCHES)]


class BatchLine(Frozen):
    """One batch, in one line."""

    id: str
    opened_at: datetime
    gradings: int
    rejections: int = Field(description="Inputs that are no submissions.")
    closed: bool = Field(description="Whether no work is left on it.")


class BatchCounts(Frozen):
    """Where the inputs of one batch stand."""

    id: str
    opened_at: datetime
    gradings: int
    rejections: dict[str, int] = Field(description="Inputs that are no submissions, per reason.")
    states: dict[str, int] = Field(description="Gradings per state, such as `waiting` or `graded`.")
    verdicts: dict[str, int] = Field(description="Gradings per verdict; `none yet` for those without one.")
    tasks: dict[str, int] = Field(description="Gradings per task.")


@router.get("", operation_id="listBatches", summary="List batches", responses=refusals())
def list_batches(
    request: Request, account: Watcher, cursor: Cursor = None, limit: Limit = 50
) -> Page[BatchLine]:
    """Oldest first."""
    return paginate(
        context_of(request).store.list_batches(),
        lambda batch: BatchLine(**batch.model_dump()),
        key=lambda batch: f"{batch.opened_at.timestamp():020.6f} {batch.id}",
        cursor=cursor,
        limit=limit,
    )


@router.get(
    "/{batch_id}", operation_id="getBatch", summary="Where a batch stands", responses=refusals("unknown")
)
def describe_batch(
    request: Request,
    account: Watcher,
    batch_id: Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="Id of a batch.")],
) -> BatchCounts:
    """Counts per state, verdict and task, of at most some seconds ago."""
    figures = batch_figures_of(request.app)
    try:
        sections = figures.count(batch_id)
    except KeyError:
        raise DeskError("unknown", f"there is no batch {batch_id!r}", "choose one from the list") from None
    batch, rows = sections.batch, sections.rows
    return BatchCounts(
        id=batch.id,
        opened_at=batch.opened_at,
        gradings=len(rows),
        rejections=dict(sorted(Counter(rejection.fault.code for rejection in batch.rejections).items())),
        states=dict(sorted(Counter(row.state for row in rows).items())),
        verdicts=dict(sorted(Counter(row.verdict or "none yet" for row in rows).items())),
        tasks=dict(sorted(Counter(row.task_id for row in rows).items())),
    )
