"""Submissions of any code in the queue: as really graded ones, but for what a test says."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from fastapi.testclient import TestClient

from pipeline.review.desk import Desk
from pipeline.review.places import Place
from pipeline.review.queue import review_id_of
from pipeline.store import StageRecord, Store
from pipeline.types import (
    Account,
    Batch,
    BatchItem,
    Citation,
    Destination,
    FeedbackItem,
    Grading,
    Judgment,
    OverallGrade,
    Review,
    Role,
    Route,
    Score,
    Submission,
)

ANNA = Account(name="anna", role=Role.REVIEWER, display="Anna")
BEN = Account(name="ben", role=Role.REVIEWER, display="Ben")

#: What nobody may read before they have committed.
SECRETS = ("JUDGE-REASON", "JUDGE-NAME", "DRAFTED-FEEDBACK", "ROUTE-REASON", "QUEUE-REASON", "secret-author")


def address(place: Place) -> str:
    """Return where the page of a place is."""
    return f"/review/{place.item.review.id}/{place.slot}"


def enqueue(store: Store, desk: Desk, code: str, *, task: str = "rmsnorm", level: int = 4) -> str:
    """Put `code` into the queue as an attempt at `task`; its judge gives `level`. Return the review."""
    model = next(row for row in store.list_gradings() if row.task_id == task and row.state == "waiting")
    graded = store.load_grading(model.grading_id)
    submission = Submission(id=Submission.identify(task, code.encode()), task_id=task, code=code)
    grading = Grading(
        id=graded.fingerprint.grading_id(submission.id),
        submission_id=submission.id,
        fingerprint=graded.fingerprint,
    )
    store.save_submissions([submission])
    store.save_gradings([grading])
    item = BatchItem(
        grading_id=grading.id,
        submission_id=submission.id,
        origin=f"secret-author/{submission.id}.py",
        author="secret-author declared",
    )
    store.open_batch(Batch(id=f"b-{submission.id}", opened_at=datetime.now(UTC), items=(item,)))
    stages = store.list_stages(model.grading_id)
    stages["judge"] = f"judge of {submission.id}"
    store.record_stage(
        StageRecord(stage="judge", key=stages["judge"], output=_judgment(level).model_dump_json(), seconds=0)
    )
    store.link_stages(grading.id, stages)
    store.save_route(
        grading.id, Route(destination=Destination.REVIEW, reason="ROUTE-REASON", policy="gates 1")
    )
    review = Review(
        id=review_id_of(grading.id),
        grading_id=grading.id,
        reason="QUEUE-REASON",
        opened_at=datetime.now(UTC),
    )
    store.open_review(review)
    store.flush()
    desk.refresh()
    return review.id


def _judgment(level: int) -> Judgment:
    scores = tuple(
        Score(
            criterion=criterion,
            level=level,
            source="judge",
            reason=f"JUDGE-REASON for {criterion}",
            citations=(Citation(kind="lines", first_line=1, last_line=1, quote="import nki"),),
        )
        for criterion in ("accumulation", "rounding_points", "low_precision", "equivalence_claim")
    )
    return Judgment(
        judge="JUDGE-NAME",
        scores=scores,
        feedback=(
            FeedbackItem(part="works", text="DRAFTED-FEEDBACK one"),
            FeedbackItem(part="change", text="DRAFTED-FEEDBACK two"),
        ),
        overall=OverallGrade(value=1.0, passed=True, reason="JUDGE-REASON", scored_weight=1.0),
    )


def hand(desk: Desk, account: Account, review_id: str) -> Place:
    """Draw until `account` has that review."""
    for attempt in range(20):
        place = desk.draw(account, key=f"hand-{review_id}-{attempt}")
        assert place is not None, "it is not in the queue"
        if place.item.review.id == review_id:
            return place
        desk.hand_back(
            account, place.item.review.id, place.slot, place.lease_id, reason="not that one", skip=True
        )
    raise AssertionError("it was never drawn")


def form_of(client: TestClient, address: str) -> dict[str, str | list[str]]:
    """Return the fields that a browser would send from the page at `address`, untouched."""
    page = client.get(address).text
    return fields_of(page)


def fields_of(page: str) -> dict[str, str | list[str]]:
    """Return what the hidden fields of a page's assessment hold."""
    form = page[page.index('id="assessment"') :]
    names = ("csrf", "stage", "lease_id", "rubric", "revision", "seconds", "key", "shown_mode")
    found: dict[str, str | list[str]] = {}
    for name in names:
        match = re.search(rf'name="{name}" value="([^"]*)"', form)
        assert match, name
        found[name] = match[1]
    return found
