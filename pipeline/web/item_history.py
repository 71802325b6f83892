"""The history of one review as one person may read it, for its page and for the HTTP API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import Request

from pipeline.report.collect import Collector, Detail
from pipeline.review.errors import DeskError
from pipeline.store import Store
from pipeline.types import Account, Committed, DeskEvent, Review, Rubric
from pipeline.web.context import context_of
from pipeline.web.services import norming_of
from pipeline.web.sight import Sight, find_sight
from pipeline.web.timeline import Row, compose_timeline

__all__ = ["ItemHistory", "read_history"]


@dataclass(frozen=True, slots=True)
class ItemHistory:
    """What one person may read of what happened to a review.

    Attributes:
        review: The review.
        detail: Its grading; much of it is not for everybody.
        author: Pseudonym of whoever wrote the submission.
        sight: What the person may see.
        rows: What happened, as far as they may, oldest first.
    """

    review: Review
    detail: Detail
    author: str
    sight: Sight
    rows: tuple[Row, ...]


def read_history(request: Request, account: Account, review_id: str) -> ItemHistory:
    """Return the history of a review as `account` may see it now.

    Raises:
        DeskError: ``unknown``.
    """
    context = context_of(request)
    try:
        state = context.store.load_review(review_id)
    except KeyError:
        raise DeskError("unknown", "there is no review with that id", "open one from the queue") from None
    events = context.store.desk.list_events_of(review_id)
    in_session = any(
        review_id in session.review_ids and session.revealed_at is None
        for session in norming_of(request.app).list(account)
    )
    sight = find_sight(account, events, decided=state.decision is not None, in_session=in_session)
    detail = Collector(context.store).load_detail(context.store.load_summary(state.review.grading_id))
    return ItemHistory(
        review=state.review,
        detail=detail,
        author=context.desk.pseudonym(review_id),
        sight=sight,
        rows=compose_timeline(
            detail,
            state.review,
            events,
            state.decision,
            rubrics=_name_rubrics(context.store, events),
            viewer=account.name,
            sight=sight,
        ),
    )


def _name_rubrics(store: Store, events: Iterable[DeskEvent]) -> dict[str, str]:
    """Return id and version by content hash of rubrics that somebody committed under, lost ones left out."""
    hashes = {event.action.rubric for event in events if isinstance(event.action, Committed)}
    documents = [store.find_document(sha256) for sha256 in sorted(hashes)]
    return {
        found.sha256: f"{rubric.id} {rubric.version}"
        for found in documents
        if found is not None
        for rubric in (Rubric.model_validate_json(found.text),)
    }
