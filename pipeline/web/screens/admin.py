"""How the desk is run: settings, what is held back, flags, places that somebody has, authors, gold items."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.exports import Format
from pipeline.review.permissions import Permission
from pipeline.types import Account, DeskSettings
from pipeline.web.access import allow
from pipeline.web.context import context_of
from pipeline.web.label_files import send_labels
from pipeline.web.rendering import link, render
from pipeline.web.services import labels_of

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Lead = Annotated[Account, allow(Permission.MANAGE)]
Key = Annotated[str, Form(min_length=1, max_length=100)]
Reason = Annotated[str, Form(max_length=2000)]
ReviewId = Annotated[str, Form(min_length=1, max_length=100)]
Rate = Annotated[float, Form(ge=0, le=100, allow_inf_nan=False)]

#: Rows shown of a list: what comes after is reached by working the list off.
_LONGEST: Final = 100

_DONE: Final = {
    "settings": "The desk runs with these settings from now on.",
    "released": "The decision is made; its grade is released within seconds.",
    "released_all": "The decisions are made; their grades are released within seconds.",
    "taken_back": "The place is free again; the draft stays with whoever wrote it.",
    "planted": "It is a gold item now.",
    "unplanted": "It is no gold item any more.",
}


@router.get("/admin")
def show_admin(request: Request, account: Lead, done: Annotated[str, Query(max_length=40)] = "") -> Response:
    """Show how the desk is run, and what needs a lead."""
    return _show(request, account, done=_DONE.get(done, ""))


@router.post("/admin/settings")
def change_settings(
    request: Request,
    account: Lead,
    lease_minutes: Annotated[float, Form(gt=0, le=24 * 60)],
    idle_seconds: Annotated[float, Form(gt=0, le=3600)],
    undo_seconds: Annotated[float, Form(ge=0, le=3600)],
    audit_percent: Rate,
    second_review_percent: Rate,
    gold_percent: Rate,
    value_hours: Annotated[float, Form(ge=0, le=168)],
    paused: Annotated[bool, Form()] = False,
    hold_release: Annotated[bool, Form()] = False,
) -> Response:
    """Run the desk differently; every change is kept."""
    settings = DeskSettings(
        lease_minutes=lease_minutes,
        idle_seconds=idle_seconds,
        undo_seconds=undo_seconds,
        audit_rate=audit_percent / 100,
        second_review_rate=second_review_percent / 100,
        gold_rate=gold_percent / 100,
        value_hours=value_hours,
        paused=paused,
        hold_release=hold_release,
    )
    context_of(request).desk.change_settings(account, settings)
    return _go(request, "settings")


@router.post("/admin/release")
def release(
    request: Request, account: Lead, review_id: Annotated[str, Form(max_length=100)] = ""
) -> Response:
    """Make a decision that was held back, or all of them."""
    desk = context_of(request).desk
    if review_id:
        desk.release(account, review_id)
    else:
        desk.release_all(account)
    return _go(request, "released" if review_id else "released_all")


@router.post("/admin/take-back")
def take_back(
    request: Request,
    account: Lead,
    review_id: ReviewId,
    slot: Annotated[int, Form(ge=0)],
    key: Key,
    reason: Reason = "",
) -> Response:
    """Free a place that somebody holds."""
    context_of(request).desk.take_back(account, review_id, slot, _needed(reason), key=key)
    return _go(request, "taken_back")


@router.post("/admin/unblind")
def unblind(
    request: Request,
    account: Annotated[Account, allow(Permission.UNBLIND)],
    review_id: ReviewId,
    key: Key,
    reason: Reason = "",
) -> Response:
    """Say who wrote a submission, once the reason is on record."""
    desk = context_of(request).desk
    found = desk.find_review(review_id.strip())
    return _show(request, account, unblinded=(found, desk.unblind(account, found, _needed(reason), key=key)))


@router.post("/admin/plant")
def plant(
    request: Request, account: Lead, review_id: ReviewId, key: Key, gold: Annotated[bool, Form()] = False
) -> Response:
    """Make a decided review a gold item with the levels of its decision, or one no longer."""
    context = context_of(request)
    # The desk knows whether there is such a review; the store tells the levels.
    found = context.desk.find_review(review_id.strip())
    decision = context.store.load_review(found).decision
    if gold and (decision is None or not decision.levels):
        raise DeskError("incomplete", "it has no decided levels yet", "plant it once it is decided")
    levels = decision.levels if gold and decision is not None else {}
    context.desk.plant(account, found, levels, key=key)
    return _go(request, "planted" if gold else "unplanted")


@router.get("/admin/labels.{form}")
def export_labels_file(
    request: Request,
    account: Annotated[Account, allow(Permission.EXPORT)],
    form: Format,
    names: Annotated[bool, Query()] = False,
) -> Response:
    """Send every label as a file."""
    return send_labels(labels_of(request.app), form, names=names)


def _show(request: Request, account: Account, **values: Any) -> Response:
    desk = context_of(request).desk
    held = desk.list_places(account, held=True)
    flags, held_back = desk.list_flags(account), desk.list_held_back()
    shown = {"done": "", "unblinded": None, **values}
    return render(
        request,
        "admin.html",
        settings=desk.settings(),
        label_formats=get_args(Format),
        held_back=[desk.place(review_id, 0) for review_id in held_back[:_LONGEST]],
        held_back_count=len(held_back),
        flags=flags[:_LONGEST],
        flag_count=len(flags),
        held=held[:_LONGEST],
        held_count=len(held),
        open_count=desk.count_open(),
        **shown,
    )


def _needed(reason: str) -> str:
    if not reason.strip():
        raise DeskError("incomplete", "a reason is needed, because this is kept for good", "say why")
    return reason.strip()


def _go(request: Request, done: str) -> Response:
    return RedirectResponse(link(request, f"/admin?done={done}"), 303)
