"""Saved comments: what people write again and again, and what the workspace suggests while they type."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission
from pipeline.web.access import Here, allow
from pipeline.web.rendering import link, render
from pipeline.web.services import saved_comments_of

__all__ = ["router"]

router = APIRouter(dependencies=[allow(Permission.REVIEW)], include_in_schema=False)

_LONGEST_TEXT: Final = 20_000
Text = Annotated[str, Form(max_length=_LONGEST_TEXT)]
Name = Annotated[str, Form(max_length=200)]


@router.get("/comments")
def list_comments(
    request: Request, account: Here, edit: Annotated[str, Query(max_length=100)] = ""
) -> HTMLResponse:
    """Show one's own comments and everybody's, with a form to add one or to change the one in `edit`."""
    edited = next((one for one in saved_comments_of(request.app).list(account) if one.id == edit), None)
    return _page(request, account, {"text": edited.text, "task_id": edited.task_id} if edited else {}, edit)


@router.post("/comments")
def save_comment(
    request: Request,
    account: Here,
    text: Text = "",
    task_id: Name = "",
    shared: Name = "",
    comment_id: Name = "",
) -> Response:
    """Add a comment, or change one."""
    try:
        saved_comments_of(request.app).save(
            account, text, task_id=task_id.strip(), shared=bool(shared), comment_id=comment_id or None
        )
    except DeskError as error:
        written = {"text": text, "task_id": task_id, "shared": shared}
        return _page(request, account, written, comment_id, error)
    return RedirectResponse(link(request, "/comments"), 303)


@router.post("/comments/{comment_id}/delete")
def delete_comment(request: Request, account: Here, comment_id: str) -> Response:
    """Offer a comment no longer."""
    saved_comments_of(request.app).delete(account, comment_id)
    return RedirectResponse(link(request, "/comments"), 303)


@router.get("/comments/suggest")
def suggest_comments(
    request: Request, account: Here, task: Annotated[str, Query(max_length=200)] = ""
) -> JSONResponse:
    """Return the comments most likely wanted while reviewing a submission to `task`."""
    found = saved_comments_of(request.app).suggest(account, task)
    return JSONResponse(
        {"comments": [{"id": one.id, "text": one.text, "shared": not one.owner} for one in found]}
    )


@router.post("/comments/{comment_id}/use")
def use_comment(request: Request, account: Here, comment_id: str) -> JSONResponse:
    """Count that a comment was put into an assessment, and return it."""
    comment = saved_comments_of(request.app).use(account, comment_id)
    return JSONResponse({"id": comment.id, "text": comment.text})


def _page(
    request: Request, account: Here, written: dict[str, Any], edit: str, error: DeskError | None = None
) -> HTMLResponse:
    listed = saved_comments_of(request.app).list(account)
    edited = next((one for one in listed if one.id == edit), None)
    return render(
        request,
        "comments.html",
        status=error.status if error else 200,
        mine=[one for one in listed if one.owner],
        everybodys=[one for one in listed if not one.owner],
        edited=edited,
        written=written,
        shared=bool(written.get("shared")) or (edited is not None and not edited.owner),
        problem=f"{error.fault.message}: {error.fault.remedy}" if error else "",
    )
