"""Progress and agreement over the API: the figures of the page, and the reviews behind each."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Request
from pydantic import Field

from pipeline.review.audit_slice import AuditSlice
from pipeline.review.concordance import CriterionAgreement, ReviewerSpread
from pipeline.review.gold import Accuracy
from pipeline.review.permissions import Permission, may
from pipeline.review.progress import Changes, Day, FastAgreement, Pace, Report
from pipeline.review.rubric_changes import RubricChange
from pipeline.stats.agreement import Estimate, proportion
from pipeline.types import Account, Frozen
from pipeline.web.access import allow
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.listing import ListedReviews
from pipeline.web.progress_lists import Listed
from pipeline.web.services import progress_of
from pipeline.web.tonight import Tonight, measure_tonight

__all__ = ["router"]

router = make_router("/progress", tag="progress")

Watcher = Annotated[Account, allow(Permission.SEE_PROGRESS)]


class AgeCount(Frozen):
    """How many wait that are of one age."""

    age: str = Field(description="Its name, which the list of reviews takes.")
    places: int


class WaitingNow(Frozen):
    """What waits for a blind assessment."""

    places: int
    oldest_seconds: float | None = Field(description="Age of the oldest; null where nothing waits.")
    by_age: list[AgeCount]


class GoldAgreement(Frozen):
    """How many levels of gold items were the known ones."""

    items: int
    exact: Estimate = Field(description="Share of levels that are the known one.")
    within_one: int = Field(description="Levels that differ by one at most.")
    unjudged: int = Field(description="Known levels where a person could not judge.")


class GoldItems(Frozen):
    """How well everybody together agrees with what is known."""

    people: int
    overall: GoldAgreement
    by_criterion: dict[str, GoldAgreement]


class Figures(Frozen):
    """Progress and agreement; a figure of fewer than 20 observations is null, with the reason."""

    at: datetime = Field(description="When they were measured, at most about a minute ago.")
    days: list[Day] = Field(description="The last 14 days (UTC), the oldest first.")
    waiting: WaitingNow
    pace: Pace
    tonight: Tonight
    people: list[CriterionAgreement] = Field(description="First and second reviewers.")
    judge: list[CriterionAgreement] = Field(description="The judge, which comes first, and people.")
    imported: list[CriterionAgreement] = Field(description="The judge and labels of other programs.")
    reviewers: ReviewerSpread
    changes: Changes
    gold: GoldItems
    audit: AuditSlice
    fast: list[FastAgreement] | None = Field(description="For leads only: fast, and with all of the judge's.")
    rubric_changes: list[RubricChange] | None = Field(
        description="For leads only: what adjudicators want rubrics to say, the newest first."
    )


class ListedReview(Frozen):
    """One review behind a number."""

    review_id: str
    task_id: str
    at: datetime = Field(description="When it happened; of one that waits, since when it does.")
    words: str = Field(description="What is counted of it, such as two levels.")


@router.get(
    "", operation_id="getProgress", summary="How far the queue is, and who agrees", responses=refusals()
)
def describe_progress(request: Request, account: Watcher) -> Figures:
    """Throughput, what waits, agreement, changes after the reveal, gold items and audits, in aggregate."""
    report = progress_of(request.app).recall(account)
    leads = may(account.role, Permission.MANAGE)
    return Figures(
        at=report.at,
        days=list(report.days),
        waiting=_show_waiting(report),
        pace=report.pace,
        tonight=measure_tonight(request, report.pace),
        people=list(report.people),
        judge=list(report.judge),
        imported=list(report.imported),
        reviewers=report.reviewers,
        changes=report.changes,
        gold=GoldItems(
            people=report.gold.people,
            overall=_show_gold(report.gold.overall),
            by_criterion={name: _show_gold(found) for name, found in report.gold.by_criterion.items()},
        ),
        audit=report.audit,
        fast=list(report.fast) if leads else None,
        rubric_changes=[one for _, week in report.rubric_changes for one in week] if leads else None,
    )


@router.get(
    "/reviews",
    operation_id="listReviewsBehind",
    summary="List the reviews behind a number",
    responses=refusals(),
)
def list_reviews(
    account: Watcher, found: ListedReviews, cursor: Cursor = None, limit: Limit = 50
) -> Page[ListedReview]:
    """Oldest first; where levels are told, decided reviews only."""
    return paginate(found, _show, key=_order, cursor=cursor, limit=limit)


def _order(listed: Listed) -> str:
    return f"{listed.at.timestamp():020.6f} {listed.review_id} {listed.words}"


def _show(listed: Listed) -> ListedReview:
    return ListedReview(review_id=listed.review_id, task_id=listed.task_id, at=listed.at, words=listed.words)


def _show_waiting(report: Report) -> WaitingNow:
    waiting = report.waiting
    return WaitingNow(
        places=waiting.places,
        oldest_seconds=waiting.oldest.total_seconds() if waiting.oldest is not None else None,
        by_age=[AgeCount(age=age, places=places) for age, places in waiting.by_age],
    )


def _show_gold(accuracy: Accuracy) -> GoldAgreement:
    return GoldAgreement(
        items=accuracy.items,
        exact=proportion(accuracy.exact, accuracy.levels),
        within_one=accuracy.within_one,
        unjudged=accuracy.unjudged,
    )
