"""The caller over the API: who they are, and which tokens they have.

No token is issued here: whoever got hold of one could keep the desk open after that one was revoked.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path, Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.types import Account, Frozen, Token
from pipeline.web.access import allow
from pipeline.web.api.accounts import Person, show_person
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.context import context_of

__all__ = ["router"]

router = make_router("/me", tag="me")

#: Every role has this permission.
Anybody = Annotated[Account, allow(Permission.SEE_BATCHES)]


class OwnRequest(Frozen):
    """What people say about themselves; what is left out stays."""

    display: str = Field(default="", max_length=100)
    hours_tonight: float | None = Field(default=None, ge=0, le=24, description="Null for no limit.")


class IssuedToken(Frozen):
    """A token, without what would let one use it."""

    sha256: str = Field(description="Names it.")
    label: str
    issued_at: datetime
    revoked: bool


@router.get("", operation_id="getMe", summary="Who the caller is", responses=refusals())
def describe_me(request: Request, account: Anybody) -> Person:
    """The account of the token."""
    return show_person(account)


@router.patch("", operation_id="changeMe", summary="Change one's own account", responses=refusals("invalid"))
def change_me(request: Request, account: Anybody, asked: OwnRequest) -> Person:
    """Display name, and hours available tonight; everything else is a lead's to change."""
    changed = account.model_copy(update=asked.model_dump(exclude_unset=True))
    context_of(request).accounts.change(account, changed)
    return show_person(changed)


@router.get("/tokens", operation_id="listTokens", summary="List one's own tokens", responses=refusals())
def list_tokens(
    request: Request, account: Anybody, cursor: Cursor = None, limit: Limit = 50
) -> Page[IssuedToken]:
    """Oldest first, those that were revoked included."""
    return paginate(
        context_of(request).accounts.list_tokens(account),
        _show_token,
        key=lambda token: f"{token.issued_at.timestamp():020.6f} {token.sha256}",
        cursor=cursor,
        limit=limit,
    )


@router.delete(
    "/tokens/{sha256}",
    operation_id="revokeToken",
    summary="Make a token worthless",
    status_code=204,
    responses=refusals("unknown"),
)
def revoke_token(
    request: Request, account: Anybody, sha256: Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
) -> None:
    """One's own; leads may revoke anybody's."""
    context_of(request).accounts.revoke_token(account, sha256)


def _show_token(token: Token) -> IssuedToken:
    return IssuedToken(
        sha256=token.sha256, label=token.label, issued_at=token.issued_at, revoked=token.revoked
    )
