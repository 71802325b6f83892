"""Saved comments over the API: remarks that are made again and again."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request
from pydantic import Field

from pipeline.review.permissions import Permission
from pipeline.types import Account, Frozen, SavedComment
from pipeline.web.access import allow
from pipeline.web.api.paging import Cursor, Limit, Page, paginate
from pipeline.web.api.refusals import refusals
from pipeline.web.api.routing import make_router
from pipeline.web.services import saved_comments_of

__all__ = ["router"]

router = make_router("/comments", tag="comments")

Reviewer = Annotated[Account, allow(Permission.REVIEW)]
CommentId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,100}$", description="Id of a saved comment.")]


class Remark(Frozen):
    """A saved comment."""

    id: str
    text: str
    task_id: str = Field(description="The task that it is about; empty for any.")
    shared: bool = Field(description="Whether it is everybody's.")
    uses: int = Field(description="How often it was put into an assessment.")


class RemarkRequest(Frozen):
    """What a saved comment says."""

    text: str = Field(min_length=1, max_length=4000)
    task_id: str = Field(default="", max_length=200)
    shared: bool = False


class Suggestions(Frozen):
    """What is most likely wanted, best first."""

    items: list[Remark]


@router.get("", operation_id="listComments", summary="List saved comments", responses=refusals())
def list_comments(
    request: Request, account: Reviewer, cursor: Cursor = None, limit: Limit = 50
) -> Page[Remark]:
    """The caller's own, and everybody's."""
    kept = saved_comments_of(request.app).list(account)
    return paginate(kept, _show, key=lambda comment: comment.id, cursor=cursor, limit=limit)


@router.get(
    "/suggestions", operation_id="suggestComments", summary="What may be wanted now", responses=refusals()
)
def suggest(
    request: Request,
    account: Reviewer,
    task_id: Annotated[str, Query(max_length=200, description="Of the submission under review.")] = "",
) -> Suggestions:
    """At most 20: those about the task first, among these the most used."""
    return Suggestions(
        items=[_show(comment) for comment in saved_comments_of(request.app).suggest(account, task_id)]
    )


@router.post(
    "",
    operation_id="addComment",
    summary="Save a comment",
    status_code=201,
    responses=refusals("invalid"),
)
def add_comment(request: Request, account: Reviewer, asked: RemarkRequest) -> Remark:
    """One with the same words for the same task is there already, and returned."""
    return _show(
        saved_comments_of(request.app).save(account, asked.text, task_id=asked.task_id, shared=asked.shared)
    )


@router.put(
    "/{comment_id}",
    operation_id="changeComment",
    summary="Change a saved comment",
    responses=refusals("unknown", "forbidden", "invalid"),
)
def change_comment(
    request: Request, account: Reviewer, comment_id: CommentId, asked: RemarkRequest
) -> Remark:
    """One's own; leads change what is everybody's."""
    return _show(
        saved_comments_of(request.app).save(
            account, asked.text, task_id=asked.task_id, shared=asked.shared, comment_id=comment_id
        )
    )


@router.delete(
    "/{comment_id}",
    operation_id="deleteComment",
    summary="Delete a saved comment",
    status_code=204,
    responses=refusals("unknown", "forbidden"),
)
def delete_comment(request: Request, account: Reviewer, comment_id: CommentId) -> None:
    """One's own; leads delete what is everybody's."""
    saved_comments_of(request.app).delete(account, comment_id)


@router.post(
    "/{comment_id}/use",
    operation_id="useComment",
    summary="Count a use",
    responses=refusals("unknown"),
)
def use_comment(request: Request, account: Reviewer, comment_id: CommentId) -> Remark:
    """To be sent when it is put into an assessment: what is used most is suggested first."""
    return _show(saved_comments_of(request.app).use(account, comment_id))


def _show(comment: SavedComment) -> Remark:
    return Remark(
        id=comment.id,
        text=comment.text,
        task_id=comment.task_id,
        shared=not comment.owner,
        uses=comment.uses,
    )
