"""Drafts as a judge made them, for replays: of submissions that differ in a comment."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from pipeline.config import Settings
from pipeline.judge import JudgeRequest, open_judge
from pipeline.review.labels import FileLabel, keep_file_labels
from pipeline.store import Document, StageRecord, Store
from pipeline.types import Answer, Grading, Inspection, Submission
from tests.checks.evidence import CODE, an_honest_answer
from tests.judge.test_rules_judge import a_request
from tests.review.desk_examples import NOON
from tests.store.examples import FINGERPRINT

COUNT = 20
REQUEST = a_request(an_honest_answer(), "performance_quality")


def request_of(number: int) -> JudgeRequest:
    submission = Submission(id=f"s-{number:02}", task_id=REQUEST.task.id, code=f"{CODE}# {number}\n")
    return replace(REQUEST, submission=submission, grading_id=f"g-{number:02}")


def keep_drafts(store: Store, settings: Settings, count: int = COUNT) -> None:
    """Keep drafts by the judge of `settings` as grading keeps them."""
    judge = open_judge(replace(settings, fresh=""), store)
    models = (("task", REQUEST.task), ("rubric", REQUEST.rubric), ("prompt", REQUEST.prompt))
    store.save_documents(
        [
            Document(
                kind=kind, id=model.id, version="", sha256=model.content_hash(), text=model.model_dump_json()
            )
            for kind, model in models
        ]
    )
    made = FINGERPRINT.model_copy(
        update={kind: model.content_hash() for kind, model in models} | {"judge": judge.id}
    )

    async def draft() -> None:
        for number in range(count):
            request = request_of(number)
            name = request.grading_id
            inspection = Inspection(
                verdict=request.verdict, facts=request.facts, reports=request.reports, sandbox="bubblewrap"
            )
            store.save_submissions([request.submission])
            store.save_gradings([Grading(id=name, submission_id=request.submission.id, fingerprint=made)])
            for stage, output in (("inspect", inspection), ("judge", await judge.judge(request))):
                record = StageRecord(
                    stage=stage, key=f"{stage} {name}", output=output.model_dump_json(), seconds=0.1
                )
                store.record_stage(record)
            store.link_stages(name, {stage: f"{stage} {name}" for stage in ("inspect", "judge")})
        await judge.aclose()

    asyncio.run(draft())
    store.flush()


def label_drafts(store: Store, numbers: range) -> None:
    keep_file_labels(
        store,
        [
            FileLabel(
                grading_id=f"g-{number:02}",
                submission_id=f"s-{number:02}",
                task_id=REQUEST.task.id,
                rubric=REQUEST.rubric.content_hash(),
                criterion="overlap",
                answer=Answer(level=3),
                rater="ada",
                at=NOON,
                file="0" * 64,
                imported_by="lead",
                imported_at=NOON,
            )
            for number in numbers
        ],
    )
