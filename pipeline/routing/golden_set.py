"""The golden set: submissions that a judge is asked about again and again, with what it was told and said."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from pipeline.errors import GraderError
from pipeline.judge import JudgeRequest
from pipeline.review.chances import chance_of, load_secret
from pipeline.review.history import Follower
from pipeline.review.labels import read_labels
from pipeline.store import Store
from pipeline.types import (
    Fault,
    Frozen,
    Grading,
    Inspection,
    Judgment,
    Owner,
    Prompt,
    Rubric,
    Task,
)

__all__ = ["GoldenItem", "choose_golden"]

_Model = TypeVar("_Model", bound=Frozen)


@dataclass(frozen=True, slots=True)
class GoldenItem:
    """A submission to ask about again.

    Attributes:
        request: What the kept draft was made from.
        kept: That draft.
    """

    request: JudgeRequest
    kept: Judgment


def choose_golden(
    store: Store, judge: str, count: int, *, first: Collection[str] = frozenset()
) -> list[GoldenItem]:
    """Return the golden set of a judge, the same as long as its drafts are there.

    Gold items that leads planted at the desk come first, then labelled submissions in an order that a hash
    decides. Of each the newest draft by the judge counts, whatever its draw. Levels are not looked at: no
    label is used up.

    Args:
        store: Where drafts, gold items and labels are.
        judge: Id of the judge, without a draw.
        count: How many at most.
        first: Submissions that come before all others, such as those asked about last time.

    Raises:
        GraderError: ``not_found`` if there is no such draft of a planted or labelled submission.
    """
    history = Follower(store).read(items=True)
    planted = {history.items[name].submission_id for name, known in history.planted.items() if known}
    labelled = {label.submission_id for label in read_labels(store) if label.submission_id}
    secret = load_secret(store)
    ordered = sorted(
        planted | labelled | set(first),
        key=lambda name: (name not in first, name not in planted, chance_of(secret, "golden", name), name),
    )
    chosen: list[GoldenItem] = []
    documents: dict[str, Frozen] = {}
    for submission_id in ordered:
        if len(chosen) == count:
            break
        found = _find_item(store, submission_id, judge, documents)
        if found is not None:
            chosen.append(found)
    if not chosen:
        raise GraderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="not_found",
                message=f"of {len(ordered)} planted or labelled submissions none has a draft by {judge!r}",
                remedy="grade with this judge, and plant gold items at the desk or label submissions",
            )
        )
    return chosen


def _find_item(
    store: Store, submission_id: str, judge: str, documents: dict[str, Frozen]
) -> GoldenItem | None:
    for grading_id in store.list_gradings_of(submission_id):
        grading = store.load_grading(grading_id)
        if grading.fingerprint.judge.partition(" draw ")[0] == judge:
            found = _read_item(store, grading, documents)
            if found is not None:
                return found
    return None


def _read_item(store: Store, grading: Grading, documents: dict[str, Frozen]) -> GoldenItem | None:
    keys = store.list_stages(grading.id)
    records = {stage: store.find_stage(stage, keys[stage]) for stage in ("inspect", "judge") if stage in keys}
    inspected, judged = records.get("inspect"), records.get("judge")
    made = grading.fingerprint
    task = _find_document(store, made.task, Task, documents)
    rubric = _find_document(store, made.rubric, Rubric, documents)
    prompt = _find_document(store, made.prompt, Prompt, documents)
    if inspected is None or judged is None or task is None or rubric is None or prompt is None:
        return None
    kept = Judgment.model_validate_json(judged.output)
    # Where facts closed a gate no judge is asked, and what it could not draft is nothing to compare with.
    if (
        kept.fault is not None
        or kept.overall.closed_gates
        or not any(score.source == "judge" for score in kept.scores)
    ):
        return None
    inspection = Inspection.model_validate_json(inspected.output)
    request = JudgeRequest(
        task=task,
        submission=store.load_submission(grading.submission_id),
        verdict=inspection.verdict,
        facts=inspection.facts,
        reports=inspection.reports,
        rubric=rubric,
        prompt=prompt,
        grading_id=grading.id,
    )
    return GoldenItem(request, kept)


def _find_document(store: Store, sha256: str, kind: type[_Model], known: dict[str, Frozen]) -> _Model | None:
    held = known.get(sha256)
    if isinstance(held, kind):
        return held
    document = store.find_document(sha256)
    if document is None:
        return None
    model = kind.model_validate_json(document.text)
    known[sha256] = model
    return model
