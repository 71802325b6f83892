"""What somebody wrote, as one text to copy: no refusal may cost it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from fastapi import Request
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.types import Message

from pipeline.review.places import Place
from pipeline.review.set_aside import find_set_aside
from pipeline.types import Account, Assessment
from pipeline.web.context import context_of

__all__ = ["remember_body", "set_aside_values", "written_in"]

#: Fields of forms that are their state rather than what somebody wrote.
_STATE: Final = frozenset(
    {
        "action",
        "comment_id",
        "csrf",
        "edit",
        "feedback.citations",
        "feedback.shown",
        "key",
        "lease_id",
        "mode",
        "new.part",
        "next",
        "revision",
        "rubric",
        "seconds",
        "sha256",
        "shown_mode",
        "stage",
    }
)
_MOST_FIELDS: Final = 5000


def remember_body(request: Request, body: bytes) -> None:
    """Keep the body of a request of one of our pages, for an answer that has to give it back."""
    request.state.body = body


async def written_in(request: Request) -> str:
    """Return what somebody wrote in the form that `request` bears; nothing of a form with a password."""
    body: bytes = getattr(request.state, "body", b"")

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    try:
        form = await Request(request.scope, receive).form(max_files=0, max_fields=_MOST_FIELDS)
    except HTTPException:
        return ""
    return _join(_list_typed(form))


def set_aside_values(request: Request, account: Account, place: Place, said: Assessment) -> dict[str, Any]:
    """Return what a page shows of text that came too late, unless it is there already, such as as `said`."""
    context = context_of(request)
    late = find_set_aside(context.store, place.item.review.id, place.slot, account.name)
    shown = [said, place.draft.assessment if place.draft else None]
    if place.submitted is not None:
        shown += [place.submitted.blind, place.submitted.final]
    if late is None or late.assessment in shown:
        return {"set_aside": "", "set_aside_at": None}
    titles = {one.id: one.title for one in context.desk.rubric_of(place.item.review.id).criteria}
    return {"set_aside": _join(_list_said(late.assessment, titles)), "set_aside_at": late.saved_at}


def _list_typed(form: FormData) -> Iterator[tuple[str, str]]:
    if any("password" in name for name in form):
        return
    for name, value in form.multi_items():
        if name not in _STATE and isinstance(value, str):
            yield name.replace(".", " ").replace("_", " ").replace("-", " "), value


def _list_said(said: Assessment, titles: dict[str, str]) -> Iterator[tuple[str, str]]:
    for criterion, answer in said.answers.items():
        title = titles.get(criterion, criterion)
        yield f"{title}, level", "cannot be judged" if answer.level is None else str(answer.level)
        yield f"{title}, reason", answer.reason
    yield from ((f"objection to {one.check}", one.reason) for one in said.objections)
    yield from ((f"comment on lines {one.first_line} to {one.last_line}", one.text) for one in said.comments)
    yield "passed", {True: "yes", False: "no", None: ""}[said.passed]
    yield "note", said.note
    yield from (("feedback", item.text) for item in said.feedback or ())


def _join(parts: Iterable[tuple[str, str]]) -> str:
    return "\n".join(
        f"{label}:\n{value}\n" if "\n" in value else f"{label}: {value}"
        for label, value in parts
        if value.strip()
    )
