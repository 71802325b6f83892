"""Accounts: who works here, in which role, on what, and the keys that programs use."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.types import Account, Role
from pipeline.web.access import allow
from pipeline.web.context import context_of
from pipeline.web.rendering import link, render

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Lead = Annotated[Account, allow(Permission.MANAGE)]
Name = Annotated[str, Form(max_length=64, pattern=r"^\s*[A-Za-z0-9][A-Za-z0-9._@-]*\s*$")]
Display = Annotated[str, Form(max_length=100)]
Words = Annotated[str, Form(max_length=4000)]
Password = Annotated[str, Form(max_length=2000)]

_DONE: Final = {
    "created": "The account is there.",
    "changed": "The account is changed.",
    "password": "The password is set, and every session of the account has ended.",
    "revoked": "The token is worth nothing any more.",
}


@router.get("/admin/accounts")
def list_accounts(
    request: Request, account: Lead, done: Annotated[str, Query(max_length=40)] = ""
) -> Response:
    """Show everybody, and the form for somebody new."""
    return render(
        request,
        "admin_accounts.html",
        people=context_of(request).accounts.list(),
        roles=list(Role),
        done=_DONE.get(done, ""),
    )


@router.post("/admin/accounts")
def create_account(
    request: Request,
    account: Lead,
    name: Name,
    role: Annotated[Role, Form()],
    display: Display = "",
    password: Password = "",
    skills: Words = "",
    conflicts: Words = "",
) -> Response:
    """Make an account; without a password only a proxy can say that somebody is it."""
    made = Account(
        name=name.strip().lower(),
        role=role,
        display=display.strip(),
        skills=_words(skills),
        conflicts=_words(conflicts),
    )
    context_of(request).accounts.create(made, password or None)
    return RedirectResponse(link(request, "/admin/accounts?done=created"), 303)


@router.get("/admin/accounts/{name}")
def show_account(
    request: Request, account: Lead, name: str, done: Annotated[str, Query(max_length=40)] = ""
) -> Response:
    """Show one account, to change it."""
    return _show(request, name, done=_DONE.get(done, ""))


@router.post("/admin/accounts/{name}")
def change_account(
    request: Request,
    account: Lead,
    name: str,
    role: Annotated[Role, Form()],
    display: Display = "",
    skills: Words = "",
    conflicts: Words = "",
    active: Annotated[bool, Form()] = False,
) -> Response:
    """Change an account; the last active lead stays one."""
    found = _find(request, name)
    update: dict[str, Any] = {
        "role": role,
        "display": display.strip(),
        "skills": _words(skills),
        "conflicts": _words(conflicts),
        "active": active,
    }
    context_of(request).accounts.change(account, found.model_copy(update=update))
    return _go(request, found, "changed")


@router.post("/admin/accounts/{name}/password")
def set_password(request: Request, account: Lead, name: str, password: Password = "") -> Response:
    """Give an account a new password."""
    found = _find(request, name)
    context_of(request).accounts.set_password(found.name, password)
    return _go(request, found, "password")


@router.post("/admin/accounts/{name}/tokens")
def issue_token(
    request: Request, account: Lead, name: str, label: Annotated[str, Form(max_length=100)] = ""
) -> Response:
    """Issue a token and show it, this once."""
    token = context_of(request).accounts.issue_token(_find(request, name), label)
    return _show(request, name, token=token)


@router.post("/admin/accounts/{name}/tokens/revoke")
def revoke_token(
    request: Request, account: Lead, name: str, sha256: Annotated[str, Form(max_length=64)]
) -> Response:
    """Make a token worthless."""
    found = _find(request, name)
    context_of(request).accounts.revoke_token(account, sha256)
    return _go(request, found, "revoked")


def _show(request: Request, name: str, **values: Any) -> Response:
    person = _find(request, name)
    shown = {"done": "", "token": "", **values}
    return render(
        request,
        "admin_account.html",
        person=person,
        roles=list(Role),
        tokens=context_of(request).accounts.list_tokens(person),
        **shown,
    )


def _find(request: Request, name: str) -> Account:
    for account in context_of(request).accounts.list():
        if account.name == name:
            return account
    raise DeskError("unknown", "there is no account with that name", "choose one from the list of accounts")


def _words(text: str) -> tuple[str, ...]:
    """Return what stands between commas or white space, each once, in its order."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def _go(request: Request, account: Account, done: str) -> Response:
    return RedirectResponse(link(request, f"/admin/accounts/{account.name}?done={done}"), 303)
