"""Who is there, and whether they may: every route names its permission here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request

from pipeline.review.permissions import Permission
from pipeline.types import Account

__all__ = ["Here", "allow", "current_account"]


def current_account(request: Request) -> Account:
    """Return who sends `request`, by session cookie, bearer token or a trusted proxy's header.

    Raises:
        NotLoggedIn: If nobody known does: pages lead to the login, the API answers 401.
    """
    raise NotImplementedError


#: What a route takes to know who is there: ``account: Here``.
Here = Annotated[Account, Depends(current_account)]


def allow(permission: Permission) -> Any:
    """Return the dependency that refuses whoever lacks `permission`, which it bears as ``permission``."""
    raise NotImplementedError


_Check = Callable[[Request], None]
