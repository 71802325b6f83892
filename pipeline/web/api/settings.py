"""How the desk is run, over the API."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request

from pipeline.review.permissions import Permission
from pipeline.types import Account, DeskSettings
from pipeline.web.access import allow
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.context import context_of

__all__ = ["router"]

router = make_router("/settings", tag="settings")

Lead = Annotated[Account, allow(Permission.MANAGE)]


@router.get("", operation_id="getSettings", summary="How the desk is run", responses=refusals())
def describe_settings(request: Request, account: Lead) -> DeskSettings:
    """Lease length, sampling rates, pause and hold."""
    return context_of(request).desk.settings()


@router.put(
    "", operation_id="changeSettings", summary="Run the desk differently", responses=refusals("invalid")
)
def change_settings(request: Request, account: Lead, settings: DeskSettings) -> DeskSettings:
    """Every change is kept; what is left out gets its default."""
    desk = context_of(request).desk
    desk.change_settings(account, settings)
    return desk.settings()
