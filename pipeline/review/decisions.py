"""What a reviewer may decide, and what that makes of a draft."""

from __future__ import annotations

from pipeline.errors import GraderError
from pipeline.judge.scoring import grade_overall
from pipeline.store import Store
from pipeline.types import (
    Criterion,
    Decision,
    Fault,
    Inspection,
    Judgment,
    OverallGrade,
    Owner,
    Rubric,
    Score,
)

__all__ = ["ReviewError", "apply_decision", "check_decision", "decide"]


class ReviewError(GraderError):
    """A decision that cannot stand; the review still waits."""


def check_decision(decision: Decision, rubric: Rubric) -> None:
    """Hold a decision to the rubric that its review is judged by.

    Raises:
        ReviewError: If it names a criterion or a level that the rubric does not have, leaves one unjudged
            without a reason, or overrides the overall result without one.
    """
    criteria = {criterion.id: criterion for criterion in rubric.criteria}
    for name in (*decision.levels, *decision.unjudged):
        if name not in criteria:
            raise _refusal(
                decision,
                f"rubric {rubric.id} {rubric.version} has no criterion {name!r}",
                f"choose from: {', '.join(criteria)}",
            )
    for name, why in decision.unjudged.items():
        if name in decision.levels:
            raise _refusal(
                decision, f"criterion {name!r} has a level and none at once", "leave one of the two out"
            )
        if not why.strip():
            raise _refusal(
                decision, f"criterion {name!r} cannot be judged, but nothing says why", "add the reason"
            )
    for name, level in decision.levels.items():
        offered = [step.level for step in criteria[name].levels]
        if level not in offered:
            raise _refusal(
                decision,
                f"criterion {name!r} has no level {level}",
                f"choose from: {', '.join(map(str, offered))}",
            )
    if decision.passed is not None and not decision.comment.strip():
        raise _refusal(
            decision, "overriding pass or fail needs a comment that says why", "add the reason as the comment"
        )


def decide(store: Store, decision: Decision) -> None:
    """Check a decision against its review's rubric and keep it for good.

    Raises:
        ReviewError: If it cannot stand; the review still waits.
        StoreError: If the review is unknown or already decided.
    """
    review = store.load_review(decision.review_id).review
    fingerprint = store.load_grading(review.grading_id).fingerprint
    document = store.find_document(fingerprint.rubric)
    if document is None:
        raise _refusal(
            decision, "the rubric of this review is not in the store", "restore the database from a snapshot"
        )
    check_decision(decision, Rubric.model_validate_json(document.text))
    store.decide(decision)


def apply_decision(
    decision: Decision, rubric: Rubric, inspection: Inspection, draft: Judgment
) -> tuple[tuple[Score, ...], OverallGrade]:
    """Return the scores and the overall grade after a reviewer's decision; the draft itself is kept apart."""
    drafted = {score.criterion: score for score in draft.scores}
    decided = {*decision.levels, *decision.unjudged}
    # A draft that failed may know fewer criteria than people levelled.
    scores = tuple(
        _decide_score(drafted.get(criterion.id) or _unscored(criterion), decision)
        for criterion in rubric.criteria
        if criterion.id in drafted or criterion.id in decided
    )
    overall = grade_overall(rubric, scores, inspection.reports)
    if decision.passed is not None and decision.passed != overall.passed:
        overall = overall.model_copy(
            update={"passed": decision.passed, "reason": f"{decision.reviewer} decided: {decision.comment}"}
        )
    return scores, overall


def _decide_score(score: Score, decision: Decision) -> Score:
    level, unjudged = decision.levels.get(score.criterion), decision.unjudged.get(score.criterion)
    if level is None and unjudged is None:
        return score
    return score.model_copy(
        update={
            "level": level,
            "source": f"reviewer:{decision.reviewer}",
            "reason": unjudged or decision.comment or f"decided by {decision.reviewer}",
            "citations": (),
            "confidence": None,
        }
    )


def _unscored(criterion: Criterion) -> Score:
    return Score(criterion=criterion.id, level=None, source=criterion.source, reason="no draft")


def _refusal(decision: Decision, message: str, remedy: str) -> ReviewError:
    return ReviewError(
        Fault(
            owner=Owner.ENVIRONMENT,
            code="invalid_decision",
            message=message,
            where=f"review {decision.review_id}",
            remedy=remedy,
        )
    )
