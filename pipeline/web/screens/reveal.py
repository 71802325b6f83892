"""The reveal: one's own levels beside the judge's, what changes and why, and the feedback to the author."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response

from pipeline.report.collect import Detail
from pipeline.report.feedback import render_feedback
from pipeline.review.concluding import merge
from pipeline.review.decisions import apply_decision
from pipeline.review.errors import DeskError
from pipeline.review.material import Material
from pipeline.review.places import Place, PlaceState
from pipeline.store import Store
from pipeline.types import Account, Answer, Assessment, Cause, FeedbackItem, Frozen, Grade, SavedDraft, Score
from pipeline.types.visible import show_controls
from pipeline.web.assessment_form import Fields, read_causes, read_number, read_seconds, read_text
from pipeline.web.context import context_of
from pipeline.web.item_page import (
    CriterionRow,
    Reviewer,
    ReviewId,
    Slot,
    common_values,
    go_on,
    keep_draft,
    list_typed,
    read_form,
    shown_mode,
    to_place,
)
from pipeline.web.rendering import render
from pipeline.web.services import reading_of
from pipeline.web.written import set_aside_values

__all__ = ["keep_causes", "router", "show_reveal"]

router = APIRouter(include_in_schema=False)

_PATH: Final = "/review/{review_id}/{slot}"
_RECORD: Final = "final_causes"
_PARTS: Final = {"works": "What works", "change": "What must change", "next": "Next step"}

#: Why somebody changes a level after the judge's was seen, in words; each has a key of its own.
_CAUSES: Final = {
    Cause.MISSED_EVIDENCE: "The judge found evidence that I missed",
    Cause.SLIP: "A slip of mine",
    Cause.RUBRIC_UNCLEAR: "The rubric is unclear",
    Cause.OTHER: "Something else",
}


class _Causes(Frozen):
    """Why levels change, as far as a form says; the newest of a place and account counts."""

    causes: dict[str, str]
    remarks: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Pair:
    """One criterion with both opinions.

    Attributes:
        row: The criterion.
        mine: The blind answer; None where a check settled it.
        judge: What the judge says; None where it says nothing.
        final: The answer as it stands in the form.
        cause: Why it changes.
        remark: The same in words.
        distance: How far apart the two are: 0 where the judge has no level, 9 where the person has none,
            -1 where a check settled it.
    """

    row: CriterionRow
    mine: Answer | None
    judge: Score | None
    final: Answer | None
    cause: str
    remark: str
    distance: int


def show_reveal(
    request: Request,
    account: Account,
    place: Place,
    *,
    mode: str,
    written: Assessment | None = None,
    causes: _Causes | None = None,
    problem: DeskError | None = None,
    typed: FormData | None = None,
    preview: bool = False,
    notice: str = "",
) -> HTMLResponse:
    """Return the page of an item that is committed: a form, or what stands once it is finished.

    Args:
        request: What is answered.
        account: Whoever made the blind assessment.
        place: The place.
        mode: How the code is shown.
        written: The form's assessment; None for what was saved last.
        causes: The form's causes; None for those that were saved last.
        problem: What kept the form from being taken.
        typed: What stands in the small fields.
        preview: Whether to show what the author would get.
        notice: What happened just before.
    """
    detail = reading_of(request.app).detail(place.item)
    draft = place.draft if place.draft and place.draft.stage == "final" else None
    said = written if written is not None else _find_final(place, draft)
    if said.feedback is None:
        said = said.model_copy(update={"feedback": _drafted(detail)})
    if causes is None:
        causes = context_of(request).store.desk.find_record(
            _RECORD, _key(place.item.review.id, place.slot, account.name), _Causes
        )
    values = common_values(request, account, place, mode)
    return render(
        request,
        "reveal.html",
        problem.status if problem else 200,
        **values,
        **set_aside_values(request, account, place, said),
        stage="final",
        finished=place.state is PlaceState.FINISHED,
        undo_until=place.undo_until,
        said=said,
        pairs=_pair(values["rows"], place, detail, said, causes or _Causes(causes={}, remarks={})),
        revisions=place.submitted.revisions if place.submitted else (),
        detail=detail,
        causes=_CAUSES,
        parts=_PARTS,
        lease_id=place.lease_id,
        lease_until=None,
        rubric_hash=place.item.rubric,
        revision=place.draft.revision if place.draft else 0,
        saved_at=draft.saved_at if draft else None,
        seconds=draft.active_seconds if draft else 0,
        problem=problem.fault if problem else None,
        conflict=problem is not None and problem.code == "stale_revision",
        preview=_preview(context_of(request).store, account, place, detail, said) if preview else "",
        typed=list_typed(typed),
        notice=notice,
    )


@router.post(_PATH + "/preview")
def preview(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields) -> Response:
    """Keep the form and show what the author would get."""
    context = context_of(request)
    said, problem = read_form(request, review_id, fields), None
    try:
        saved = keep_draft(request, account, review_id, slot, fields, said, "final")
        keep_causes(context.store, saved, fields)
    except DeskError as error:
        if error.code != "stale_revision":
            raise
        problem = error
    return show_reveal(
        request,
        account,
        context.desk.open(account, review_id, slot),
        mode=shown_mode(fields),
        written=said,
        causes=_read_causes(fields),
        problem=problem,
        typed=fields,
        preview=True,
    )


@router.post(_PATH + "/final")
def finish(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields) -> Response:
    """Make the final assessment and go on to the next item, where it can be undone for a while."""
    desk = context_of(request).desk
    key = read_text(fields, "key")[:80] or secrets.token_hex(16)
    place = desk.open(account, review_id, slot)
    if place.submitted is None:
        raise DeskError("not_committed", "the blind assessment comes first", "commit it, then finish")
    said = read_form(request, review_id, fields)
    # Feedback that was left as it was drafted is the draft's: it has no editor.
    unedited = said.feedback == _drafted(reading_of(request.app).detail(place.item))
    try:
        desk.finish(
            account,
            review_id,
            slot,
            said.model_copy(update={"feedback": None}) if unedited else said,
            revisions=read_causes(fields, place.submitted.blind, said),
            seconds=read_seconds(fields),
            key=key,
            made_from=read_number(fields, "revision"),
        )
    except DeskError as problem:
        if problem.code not in ("incomplete", "stale_revision"):
            raise
        return show_reveal(
            request,
            account,
            desk.open(account, review_id, slot),
            mode=shown_mode(fields),
            written=said,
            causes=_read_causes(fields),
            problem=problem,
            typed=fields,
        )
    return go_on(request, account, key=f"next-{key}")


@router.post(_PATH + "/undo")
def undo(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields
) -> RedirectResponse:
    """Take the final assessment back and open it again."""
    key = read_text(fields, "key")[:100] or secrets.token_hex(16)
    context_of(request).desk.undo(account, review_id, slot, key=key)
    return to_place(request, review_id, slot, "submission", said="undone")


def keep_causes(store: Store, saved: SavedDraft, fields: FormData) -> None:
    """Keep why levels change beside a draft, which has no place for it."""
    causes = _read_causes(fields)
    if causes.causes or causes.remarks:
        store.desk.save_record(_RECORD, _key(saved.review_id, saved.slot, saved.account), causes)


def _read_causes(fields: FormData) -> _Causes:
    causes, remarks = (
        {
            name.removeprefix(prefix): read_text(fields, name)[:2000]
            for name in list(fields)[:1000]
            if name.startswith(prefix) and read_text(fields, name)
        }
        for prefix in ("cause.", "remark.")
    )
    return _Causes(causes=causes, remarks=remarks)


def _key(review_id: str, slot: int, account: str) -> str:
    return f"{review_id}/{slot}/{account}"


def _drafted(detail: Detail) -> tuple[FeedbackItem, ...]:
    return detail.judgment.feedback if detail.judgment else ()


def _find_final(place: Place, draft: SavedDraft | None) -> Assessment:
    """Return what the form starts from: the draft, else the blind assessment."""
    if place.submitted is None:
        return Assessment()
    if place.submitted.final is not None and place.state is PlaceState.FINISHED:
        return place.submitted.final
    return draft.assessment if draft else place.submitted.blind


def _pair(
    rows: list[CriterionRow], place: Place, detail: Detail, said: Assessment, causes: _Causes
) -> list[_Pair]:
    """Return the criteria with both opinions: those that differ most first, settled ones last."""
    blind = place.submitted.blind.answers if place.submitted else {}
    judged = {score.criterion: score for score in detail.judgment.scores} if detail.judgment else {}
    pairs = []
    for row in rows:
        name = row.criterion.id
        mine, judge = blind.get(name), judged.get(name)
        pairs.append(
            _Pair(
                row=row,
                mine=mine,
                judge=judge,
                final=said.answers.get(name),
                cause=causes.causes.get(name, ""),
                remark=causes.remarks.get(name, ""),
                distance=_distance(mine, judge) if row.asked else -1,
            )
        )
    return sorted(pairs, key=lambda pair: -pair.distance)


def _distance(mine: Answer | None, judge: Score | None) -> int:
    if judge is None or judge.level is None:
        return 0
    return 9 if mine is None or mine.level is None else abs(mine.level - judge.level)


def _preview(store: Store, account: Account, place: Place, detail: Detail, said: Assessment) -> str:
    """Return the text that the author would get if `said` alone decided."""
    if detail.rubric is None or detail.inspection is None or detail.judgment is None:
        return "There is no draft to build on, so there is nothing to show yet."
    material, now = Material(store), datetime.now(UTC)
    decision = merge(
        material.settled(place.item),
        [said],
        review_id=place.item.review.id,
        reviewer=account.name,
        decided_at=now,
        drafted=lambda: _drafted(detail),
        quote=lambda first, last: material.quote(place.item, first, last),
    )
    scores, overall = apply_decision(decision, detail.rubric, detail.inspection, detail.judgment)
    grade = Grade(
        grading_id=detail.summary.grading_id,
        verdict=detail.inspection.verdict,
        scores=scores,
        overall=overall,
        feedback=decision.feedback if decision.feedback is not None else _drafted(detail),
        decided_by=account.name,
        comment=decision.comment,
        released_at=now,
    )
    return show_controls(render_feedback(replace(detail, grade=grade), "text"))
