"""Run it again: the tab of the evidence in which a reviewer has a submission's programs run once more."""

from __future__ import annotations

import secrets
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.reruns import RerunKind
from pipeline.web.assessment_form import Fields, read_text
from pipeline.web.context import context_of
from pipeline.web.item_page import (
    Reviewer,
    ReviewId,
    Slot,
    keep_draft,
    read_form,
    read_stage,
    shown_mode,
    to_place,
)
from pipeline.web.rendering import render
from pipeline.web.reruns import rerun_values
from pipeline.web.screens.reveal import keep_causes
from pipeline.web.services import reruns_of

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

_PATH: Final = "/review/{review_id}/{slot}/rerun"


@router.get(_PATH)
def show_reruns(
    request: Request,
    account: Reviewer,
    review_id: ReviewId,
    slot: Slot,
    known: Annotated[str, Query(max_length=100)] = "",
) -> HTMLResponse:
    """Return the tab as it stands; `known` is the rerun that the page waits for."""
    desk, reruns = context_of(request).desk, reruns_of(request.app).list(account, review_id, slot)
    # Looking how far one's own rerun is must not keep the lease: nobody may be there.
    place = desk.place(review_id, slot) if reruns else desk.open(account, review_id, slot)
    forgotten = bool(known) and known not in {rerun.id for rerun in reruns}
    return render(
        request, "workspace/rerun.html", forgotten=forgotten, **rerun_values(request, account, place)
    )


@router.post(_PATH)
def run_again(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields
) -> Response:
    """Have it run again; a page without script sends its form along, which is kept."""
    desk, kind = context_of(request).desk, _read_kind(read_text(fields, "rerun"))
    if read_text(fields, "lease_id"):
        stage, assessment = read_stage(fields), read_form(request, review_id, fields)
        saved = keep_draft(request, account, review_id, slot, fields, assessment, stage)
        if stage == "final":
            keep_causes(context_of(request).store, saved, fields)
    reruns_of(request.app).ask(account, review_id, slot, kind, key=secrets.token_hex(16))
    if "hx-request" in request.headers:
        values = rerun_values(request, account, desk.place(review_id, slot))
        return render(request, "workspace/rerun.html", forgotten=False, **values)
    answer = to_place(request, review_id, slot, shown_mode(fields))
    answer.headers["location"] += "#tab-rerun"
    return answer


def _read_kind(text: str) -> RerunKind:
    try:
        return RerunKind(text)
    except ValueError:
        raise DeskError(
            "invalid", "nothing runs again in that way", f"choose from: {', '.join(RerunKind)}"
        ) from None
