"""Who is there, and whether they may: every route names its permission here."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Request

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission, may
from pipeline.types import Account
from pipeline.web.context import context_of, path_of
from pipeline.web.sessions import bearer_token, named_by_proxy, session_key

__all__ = ["API_PATH", "Here", "NotLoggedIn", "allow", "current_account", "find_account", "is_api"]

#: Under it tokens alone count, so that no browser can be made to act there.
API_PATH = "/api/"


class NotLoggedIn(Exception):
    """Nobody known sends this request: pages lead to the login, the API answers 401."""


def is_api(request: Request) -> bool:
    """Whether `request` is for the HTTP API."""
    return path_of(request).startswith(API_PATH)


def find_account(request: Request) -> Account | None:
    """Return who sends `request`, or None.

    Raises:
        DeskError: ``forbidden`` if a trusted proxy names somebody who has no account.
    """
    if not hasattr(request.state, "account"):
        request.state.account = _identify(request)
    found: Account | None = request.state.account
    return found


def current_account(request: Request) -> Account:
    """Return who sends `request`, by session cookie, bearer token or a trusted proxy's header.

    Raises:
        NotLoggedIn: If nobody known does: pages lead to the login, the API answers 401.
    """
    account = find_account(request)
    if account is None:
        raise NotLoggedIn
    return account


#: What a route takes to know who is there: ``account: Here``.
Here = Annotated[Account, Depends(current_account)]


def allow(permission: Permission) -> Any:
    """Return the dependency that refuses whoever lacks `permission`, which it bears as ``permission``.

    A route names it in its decorator, ``dependencies=[allow(Permission.REVIEW)]``, or takes the account that
    it gives, ``account: Annotated[Account, allow(Permission.REVIEW)]``.
    """

    def check(account: Here) -> Account:
        if not may(account.role, permission):
            raise DeskError(
                "forbidden",
                f"your role ({account.role.value}) may not do this",
                "ask a lead for another role",
            )
        return account

    check.permission = permission  # type: ignore[attr-defined]
    return Depends(check)


def _identify(request: Request) -> Account | None:
    accounts = context_of(request).accounts
    token = bearer_token(request)
    if token is not None:
        return accounts.find_token(token)
    if is_api(request):
        return None
    name = named_by_proxy(request)
    if name is not None:
        account = accounts.find(name.strip().lower())
        if account is None:
            raise DeskError("forbidden", "you have no account here", "ask a lead to make one for you")
        return account
    key = session_key(request)
    return accounts.find_session(key) if key else None
