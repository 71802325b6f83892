"""The workspace: code, rubric and evidence of one item on one page, up to the blind commit."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.review.places import Place, PlaceState
from pipeline.types import Account, Answer, Assessment, CheckReport, Criterion, Purpose, SavedDraft
from pipeline.web.access import allow
from pipeline.web.assessment_form import (
    Fields,
    edit_assessment,
    read_assessment,
    read_number,
    read_seconds,
    read_text,
)
from pipeline.web.context import context_of
from pipeline.web.evidence import Evidence, fact_anchor
from pipeline.web.reading import Material, reading_of
from pipeline.web.rendering import link, render
from pipeline.web.screens.reveal import show_reveal

__all__ = ["router"]

router = APIRouter(prefix="/review/{review_id}/{slot}")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]
ReviewId = Annotated[str, Path(max_length=100)]
Slot = Annotated[int, Path(ge=0, le=1000)]
Mode = Annotated[str, Query(max_length=300)]

#: What an address may say happened just before, in words.
_NOTICES: Final = {
    "flagged": "A lead will look at this item. You can go on with it.",
    "saved": "Saved.",
}


@dataclass(frozen=True, slots=True)
class _Item:
    """One criterion as the form shows it.

    Attributes:
        criterion: The criterion.
        share: Of the rubric's weight, 0..1.
        answer: What the draft says.
        settled: The level that a check settled; None where a person is asked.
        report: What that check says.
        findings: Numbers of its findings in the page.
        objection: Why the person holds the check to be wrong.
        links: Evidence to look at: words, and an anchor where there is one.
    """

    criterion: Criterion
    share: float
    answer: Answer | None
    settled: Answer | None
    report: CheckReport | None
    findings: tuple[int, ...]
    objection: str
    links: tuple[tuple[str, str], ...]


@router.get("", name="workspace")
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
        return show_reveal(request, account, place, mode=mode)
    if place.purpose is Purpose.ADJUDICATION:
        return RedirectResponse(link(request, f"/adjudicate/{review_id}"), 303)
    return _show_form(request, account, place, mode=mode, notice=_NOTICES.get(said, ""))


@router.get("/code")
def show_code(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, mode: Mode = "submission"
) -> HTMLResponse:
    """Return the code in another mode, for the page to put in place of what it shows."""
    place = context_of(request).desk.open(account, review_id, slot)
    return HTMLResponse(reading_of(request).code(place.item, mode).encode(errors="replace"))


@router.post("/draft")
def save(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields
) -> JSONResponse:
    """Keep what the form says so far; the answer names the revision, or says what stands in the way."""
    desk = context_of(request).desk
    try:
        assessment = _read(request, review_id, fields)
        saved = _save_draft(request, account, review_id, slot, fields, assessment)
        place = desk.open(account, review_id, slot)
    except DeskError as error:
        newest = context_of(request).store.desk.find_draft(review_id, slot, account.name)
        answer = {
            "code": error.code,
            "message": error.fault.message,
            "remedy": error.fault.remedy,
            "revision": newest.revision if newest else 0,
            "saved_at": newest.saved_at.isoformat() if newest else None,
        }
        return JSONResponse(answer, error.status)
    until = place.lease_until.isoformat() if place.lease_until else None
    return JSONResponse(
        {
            "revision": saved.revision,
            "saved_at": saved.saved_at.isoformat(),
            "lease_id": place.lease_id,
            "lease_until": until,
        }
    )


@router.post("/save")
def save_and_show(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields
) -> Response:
    """Keep the form, do what its small buttons ask, and show it again."""
    assessment = _read(request, review_id, fields)
    if edit := read_text(fields, "edit"):
        assessment = edit_assessment(assessment, edit, fields)
    mode = read_text(fields, "mode") or read_text(fields, "shown_mode") or "submission"
    place = context_of(request).desk.open(account, review_id, slot)
    try:
        _save_draft(request, account, review_id, slot, fields, assessment)
    except DeskError as error:
        if error.code not in ("stale_revision", "lease_lost"):
            raise
        return _show_again(request, account, place, assessment, mode, error)
    shown = context_of(request).desk.open(account, review_id, slot)
    return _show_form(request, account, shown, mode=mode, notice="" if edit else _NOTICES["saved"])


@router.post("/commit")
def commit(
    request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields
) -> Response:
    """Make the blind assessment, and show the judge's; an incomplete form comes back with what is missing."""
    desk = context_of(request).desk
    assessment = _read(request, review_id, fields)
    mode = read_text(fields, "shown_mode") or "submission"
    place = desk.open(account, review_id, slot)
    if place.state is PlaceState.HELD and place.draft and place.draft.revision > read_number(fields, "revision"):
        saved = f"{place.draft.saved_at:%H:%M:%S} UTC"
        stale = DeskError(
            "stale_revision", f"another window saved this item at {saved}", "compare the two, then commit"
        )
        return _show_again(request, account, place, assessment, mode, stale)
    try:
        desk.commit(
            account,
            review_id,
            slot,
            read_text(fields, "lease_id"),
            assessment,
            rubric=read_text(fields, "rubric"),
            seconds=read_seconds(fields),
            key=read_text(fields, "key")[:100] or secrets.token_hex(16),
        )
    except DeskError as error:
        if error.code == "incomplete":
            _save_draft(request, account, review_id, slot, fields, assessment)
        elif error.code not in ("lease_lost", "stale_rubric"):
            raise
        return _show_again(request, account, desk.open(account, review_id, slot), assessment, mode, error)
    return _to_place(request, review_id, slot, mode)


@router.post("/skip")
def skip(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields) -> Response:
    """Give the item back, with what was written so far kept, and go on to the next."""
    desk = context_of(request).desk
    assessment = _read(request, review_id, fields)
    _save_draft(request, account, review_id, slot, fields, assessment)
    lease_id = desk.open(account, review_id, slot).lease_id
    reason = read_text(fields, "skip.reason").strip()[:2000]
    desk.hand_back(account, review_id, slot, lease_id, reason=reason, skip=True)
    return go_on(request, account, key=f"after-{lease_id}")


@router.post("/flag")
def flag(request: Request, account: Reviewer, review_id: ReviewId, slot: Slot, fields: Fields) -> Response:
    """Ask a lead to look; the item stays where it is."""
    desk = context_of(request).desk
    place = desk.open(account, review_id, slot)
    reason = read_text(fields, "flag.reason").strip()
    if not reason or len(reason) > 2000:
        raise DeskError("invalid", "a flag needs a reason of at most 2000 characters", "say what a lead should see")
    if place.state is PlaceState.HELD:
        _save_draft(request, account, review_id, slot, fields, _read(request, review_id, fields))
    desk.flag(account, review_id, slot, reason, key=read_text(fields, "key")[:80] + "-flag")
    return _to_place(request, review_id, slot, read_text(fields, "shown_mode"), said="flagged")
