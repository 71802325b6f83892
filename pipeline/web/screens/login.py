"""Log in and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission, may
from pipeline.web.access import Here, find_account
from pipeline.web.context import context_of
from pipeline.web.rendering import link, render
from pipeline.web.sessions import (
    client_address,
    drop_session,
    form_token,
    keep_session,
    new_session_key,
    session_key,
)

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/")
def go_home(request: Request, account: Here) -> Response:
    """Lead everybody to where their work is."""
    home = "/queue" if may(account.role, Permission.REVIEW) else "/progress"
    return RedirectResponse(link(request, home), 303)


@router.get("/login")
def show_login(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> Response:
    """Show the form, or go on where somebody is logged in already."""
    if find_account(request) is not None:
        return RedirectResponse(link(request, _local(next)), 303)
    return _show_form(request, next)


@router.post("/login")
def log_in(
    request: Request,
    name: Annotated[str, Form(max_length=200)] = "",
    password: Annotated[str, Form(max_length=2000)] = "",
    next: Annotated[str, Form(max_length=2000)] = "/",
) -> Response:
    """Start a session, always under a new key."""
    try:
        key = context_of(request).accounts.log_in(
            name.strip().lower(), password, address=client_address(request)
        )
    except DeskError as error:
        return _show_form(
            request, next, name, 429, f"{error.fault.message.capitalize()}: {error.fault.remedy}."
        )
    if key is None:
        return _show_form(request, next, name, 401, "The name or the password is wrong.")
    response = RedirectResponse(link(request, _local(next)), 303)
    keep_session(request, response, key)
    return response


@router.post("/logout")
def log_out(request: Request) -> Response:
    """End the session, also one that has ended already."""
    key = session_key(request)
    if key:
        context_of(request).accounts.log_out(key)
    response = RedirectResponse(link(request, "/login"), 303)
    drop_session(request, response)
    return response


def _show_form(
    request: Request, wanted: str, name: str = "", status: int = 200, problem: str = ""
) -> Response:
    key = session_key(request) or new_session_key()
    token = form_token(request, key)
    response = render(
        request, "login.html", status, next=_local(wanted), name=name, problem=problem, csrf=token
    )
    keep_session(request, response, key)
    return response


def _local(path: str) -> str:
    """Return `path` if it is one of ours, else the front page: nobody is led to another site."""
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else "/"
