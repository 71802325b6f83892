"""Put a grading where its route leads, and conclude it."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.review.audit_draw import open_audit
from pipeline.review.decisions import apply_decision
from pipeline.store import Store
from pipeline.types import (
    Destination,
    Grade,
    Grading,
    Inspection,
    Judgment,
    Review,
    Route,
    Rubric,
    hash_text,
)

__all__ = ["conclude", "enqueue", "review_id_of"]


def review_id_of(grading_id: str) -> str:
    """Return the id of the review that a grading's route asks for."""
    return "r-" + hash_text("review", grading_id)[:16]


def enqueue(
    store: Store, grading: Grading, route: Route, stages: dict[str, str], drawn: float | None = None
) -> str | None:
    """Keep a grading's route and, if it leads to a person, its place in the queue.

    Both are written in order but not committed yet: before anything waits for the person, wait for that.

    Args:
        stages: Content key of every stage of the grading.
        drawn: With which chance it was drawn to calibrate on; None where it was not. A grade that stands
            alone is audited then.

    Returns:
        The review's id, or None when no person is asked before the grade is released.
    """
    store.link_stages(grading.id, stages)
    store.save_route(grading.id, route)
    now = datetime.now(UTC)
    if route.destination not in (Destination.REVIEW, Destination.SECOND_REVIEW):
        if route.destination is Destination.ACCEPT and drawn is not None:
            store.open_review(open_audit(grading.id, now, probability=drawn, calibration=drawn))
        return None
    review = Review(
        id=review_id_of(grading.id),
        grading_id=grading.id,
        reason=route.reason,
        opened_at=now,
        calibration=drawn,
    )
    store.open_review(review)
    return review.id


def conclude(
    store: Store,
    grading: Grading,
    rubric: Rubric,
    inspection: Inspection,
    draft: Judgment,
    review_id: str | None,
    *,
    certified: bool = False,
) -> Grade:
    """Release the grade: the reviewer's where there was one, else what the gates or a certificate settled."""
    decision = store.load_review(review_id).decision if review_id else None
    if decision is None:
        scores, overall, comment = draft.scores, draft.overall, ""
        decided_by = "certificate" if certified else "gates"
        feedback = draft.feedback
    else:
        scores, overall = apply_decision(decision, rubric, inspection, draft)
        decided_by, comment = decision.reviewer, decision.comment
        feedback = draft.feedback if decision.feedback is None else decision.feedback
    grade = Grade(
        grading_id=grading.id,
        verdict=inspection.verdict,
        scores=scores,
        overall=overall,
        feedback=feedback,
        decided_by=decided_by,
        comment=comment,
        released_at=datetime.now(UTC),
    )
    store.save_grade(grade)
    return grade
