"""Labels over the API: what people said blind, to be used elsewhere, and what they said elsewhere."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal

from fastapi import Query, Request
from pydantic import Field
from starlette.responses import Response

from pipeline.review.exchange import import_answers
from pipeline.review.exchange.argilla import read_responses
from pipeline.review.exchange.label_studio import read_annotations
from pipeline.review.exports import MEDIA_TYPES, Format
from pipeline.review.labels import Label
from pipeline.review.permissions import Permission
from pipeline.types import Account, Frozen
from pipeline.types.visible import show_controls
from pipeline.web.access import allow
from pipeline.web.api.paging import Cursor, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.context import context_of
from pipeline.web.label_files import send_labels
from pipeline.web.services import labels_of

__all__ = ["router"]

router = make_router("/labels", tag="labels")

Exporter = Annotated[Account, allow(Permission.EXPORT)]
Lead = Annotated[Account, allow(Permission.MANAGE)]
Names = Annotated[bool, Query(description="Whether raters are named; else each has a pseudonym.")]

_MOST_LISTED: Final = 200


class ImportRequest(Frozen):
    """What people answered in another program."""

    program: Literal["label_studio", "argilla"]
    records: list[dict[str, Any]] = Field(description="As that program exports them in JSON.")
    raters: dict[str, str] = Field(
        default_factory=dict, description="Names of users whom the records know by number or id."
    )


class RefusedRow(Frozen):
    """A row that was not taken."""

    where: str
    reason: str


class Imported(Frozen):
    """What became of the records."""

    assessments: int = Field(description="Persons' assessments that were kept.")
    labels: int = Field(description="Answers in them.")
    skipped: int = Field(description="Rows without an answer, such as drafts.")
    refused: list[RefusedRow] = Field(description="The first rows that were not taken, with the reason.")
    more_refused: int = Field(description="How many more were not.")


@router.get("", operation_id="listLabels", summary="List labels", responses=refusals())
def list_labels(
    request: Request,
    account: Exporter,
    names: Names = False,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Longest page.")] = 200,
) -> Page[Label]:
    """One row per criterion, oldest first: blind levels only, the only ones that statistics use."""
    labels = labels_of(request.app)
    return paginate(
        labels.read(),
        (lambda label: label) if names else labels.hide_rater,
        key=_key,
        cursor=cursor,
        limit=limit,
    )


@router.get(
    "/file",
    operation_id="exportLabels",
    summary="All labels as a file",
    response_class=Response,
    responses={
        **refusals(),
        200: {
            "description": "The file.",
            "content": {media_type: {"schema": {"type": "string"}} for media_type in MEDIA_TYPES.values()},
        },
    },
)
def export_file(
    request: Request,
    account: Exporter,
    format: Annotated[Format, Query(description="Parquet for analysis, JSON Lines or CSV.")] = "jsonl",
    names: Names = False,
) -> Response:
    """The same rows as the list, whole."""
    return send_labels(labels_of(request.app), format, names=names)


@router.post(
    "/imports", operation_id="importLabels", summary="Take in labels made elsewhere", responses=refusals()
)
def import_labels(request: Request, account: Lead, asked: ImportRequest) -> Imported:
    """Kept with their origin and never part of a decision; the same records again change nothing."""
    data = json.dumps(asked.records).encode()
    if asked.program == "label_studio":
        rows = read_annotations(data, asked.raters)
    else:
        rows = read_responses(data, asked.raters)
    result = import_answers(context_of(request).store, asked.program, rows, imported_by=account.name)
    return Imported(
        assessments=result.assessments,
        labels=result.labels,
        skipped=result.skipped,
        refused=[
            RefusedRow(where=row.where, reason=show_controls(row.reason)) for row in result.bad[:_MOST_LISTED]
        ],
        more_refused=max(0, len(result.bad) - _MOST_LISTED),
    )


def _key(label: Label) -> str:
    slot = -1 if label.slot is None else label.slot
    when = f"{label.at.timestamp():020.6f}"
    subject = f"{label.review_id} {label.grading_id} {label.rubric}"
    return " ".join((when, subject, str(slot), label.criterion, label.source, label.rater))
