"""What an item is judged by, over the API: code and evidence at once, the judge's draft after the commit."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import Field

from pipeline.report.collect import Collector, Detail
from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.review.places import Place, PlaceState
from pipeline.types import Account, Answer, FeedbackItem, Frozen, OverallGrade, Rubric, Score
from pipeline.types.visible import show_controls
from pipeline.web.access import allow
from pipeline.web.api.addresses import ReviewId, Slot
from pipeline.web.api.evidence import Evidence, show_evidence
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.context import Context, context_of

__all__ = ["router"]

router = make_router("/places/{review_id}/{slot}", tag="items")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]


class Item(Frozen):
    """A submission and what it is asked to be."""

    task_id: str
    title: str = Field(description="Of the task.")
    statement: str = Field(description="What the author was asked to do, in Markdown.")
    author: str = Field(description="Pseudonym.")
    code: str = Field(description="With every control and invisible character made visible.")
    source: dict[str, str] = Field(description="The CUDA or Triton original by file name, if there is one.")
    starter: str = Field(description="What the author started from.")
    rubric: Rubric
    rubric_hash: str = Field(description="A commit names it.")
    asked: list[str] = Field(description="Criteria that a person levels.")
    settled: dict[str, Answer] = Field(description="Levels that checks settled, per criterion.")


class Judged(Frozen):
    """The judge's draft."""

    judge: str
    scores: tuple[Score, ...]
    feedback: tuple[FeedbackItem, ...]
    overall: OverallGrade


@router.get(
    "/item",
    operation_id="getItem",
    summary="Code, task and rubric",
    responses=refusals("unknown", "forbidden", "not_held"),
)
def describe_item(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot) -> Item:
    """For whoever holds or finished the place; reading it renews the lease."""
    context = context_of(request)
    place, detail = _open(context, account, review_id, slot)
    desk, task = context.desk, detail.task
    return Item(
        task_id=place.item.task_id,
        title=task.title if task else place.item.task_id,
        statement=task.statement if task else "",
        author=desk.pseudonym(review_id),
        code=show_controls(detail.submission.code),
        source=task.source if task else {},
        starter=task.starter if task else "",
        rubric=desk.rubric_of(review_id),
        rubric_hash=place.item.rubric,
        asked=list(desk.asked_criteria(review_id)),
        settled=desk.settled_answers(review_id),
    )


@router.get(
    "/evidence",
    operation_id="getEvidence",
    summary="What deterministic checks established",
    responses=refusals("unknown", "forbidden", "not_held"),
)
def describe_evidence(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot) -> Evidence:
    """For whoever holds or finished the place; reading it renews the lease."""
    return show_evidence(_open(context_of(request), account, review_id, slot)[1])


@router.get(
    "/judgment",
    operation_id="getJudgment",
    summary="The judge's draft",
    responses=refusals("unknown", "forbidden", "not_held", "not_committed"),
)
def describe_judgment(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot) -> Judged:
    """Only once the caller's blind assessment is committed."""
    place, detail = _open(context_of(request), account, review_id, slot)
    if place.state not in (PlaceState.COMMITTED, PlaceState.FINISHED):
        raise DeskError(
            "not_committed",
            "the judge's draft is shown once the blind assessment is committed",
            "commit the blind assessment first",
        )
    judgment = detail.judgment
    if judgment is None:
        raise DeskError("unknown", "nobody drafted a judgment of this item", "assess it without one")
    return Judged(
        judge=judgment.judge,
        scores=judgment.scores,
        feedback=judgment.feedback,
        overall=judgment.overall,
    )


def _open(context: Context, account: Account, review_id: str, slot: int) -> tuple[Place, Detail]:
    place = context.desk.open(account, review_id, slot)
    summary = context.store.load_summary(place.item.review.grading_id)
    return place, Collector(context.store).load_detail(summary)
