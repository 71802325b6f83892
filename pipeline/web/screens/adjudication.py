"""Adjudication: two assessments that differ, side by side and without names, and what stands instead."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.review.places import Place, PlaceState
from pipeline.types import Account, Assessment, Criterion, Purpose, SavedDraft, SlotOpened
from pipeline.web.access import Here, allow
from pipeline.web.assessment_form import read_seconds
from pipeline.web.context import Context, context_of
from pipeline.web.forms import FormValues
from pipeline.web.item_page import FLAGGED, go_on, read_flag, to_place
from pipeline.web.picks import CAUSES, AdjudicationDraft, Reading, list_choices, read_picks
from pipeline.web.rendering import link, render
from pipeline.web.services import reading_of

__all__ = ["router"]

router = APIRouter(dependencies=[allow(Permission.ADJUDICATE)], include_in_schema=False)

_DRAFT: Final = "adjudication_draft"
_STALE: Final = (
    "Another window saved this form after this one. Below is what this window says: compare the two, then"
    " send it again to let this one count."
)
#: Fields of the form that are its state rather than what somebody wrote.
_FORM_STATE: Final = (
    "csrf",
    "action",
    "lease_id",
    "rubric",
    "key",
    "seconds",
    "revision",
    "mode",
    "shown_mode",
)


@router.get("/adjudicate/{review_id}")
def show_adjudication(
    request: Request, account: Here, review_id: str, said: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    """Show A and B beside the code; once it is committed, lead to the reveal."""
    context = context_of(request)
    slot = _slot_of(context, review_id)
    place = context.desk.open(account, review_id, slot)
    if place.state is not PlaceState.HELD:
        return _reveal(request, review_id, slot, said)
    draft = context.store.desk.find_record(_DRAFT, _draft_key(review_id, slot, account), AdjudicationDraft)
    return _page(
        request, account, place, draft.values if draft else {}, notice=FLAGGED if said == "flagged" else ""
    )


@router.post("/adjudicate/{review_id}")
def commit_adjudication(request: Request, account: Here, review_id: str, values: FormValues) -> Response:
    """Keep the form and, if it is complete and asks for it, commit what stands."""
    context = context_of(request)
    slot = _slot_of(context, review_id)
    try:
        saved = _keep(context, account, review_id, slot, values)
    except DeskError as error:
        return _give_back(request, account, review_id, slot, values, error)
    place = context.desk.open(account, review_id, slot)
    # Whatever else sent the form, such as Enter in a field, keeps it and shows it again.
    if values.get("action") != "commit":
        return _page(request, account, place, values, saved_at=saved.saved_at)
    reading = _read(context, account, review_id, values)
    if reading.problems:
        return _page(request, account, place, values, problems=reading.problems, status=422)
    try:
        context.desk.commit(
            account,
            review_id,
            slot,
            place.lease_id,
            reading.assessment,
            rubric=values.get("rubric", ""),
            seconds=saved.active_seconds,
            key=values.get("key", "")[:80] or secrets.token_hex(12),
            picks=reading.picks,
            rubric_change=reading.rubric_change,
            made_from=saved.revision,
        )
    except DeskError as error:
        problem = f"{error.fault.message}; {error.fault.remedy}."
        return _page(request, account, place, values, problems=(problem,), status=error.status)
    return _reveal(request, review_id, slot)


@router.post("/adjudicate/{review_id}/draft")
def autosave(request: Request, account: Here, review_id: str, values: FormValues) -> JSONResponse:
    """Keep the form as it stands and renew the lease."""
    context = context_of(request)
    slot = _slot_of(context, review_id)
    saved = _keep(context, account, review_id, slot, values)
    return JSONResponse(
        {
            "saved_at": f"{saved.saved_at:%H:%M:%S}",
            "revision": saved.revision,
            "lease_id": context.desk.place(review_id, slot).lease_id,
        }
    )


@router.post("/adjudicate/{review_id}/skip")
def skip(request: Request, account: Here, review_id: str, values: FormValues) -> Response:
    """Leave it to another adjudicator, with what was written so far kept, and go on to the next item."""
    context = context_of(request)
    slot = _slot_of(context, review_id)
    lease_id, reason = values.get("lease_id", "")[:100], values.get("skip_reason", "").strip()[:2000]
    try:
        _keep(context, account, review_id, slot, values)
        context.desk.hand_back(account, review_id, slot, lease_id, reason=reason, skip=True)
    except DeskError as error:
        return _give_back(request, account, review_id, slot, values, error)
    return go_on(request, account, key=f"after-{lease_id}")


@router.post("/adjudicate/{review_id}/flag")
def flag(request: Request, account: Here, review_id: str, values: FormValues) -> Response:
    """Ask a lead to look; the item stays where it is."""
    context = context_of(request)
    slot = _slot_of(context, review_id)
    try:
        _keep(context, account, review_id, slot, values)
    except DeskError as error:
        # What a lead should see counts after the commit as well.
        if error.code != "already_committed":
            return _give_back(request, account, review_id, slot, values, error)
    try:
        reason = read_flag(values.get("flag_reason", ""))
    except DeskError as error:
        return _give_back(request, account, review_id, slot, values, error)
    context.desk.flag(account, review_id, slot, reason, key=values.get("key", "")[:80] + "-flag")
    _record(context, account, review_id, slot, {**values, "flag_reason": ""})
    return RedirectResponse(link(request, f"/adjudicate/{quote(review_id, safe='')}?said=flagged"), 303)


def _give_back(
    request: Request, account: Account, review_id: str, slot: int, values: dict[str, str], error: DeskError
) -> Response:
    """Show a form that was refused again, as it was sent; lead on where it says what was committed.

    Raises:
        DeskError: What refused it, where there is no form to show.
    """
    if error.code == "already_committed" and _is_committed(request, account, review_id, slot, values):
        return _reveal(request, review_id, slot)
    if error.code not in ("stale_revision", "invalid"):
        raise error
    context = context_of(request)
    try:
        place = context.desk.open(account, review_id, slot)
    except DeskError:
        # There is no form to give it back in: it is what they find when they have the place again.
        _record(context, account, review_id, slot, values)
        raise
    if place.state is not PlaceState.HELD:
        return _reveal(request, review_id, slot)
    problem = _STALE if error.code == "stale_revision" else f"{error.fault.message}; {error.fault.remedy}."
    return _page(request, account, place, values, problems=(problem,), status=error.status)


def _is_committed(
    request: Request, account: Account, review_id: str, slot: int, values: dict[str, str]
) -> bool:
    """Whether a form says what its sender has committed already."""
    context = context_of(request)
    submitted = context.desk.place(review_id, slot).submitted
    said = _read(context, account, review_id, values).assessment
    return submitted is not None and said == submitted.blind


def _page(
    request: Request,
    account: Account,
    place: Place,
    values: dict[str, str],
    *,
    problems: tuple[str, ...] = (),
    notice: str = "",
    saved_at: datetime | None = None,
    status: int = 200,
) -> HTMLResponse:
    context = context_of(request)
    review_id = place.item.review.id
    rubric = context.desk.rubric_of(review_id)
    others = context.desk.others(account, review_id)
    reading = reading_of(request.app)
    exhibits = reading.exhibits(place.item)
    mode = values.get("mode") or values.get("shown_mode") or "submission"
    return render(
        request,
        "adjudication.html",
        status=status,
        place=place,
        pseudonym=context.desk.pseudonym(review_id),
        task=exhibits.task,
        modes=exhibits.modes,
        mode=mode,
        code=reading.code(place.item, mode),
        evidence=reading.evidence(place.item),
        rubric=rubric,
        rubric_hash=place.item.rubric,
        choices=list_choices(_asked(context, review_id), others),
        others=others,
        settled=context.desk.settled_answers(review_id),
        causes=CAUSES,
        values=values,
        key=values.get("key") or secrets.token_hex(12),
        revision=place.draft.revision if place.draft else 0,
        seconds=place.draft.active_seconds if place.draft else 0,
        idle_seconds=context.desk.settings().idle_seconds,
        problems=problems,
        notice=notice,
        saved_at=saved_at,
    )


def _slot_of(context: Context, review_id: str) -> int:
    """Return the newest slot of a review that is for adjudication."""
    slots = [
        event.slot
        for event in context.store.desk.list_events_of(review_id)
        if isinstance(event.action, SlotOpened) and event.action.purpose is Purpose.ADJUDICATION
    ]
    if not slots:
        raise DeskError(
            "unknown", "no adjudication is open for this review", "take the next item from the queue"
        )
    return slots[-1]


def _asked(context: Context, review_id: str) -> list[Criterion]:
    criteria = {criterion.id: criterion for criterion in context.desk.rubric_of(review_id).criteria}
    return [criteria[name] for name in context.desk.asked_criteria(review_id)]


def _draft_key(review_id: str, slot: int, account: Account) -> str:
    return f"{review_id}/{slot}/{account.name}"


def _read(context: Context, account: Account, review_id: str, values: dict[str, str]) -> Reading:
    return read_picks(
        values, list_choices(_asked(context, review_id), context.desk.others(account, review_id))
    )


def _keep(
    context: Context, account: Account, review_id: str, slot: int, values: dict[str, str]
) -> SavedDraft:
    """Keep what somebody wrote, so that no refusal and no crash can cost it; also renews the lease.

    Raises:
        DeskError: As `pipeline.review.desk.Desk.save_draft`; of these ``lease_lost`` comes after it was kept.
    """
    seconds = read_seconds(values)
    draft = SavedDraft(
        review_id=review_id,
        slot=slot,
        account=account.name,
        revision=_read_revision(values) + 1,
        assessment=Assessment(note=values.get("note", "").strip()[:20_000]),
        stage="blind",
        active_seconds=seconds or 0.0,
        saved_at=datetime.now(UTC),
    )
    try:
        saved = context.desk.save_draft(
            account, values.get("lease_id", "")[:100], draft, counted=seconds is not None
        )
    except DeskError as error:
        if error.code == "lease_lost":
            _record(context, account, review_id, slot, values)
        raise
    _record(context, account, review_id, slot, values)
    return saved


def _record(context: Context, account: Account, review_id: str, slot: int, values: dict[str, str]) -> None:
    written = {name: value for name, value in values.items() if name not in _FORM_STATE}
    record = AdjudicationDraft(values=written)
    context.store.desk.save_record(_DRAFT, _draft_key(review_id, slot, account), record)


def _read_revision(values: dict[str, str]) -> int:
    text = values.get("revision", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _reveal(request: Request, review_id: str, slot: int, said: str = "") -> RedirectResponse:
    return to_place(request, review_id, slot, "submission", said)
