"""The workspace: code, rubric and evidence of one item on one page, up to the blind commit."""

from __future__ import annotations

import secrets
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.places import Place, PlaceState
from pipeline.types import Account, Assessment, Purpose
from pipeline.web.assessment_form import Fields, edit_assessment, read_number, read_seconds, read_text
from pipeline.web.context import context_of
from pipeline.web.item_page import (
    FLAGGED,
    Mode,
    Reviewer,
    ReviewId,
    Slot,
    common_values,
    go_on,
    keep_draft,
    list_typed,
    read_flag,
    read_form,
    read_stage,
    shown_mode,
    to_place,
)
from pipeline.web.rendering import link, render
from pipeline.web.screens.reveal import keep_causes, show_reveal
from pipeline.web.services import reading_of
from pipeline.web.written import set_aside_values

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

_PATH: Final = "/review/{review_id}/{slot}"

#: What an address may say happened just before, in words.
_NOTICES: Final = {
    "flagged": FLAGGED,
    "undone": "It is open again.",
}


@router.get(_PATH)
def show_place(
    request: Request,
    account: Reviewer,
    review_id: ReviewId,
    slot: Slot,
    mode: Mode = "submission",
    said: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Show an item to whoever has it: the form before the commit, the reveal after it."""
    place = context_of(request).desk.open(account, review_id, slot)
    if place.state is not PlaceState.HELD:
        return show_reveal(request, account, place, mode=mode, notice=_NOTICES.get(said, ""))
    if place.purpose is Purpose.ADJUDICATION:
        return RedirectResponse(link(request, f"/adjudicate/{review_id}"), 303)
    return _show_form(request, account, place, mode=mode, notice=_NOTICES.get(said, ""))


@router.get(_PATH + "/code")
def show_code(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, mode: Mode = "submission"
) -> HTMLResponse:
    """Return the code in another mode, for the page to put in place of what it shows."""
    place = context_of(request).desk.open(account, review_id, slot)
    return HTMLResponse(reading_of(request.app).code(place.item, mode).encode(errors="replace"))


@router.post(_PATH + "/draft")
def autosave(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields
) -> JSONResponse:
    """Keep what the form says so far; the answer names the revision, or says what stands in the way."""
    context = context_of(request)
    stage = read_stage(fields)
    try:
        assessment = read_form(request, review_id, fields)
        saved = keep_draft(request, account, review_id, slot, fields, assessment, stage)
        if stage == "final":
            keep_causes(context.store, saved, fields)
        place = context.desk.open(account, review_id, slot)
    except DeskError as error:
        newest = context.store.desk.find_draft(review_id, slot, account.name)
        refusal = {
            "code": error.code,
            "message": error.fault.message,
            "remedy": error.fault.remedy,
            "revision": newest.revision if newest else 0,
            "saved_at": newest.saved_at.isoformat() if newest else None,
        }
        return JSONResponse(refusal, error.status)
    answer = {
        "revision": saved.revision,
        "saved_at": saved.saved_at.isoformat(),
        "lease_id": place.lease_id,
        "lease_until": place.lease_until.isoformat() if place.lease_until else None,
    }
    return JSONResponse(answer)


@router.post(_PATH + "/save")
def save(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields) -> Response:
    """Keep the form, do what its small buttons ask, and show it again."""
    desk = context_of(request).desk
    stage = read_stage(fields)
    assessment, problem = read_form(request, review_id, fields), None
    try:
        if edit := read_text(fields, "edit"):
            assessment = edit_assessment(assessment, edit, fields)
        saved = keep_draft(request, account, review_id, slot, fields, assessment, stage)
        if stage == "final":
            keep_causes(context_of(request).store, saved, fields)
    except DeskError as error:
        if error.code not in ("invalid", "stale_revision"):
            raise
        problem = error
    place = desk.open(account, review_id, slot)
    show = _show_form if place.state is PlaceState.HELD else show_reveal
    typed = fields if problem else None
    return show(
        request, account, place, mode=shown_mode(fields), written=assessment, problem=problem, typed=typed
    )


@router.post(_PATH + "/commit")
def commit(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields) -> Response:
    """Make the blind assessment, and show the judge's; an incomplete form comes back with what is missing."""
    desk, mode = context_of(request).desk, shown_mode(fields)
    assessment = read_form(request, review_id, fields)
    try:
        desk.commit(
            account,
            review_id,
            slot,
            read_text(fields, "lease_id")[:100],
            assessment,
            rubric=read_text(fields, "rubric")[:100],
            seconds=read_seconds(fields),
            key=read_text(fields, "key")[:100] or secrets.token_hex(16),
            made_from=read_number(fields, "revision"),
        )
    except DeskError as problem:
        if problem.code not in ("incomplete", "stale_revision", "stale_rubric"):
            raise
        place = desk.open(account, review_id, slot)
        return _show_form(
            request, account, place, mode=mode, written=assessment, problem=problem, typed=fields
        )
    return to_place(request, review_id, slot, mode)


@router.post(_PATH + "/skip")
def skip(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields) -> Response:
    """Give the item back, with what was written so far kept, and go on to the next."""
    assessment = read_form(request, review_id, fields)
    keep_draft(request, account, review_id, slot, fields, assessment, "blind")
    lease_id = read_text(fields, "lease_id")[:100]
    reason = read_text(fields, "skip.reason").strip()[:2000]
    context_of(request).desk.hand_back(account, review_id, slot, lease_id, reason=reason, skip=True)
    return go_on(request, account, key=f"after-{lease_id}")


@router.post(_PATH + "/flag")
def flag(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields) -> Response:
    """Ask a lead to look; the item stays where it is."""
    assessment = read_form(request, review_id, fields)
    keep_draft(request, account, review_id, slot, fields, assessment, read_stage(fields))
    reason = read_flag(read_text(fields, "flag.reason"))
    key = read_text(fields, "key")[:80] + "-flag"
    context_of(request).desk.flag(account, review_id, slot, reason, key=key)
    return to_place(request, review_id, slot, shown_mode(fields), said="flagged")


def _show_form(
    request: Request,
    account: Account,
    place: Place,
    *,
    mode: str,
    written: Assessment | None = None,
    problem: DeskError | None = None,
    typed: FormData | None = None,
    notice: str = "",
) -> HTMLResponse:
    """Return the page with the form as `written`, or as it was saved last, and small fields as `typed`."""
    draft = place.draft
    saved = draft.assessment if draft and draft.stage == "blind" else Assessment()
    said = saved if written is None else written
    values = common_values(request, account, place, mode)
    return render(
        request,
        "workspace.html",
        problem.status if problem else 200,
        **values,
        stage="blind",
        **set_aside_values(request, account, place, said),
        said=said,
        lease_id=place.lease_id,
        lease_until=place.lease_until,
        rubric_hash=values["rubric"].content_hash(),
        revision=draft.revision if draft else 0,
        saved_at=draft.saved_at if draft else None,
        seconds=draft.active_seconds if draft else 0,
        problem=problem.fault if problem else None,
        conflict=problem is not None and problem.code == "stale_revision",
        typed=list_typed(typed),
        notice=notice,
    )
