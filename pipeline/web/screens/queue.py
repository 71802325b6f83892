"""The queue: one button for the next item, and what somebody has begun and finished."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.review.places import Place, PlaceState
from pipeline.types import Account, Purpose
from pipeline.web.access import allow
from pipeline.web.context import context_of
from pipeline.web.rendering import link, render

__all__ = ["address_of", "router"]

router = APIRouter(include_in_schema=False)

Reviewer = Annotated[Account, allow(Permission.REVIEW)]
Key = Annotated[str, Form(min_length=1, max_length=100)]

#: What the page says after an action, by the word in its address.
_DONE: Final = {
    "undone": "It is open again.",
    "handed_back": "It is back in the queue; what you wrote is kept for you.",
    "hours": "Your hours are noted.",
}


def address_of(place: Place) -> str:
    """Return the path of the page where the holder of `place` goes on."""
    review_id = place.item.review.id
    if place.purpose is Purpose.ADJUDICATION and place.state is PlaceState.HELD:
        return f"/adjudicate/{review_id}"
    return f"/review/{review_id}/{place.slot}"


@router.get("/queue")
def show_queue(
    request: Request,
    account: Reviewer,
    done: Annotated[str, Query(max_length=40)] = "",
    nothing: bool = False,
) -> Response:
    """Show what waits, what is begun, and what was finished last."""
    desk = context_of(request).desk
    return render(
        request,
        "queue.html",
        queue=desk.describe_queue(account),
        undo_seconds=desk.settings().undo_seconds,
        pseudonym=desk.pseudonym,
        address_of=address_of,
        done=_DONE.get(done, ""),
        nothing=nothing,
        now=datetime.now(UTC),
    )


@router.post("/draw")
def draw(request: Request, account: Reviewer, key: Key) -> Response:
    """Hand out the next item; the server picks."""
    place = context_of(request).desk.draw(account, key=key)
    return _go(request, address_of(place) if place else "/queue?nothing=true")


@router.post("/queue/{review_id}/{slot}/undo")
def undo(request: Request, account: Reviewer, review_id: str, slot: int, key: Key) -> Response:
    """Take a final assessment back, and open it again."""
    place = context_of(request).desk.undo(account, review_id, slot, key=key)
    return _go(request, address_of(place))


@router.post("/queue/{review_id}/{slot}/hand-back")
def hand_back(
    request: Request,
    account: Reviewer,
    review_id: str,
    slot: int,
    lease_id: Annotated[str, Form(max_length=100)],
) -> Response:
    """Free an item that is begun, so that somebody else may have it."""
    context_of(request).desk.hand_back(
        account, review_id, slot, lease_id, reason="handed back from the queue", skip=False
    )
    return _go(request, "/queue?done=handed_back")


@router.post("/queue/hours")
def note_hours(
    request: Request, account: Reviewer, hours: Annotated[str, Form(max_length=10)] = ""
) -> Response:
    """Note how long somebody has tonight; nothing for as long as it takes."""
    update: dict[str, Any] = {"hours_tonight": _read_hours(hours)}
    context_of(request).accounts.change(account, account.model_copy(update=update))
    return _go(request, "/queue?done=hours")


def _read_hours(text: str) -> float | None:
    if not text.strip():
        return None
    try:
        hours = float(text.replace(",", "."))
    except ValueError:
        hours = -1.0
    if not 0 <= hours <= 24:
        raise DeskError("invalid", "hours tonight are a number from 0 to 24", "enter one, or leave it empty")
    return hours


def _go(request: Request, path: str) -> Response:
    return RedirectResponse(link(request, path), 303)
