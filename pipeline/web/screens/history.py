"""History: everything that happened to one review, with nothing that would lead whoever still assesses it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from pipeline.review.permissions import Permission
from pipeline.web.access import Here, allow
from pipeline.web.item_history import read_history
from pipeline.web.rendering import render

__all__ = ["router"]

router = APIRouter(dependencies=[allow(Permission.SEE_HISTORY)], include_in_schema=False)


@router.get("/history/{review_id}")
def show_history(request: Request, account: Here, review_id: str) -> HTMLResponse:
    """Show the timeline of a review, oldest first."""
    history = read_history(request, account, review_id)
    return render(
        request,
        "history.html",
        review=history.review,
        task=history.detail.task,
        task_id=history.detail.submission.task_id,
        pseudonym=history.author,
        sight=history.sight,
        rows=history.rows,
    )
