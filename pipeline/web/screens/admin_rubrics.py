"""Versions of rubrics: what each changes, and a lead's signature that other words mean the same."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import RedirectResponse, Response

from pipeline.library.errors import LibraryError
from pipeline.library.rubric_revisions import list_revisions, load_revision
from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.review.rubric_succession import find_signature, sign_revision
from pipeline.types import Account
from pipeline.web.access import allow
from pipeline.web.context import context_of
from pipeline.web.rendering import link, render

__all__ = ["router"]

router = APIRouter(include_in_schema=False)

Lead = Annotated[Account, allow(Permission.MANAGE)]

_DONE: Final = {"signed": "The change is signed; reviews that nobody has begun are shown in the new words."}


@router.get("/admin/rubrics")
def list_changes(
    request: Request, account: Lead, done: Annotated[str, Query(max_length=40)] = ""
) -> Response:
    """Show what every version changes, those first that wait for a signature."""
    context = context_of(request)
    revisions = [
        (revision, find_signature(context.store, revision))
        for revision in list_revisions(root=context.options.rubrics)
    ]
    waiting = [one for one, signed in revisions if one.kind == "editorial" and signed is None]
    return render(
        request,
        "admin_rubrics.html",
        waiting=waiting,
        others=[(one, signed) for one, signed in revisions if one not in waiting],
        done=_DONE.get(done, ""),
    )


@router.post("/admin/rubrics/sign")
def sign(
    request: Request,
    account: Lead,
    rubric: Annotated[str, Form(min_length=1, max_length=100)],
    version: Annotated[str, Form(min_length=1, max_length=20)],
    reason: Annotated[str, Form(max_length=2000)] = "",
) -> Response:
    """Keep that a change of words leaves the meaning as it was."""
    context = context_of(request)
    try:
        revision = load_revision(rubric, version, root=context.options.rubrics)
        revision.require_editorial()
    except LibraryError as error:
        raise DeskError("invalid", error.fault.message, error.fault.remedy) from error
    sign_revision(context.store, revision, lead=account.name, reason=reason)
    context.desk.refresh()
    return RedirectResponse(link(request, "/admin/rubrics?done=signed"), 303)
