"""What goes out: reviews as somebody who answers elsewhere, and blind, needs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pipeline.errors import GraderError
from pipeline.review.errors import DeskError
from pipeline.review.material import Material
from pipeline.review.rubric_succession import read_successions
from pipeline.store import DeskItem, Store
from pipeline.types import Criterion, Fact, Fault, Inspection, Owner, Rubric, Task
from pipeline.types.visible import show_controls

__all__ = ["CANNOT_JUDGE", "REASON", "TEXTS", "ExchangeItem", "collect_items", "gather_criteria", "say_level"]

#: The answer for what cannot be judged from the evidence, wherever answers are words.
CANNOT_JUDGE: Final = "cannot_judge"
#: What a text beside a criterion's choices is called: the criterion's id and this.
REASON: Final = "__reason"
#: What an item shows, in order: attribute and title.
TEXTS: Final = (("statement", "Task"), ("code", "Submission"), ("evidence", "What checks established"))
#: Facts beyond these are left out of the summary; the numbers that matter come first.
_MOST_FACTS: Final = 200


@dataclass(frozen=True, slots=True)
class ExchangeItem:
    """One review, without anything that would lead whoever answers.

    Attributes:
        review_id: What answers come back under.
        task_id: The task.
        statement: What the author was asked to do.
        code: The submission, with invisible characters made visible.
        evidence: What checks established, in lines of text.
        rubric: What it is judged by.
        rubric_hash: Its content hash.
        asked: Criteria that a person levels, in the rubric's order.
    """

    review_id: str
    task_id: str
    statement: str
    code: str
    evidence: str
    rubric: Rubric
    rubric_hash: str
    asked: tuple[str, ...]


def collect_items(
    store: Store, *, rubric: str | None = None, decided_too: bool = False
) -> tuple[list[ExchangeItem], list[str]]:
    """Return what can be answered elsewhere, oldest first, and what cannot with the reason.

    Args:
        store: Where to read.
        rubric: Id of a rubric, to take only what is judged by it.
        decided_too: Whether to take decided reviews too.
    """
    material, decided = Material(store), store.desk.list_decided_ids()
    successions, now = read_successions(store), datetime.now(UTC)
    items, left_out = [], []
    for _, opened in store.desk.list_items():
        # Whoever answers elsewhere begins now: the newest words that a lead signed, and one form for all.
        item = opened.model_copy(update={"rubric": successions.wording(opened.rubric, now)})
        if item.review.id in decided and not decided_too:
            continue
        try:
            if rubric is not None and material.rubric(item).id != rubric:
                continue
            items.append(_make_item(store, material, item))
        except (DeskError, KeyError) as error:
            reason = (
                error.fault.message if isinstance(error, DeskError) else "a part of it is not in the store"
            )
            left_out.append(f"{item.review.id}: {reason}")
    return items, left_out


def gather_criteria(items: Iterable[ExchangeItem]) -> list[Criterion]:
    """Return every criterion that is asked of any item, for a form that all items share.

    Raises:
        GraderError: If there is no item, or they are judged by different rubrics.
    """
    rubrics = {item.rubric_hash: item.rubric for item in items}
    if len(rubrics) != 1:
        known = sorted({f"{rubric.id} {rubric.version}" for rubric in rubrics.values()})
        raise GraderError(
            Fault(
                owner=Owner.ENVIRONMENT,
                code="not_found" if not rubrics else "several_rubrics",
                message=f"one form asks by one rubric, these are judged by {', '.join(known)}"
                if known
                else "no review is there to export",
                remedy="name one with --rubric; of several versions, decide those of the older first"
                if known
                else "nki-grader review list shows what waits; --all takes decided ones too",
            )
        )
    (rubric,) = rubrics.values()
    asked = {name for item in items for name in item.asked}
    return [criterion for criterion in rubric.criteria if criterion.id in asked]


def say_level(criterion: Criterion, level: int) -> str:
    """Return a level as somebody chooses it: its number and what one sees at it."""
    anchor = next(step.anchor for step in criterion.levels if step.level == level)
    return f"{level}: {anchor}"


def _make_item(store: Store, material: Material, item: DeskItem) -> ExchangeItem:
    grading = store.load_grading(item.review.grading_id)
    document = store.find_document(grading.fingerprint.task)
    key = store.list_stages(grading.id).get("inspect")
    record = store.find_stage("inspect", key) if key is not None else None
    inspection = Inspection.model_validate_json(record.output) if record is not None else None
    return ExchangeItem(
        review_id=item.review.id,
        task_id=item.task_id,
        statement=Task.model_validate_json(document.text).statement if document is not None else "",
        code=show_controls(store.load_submission(item.submission_id).code),
        evidence=show_controls("\n".join(_list_evidence(inspection))) if inspection is not None else "",
        rubric=material.rubric(item),
        rubric_hash=item.rubric,
        asked=material.settled(item).asked,
    )


def _list_evidence(inspection: Inspection) -> Iterable[str]:
    yield f"Verdict: {inspection.verdict.value}"
    if inspection.fault is not None:
        yield f"Stopped by: {inspection.fault}"
    if inspection.approximated:
        yield f"Only approximated by the emulator: {', '.join(inspection.approximated)}"
    for report in inspection.reports:
        yield f"Check {report.check}: {report.status.value}: {report.reason}"
        for finding in report.findings:
            lines = f" (lines {', '.join(map(str, finding.lines))})" if finding.lines else ""
            yield f"  {finding.severity.value}: {finding.message}{lines}"
    own = (fact for report in inspection.reports for fact in report.facts)
    facts: Sequence[Fact] = list({fact.id: fact for fact in (*inspection.facts, *own)}.values())
    for fact in facts[:_MOST_FACTS]:
        case = f" [{fact.case}]" if fact.case else ""
        yield f"{fact.label or fact.id}{case}: {fact.text} ({fact.provenance.value})"
    if len(facts) > _MOST_FACTS:
        yield f"{len(facts) - _MOST_FACTS} more facts are left out"
