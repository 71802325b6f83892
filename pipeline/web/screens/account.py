"""One's own account: a new password."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.passwords import LONGEST, SHORTEST
from pipeline.review.permissions import Permission
from pipeline.web.access import Here, allow
from pipeline.web.context import context_of
from pipeline.web.rendering import link, render
from pipeline.web.sessions import client_address, keep_session

__all__ = ["router"]

#: Every role has this permission.
router = APIRouter(dependencies=[allow(Permission.SEE_BATCHES)], include_in_schema=False)

Password = Annotated[str, Form(max_length=2000)]


@router.get("/account")
def show_account(request: Request, account: Here, done: Annotated[bool, Query()] = False) -> Response:
    """Show who one is, and the form for a new password."""
    return _show(request, done=done)


@router.post("/account/password")
def change_password(
    request: Request, account: Here, current: Password = "", password: Password = "", again: Password = ""
) -> Response:
    """Take a new password; whoever is logged in elsewhere under this name is not any more."""
    if password != again:
        return _show(request, 422, "The new password was typed differently the second time.")
    try:
        key = context_of(request).accounts.change_password(
            account, current, password, address=client_address(request)
        )
    except DeskError as error:
        status = 429 if error.code == "forbidden" else error.status
        return _show(request, status, f"{error.fault.message.capitalize()}: {error.fault.remedy}.")
    if key is None:
        return _show(request, 422, "The current password is wrong.")
    response = RedirectResponse(link(request, "/account?done=true"), 303)
    keep_session(request, response, key)
    return response


def _show(request: Request, status: int = 200, problem: str = "", *, done: bool = False) -> Response:
    return render(
        request, "account.html", status, problem=problem, done=done, shortest=SHORTEST, longest=LONGEST
    )
