"""Norming: everybody assesses the same submissions blind, then all look at where they differ."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.norming import MOST
from pipeline.review.permissions import Permission
from pipeline.types import Account
from pipeline.web.access import Here, allow
from pipeline.web.context import context_of
from pipeline.web.rendering import link, render
from pipeline.web.services import norming_of

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

_REVIEW: Final = [allow(Permission.REVIEW)]
_MANAGE: Final = [allow(Permission.MANAGE)]

Key = Annotated[str, Form(min_length=1, max_length=80)]


@router.get("/norming", dependencies=_REVIEW)
def list_sessions(request: Request, account: Here) -> HTMLResponse:
    """Show every session, the newest first, and to leads a form for a new one."""
    return _list(request, account, {})


@router.post("/norming", dependencies=_MANAGE)
def start_session(
    request: Request,
    account: Here,
    key: Key,
    title: Annotated[str, Form(max_length=2000)] = "",
    reviews: Annotated[str, Form(max_length=20_000)] = "",
    count: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """Open a session over the named reviews, or over some that chance draws."""
    norming = norming_of(request.app)
    try:
        named = reviews.replace(",", " ").split()
        if named:
            session = norming.start(account, title, named, key=key)
        else:
            session = norming.start_drawn(account, title, _read_count(count), key=key)
    except DeskError as error:
        written = {"title": title, "reviews": reviews, "count": count, "key": key}
        return _list(request, account, written, error)
    return _go(request, f"/norming/{session.id}")


@router.get("/norming/{session_id}", dependencies=_REVIEW)
def show_session(request: Request, account: Here, session_id: str) -> HTMLResponse:
    """Show a session's submissions and how far they have come."""
    norming = norming_of(request.app)
    return render(
        request,
        "norming_session.html",
        session=norming.find(account, session_id),
        items=norming.list_items(account, session_id),
        pseudonym=context_of(request).desk.pseudonym,
        new_key=_new_key,
    )


@router.post("/norming/{session_id}/reveal", dependencies=_MANAGE)
def reveal_session(request: Request, account: Here, session_id: str) -> Response:
    """End the blind part."""
    norming_of(request.app).reveal(account, session_id)
    return _go(request, f"/norming/{session_id}")


@router.post("/norming/{session_id}/{review_id}/join", dependencies=_REVIEW)
def join_session(request: Request, account: Here, session_id: str, review_id: str, key: Key) -> Response:
    """Take one's own place for a submission, and go to the workspace."""
    place = norming_of(request.app).join(account, session_id, review_id, key=key)
    return _go(request, f"/review/{review_id}/{place.slot}")


@router.get("/norming/{session_id}/{review_id}", dependencies=_REVIEW)
def compare(request: Request, account: Here, session_id: str, review_id: str) -> HTMLResponse:
    """Show what all said about one submission, without names."""
    return _compare(request, account, session_id, review_id)


@router.post("/norming/{session_id}/{review_id}/remark", dependencies=_REVIEW)
def keep_remark(
    request: Request,
    account: Here,
    session_id: str,
    review_id: str,
    key: Key,
    text: Annotated[str, Form(max_length=20_000)] = "",
) -> Response:
    """Keep a remark for colleagues."""
    try:
        norming_of(request.app).remark(account, session_id, review_id, text, key=key)
    except DeskError as error:
        if error.code != "invalid":
            raise
        return _compare(request, account, session_id, review_id, text, error)
    return _go(request, f"/norming/{session_id}/{review_id}#remarks")


def _list(
    request: Request, account: Account, written: dict[str, Any], error: DeskError | None = None
) -> HTMLResponse:
    return render(
        request,
        "norming.html",
        status=error.status if error else 200,
        sessions=norming_of(request.app).list(account),
        written=written,
        key=written.get("key") or _new_key(),
        problem=f"{error.fault.message}: {error.fault.remedy}" if error else "",
        most=MOST,
    )


def _compare(
    request: Request,
    account: Account,
    session_id: str,
    review_id: str,
    text: str = "",
    error: DeskError | None = None,
) -> HTMLResponse:
    norming, desk = norming_of(request.app), context_of(request).desk
    comparison = norming.compare(account, session_id, review_id)
    return render(
        request,
        "norming_comparison.html",
        status=error.status if error else 200,
        session=norming.find(account, session_id),
        comparison=comparison,
        criteria={criterion.id: criterion for criterion in desk.rubric_of(review_id).criteria},
        pseudonym=desk.pseudonym(review_id),
        text=text,
        key=_new_key(),
        problem=f"{error.fault.message}: {error.fault.remedy}" if error else "",
    )


def _read_count(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST:
        return int(text)
    raise DeskError(
        "invalid", f"how many to draw is a number from 1 to {MOST}", "enter one, or name the reviews"
    )


def _new_key() -> str:
    return secrets.token_hex(12)


def _go(request: Request, path: str) -> RedirectResponse:
    return RedirectResponse(link(request, path), 303)
