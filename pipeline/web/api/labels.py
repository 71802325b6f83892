"""Labels over the API: what people said blind, for whoever works with it elsewhere."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request

from pipeline.review.labels import Label, Labels
from pipeline.review.permissions import Permission
from pipeline.types import Account
from pipeline.web.access import allow
from pipeline.web.api.paging import Cursor, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.services import service

__all__ = ["router"]

router = make_router("/labels", tag="labels")

Exporter = Annotated[Account, allow(Permission.EXPORT)]


@router.get("", operation_id="listLabels", summary="List labels", responses=refusals())
def list_labels(
    request: Request,
    account: Exporter,
    names: Annotated[bool, Query(description="Whether raters are named; else each has a pseudonym.")] = False,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Longest page.")] = 200,
) -> Page[Label]:
    """One row per criterion, oldest first: blind levels only, the only ones that statistics use."""
    labels = service(request, Labels, Labels)
    return paginate(
        labels.read(),
        (lambda label: label) if names else labels.hide_rater,
        key=_key,
        cursor=cursor,
        limit=limit,
    )


def _key(label: Label) -> str:
    slot = -1 if label.slot is None else label.slot
    when = f"{label.at.timestamp():020.6f}"
    return " ".join((when, label.review_id, str(slot), label.criterion, label.source, label.rater))
