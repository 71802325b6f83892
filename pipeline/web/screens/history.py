"""History: everything that happened to one review, with nothing that would lead whoever still assesses it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from pipeline.report.collect import Collector
from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.web.access import Here, allow
from pipeline.web.context import context_of
from pipeline.web.rendering import render
from pipeline.web.services import norming_of
from pipeline.web.sight import find_sight
from pipeline.web.timeline import compose_timeline

__all__ = ["router"]

router = APIRouter(dependencies=[allow(Permission.SEE_HISTORY)], include_in_schema=False)


@router.get("/history/{review_id}")
def show_history(request: Request, account: Here, review_id: str) -> HTMLResponse:
    """Show the timeline of a review, oldest first."""
    context = context_of(request)
    try:
        state = context.store.load_review(review_id)
    except KeyError:
        raise DeskError("unknown", "there is no review with that id", "open one from the queue") from None
    events = context.store.desk.list_events_of(review_id)
    sight = find_sight(
        account,
        events,
        decided=state.decision is not None,
        in_session=any(
            review_id in session.review_ids and session.revealed_at is None
            for session in norming_of(request.app).list(account)
        ),
    )
    detail = Collector(context.store).load_detail(context.store.load_summary(state.review.grading_id))
    rows = compose_timeline(detail, state.review, events, state.decision, viewer=account.name, sight=sight)
    return render(
        request,
        "history.html",
        review=state.review,
        task=detail.task,
        task_id=detail.submission.task_id,
        pseudonym=context.desk.pseudonym(review_id),
        sight=sight,
        rows=rows,
    )
