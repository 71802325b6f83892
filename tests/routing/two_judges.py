"""Two judges, told apart by their prompts, who draft the same submissions; and labels for these."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.judge.scoring import grade_overall
from pipeline.review.labels import FileLabel
from pipeline.routing.known_scopes import KnownScope, find_scope, list_scopes
from pipeline.store import StageRecord, Store
from pipeline.types import (
    Answer,
    CheckReport,
    CheckStatus,
    Fault,
    Fingerprint,
    Grading,
    Inspection,
    Judgment,
    Owner,
    Scope,
    Score,
    Submission,
    Verdict,
)
from tests.review.desk_examples import FINGERPRINT, HASH, NOON, RUBRIC

OLD = FINGERPRINT.model_copy(update={"prompt": "old prompt"})
NEW = FINGERPRINT.model_copy(update={"prompt": "new prompt"})


def keep_draft(
    store: Store,
    name: str,
    task: str,
    made: Fingerprint,
    levels: tuple[int | None, int | None],
    *,
    correct: CheckStatus = CheckStatus.PASSED,
    failed: bool = False,
) -> str:
    """Keep a grading with these levels of clarity and safety, and return its id."""
    made = made.model_copy(update={"task": f"{task} {made.task[:8]}"})
    grading_id = f"g-{name}-{made.content_hash()[:8]}"
    reports = (CheckReport(check="correct", status=correct, reason="all cases"),)
    scores = [Score(criterion="correct", level=4, source="check:correct", reason="all cases")]
    scores += [
        Score(criterion=criterion, level=level, source="judge", reason="it reads so")
        for criterion, level in zip(("clarity", "safety"), levels, strict=True)
    ]
    fault = Fault(owner=Owner.ENVIRONMENT, code="overloaded", message="it is overloaded") if failed else None
    draft = Judgment(
        judge=made.judge,
        scores=tuple(scores),
        overall=grade_overall(RUBRIC, scores, reports),
        fault=fault,
    )
    outputs = {
        "inspect": Inspection(verdict=Verdict.CORRECT, reports=reports, sandbox="bubblewrap"),
        "judge": draft,
    }
    store.save_submissions([Submission(id=f"s-{name}", task_id=task, code=f"# {name}\n")])
    store.save_gradings([Grading(id=grading_id, submission_id=f"s-{name}", fingerprint=made)])
    for stage, output in outputs.items():
        store.record_stage(
            StageRecord(
                stage=stage,
                key=f"{stage} {grading_id}",
                output=output.model_dump_json(),
                seconds=0.1,
                scores=draft.scores if stage == "judge" else (),
            )
        )
    store.link_stages(grading_id, {stage: f"{stage} {grading_id}" for stage in outputs})
    return grading_id


def label(
    name: str,
    task: str,
    grading_id: str,
    levels: Mapping[str, int | None],
    *,
    rater: str = "ada",
    minute: int = 0,
    rubric: str = HASH,
) -> list[FileLabel]:
    """Return what an expert said of a submission, as a file has it."""
    return [
        FileLabel(
            grading_id=grading_id,
            submission_id=f"s-{name}",
            task_id=task,
            rubric=rubric,
            criterion=criterion,
            answer=Answer(level=level, reason="" if level is not None else "out of sight"),
            rater=rater,
            at=NOON.replace(minute=minute),
            file="0" * 64,
            imported_by="lead",
            imported_at=NOON,
        )
        for criterion, level in levels.items()
    ]


def scopes(store: Store) -> tuple[KnownScope, KnownScope]:
    """Return the old and the new judge."""
    known = list_scopes(store)
    old, new = (Scope.of(made).content_hash() for made in (OLD, NEW))
    return find_scope(known, old), find_scope(known, new)
