"""Which reviews are behind a number of the progress page, as a query says it: for pages and the HTTP API."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Literal

from fastapi import Depends, Query, Request

from pipeline.review.permissions import Permission
from pipeline.types import Account, Cause
from pipeline.web.access import allow
from pipeline.web.progress_lists import Listed
from pipeline.web.services import progress_lists_of

__all__ = ["Kind", "ListedReviews"]

Kind = Literal["committed", "finished", "waiting", "people", "judge", "imported", "changed", "audit"]
Level = Annotated[int | None, Query(ge=0, le=4)]


def find_listed(
    request: Request,
    account: Annotated[Account, allow(Permission.SEE_PROGRESS)],
    kind: Annotated[Kind, Query(description="Which number.")],
    day: Annotated[
        date | None, Query(description="Of `committed` and `finished`: the day (UTC); today if left out.")
    ] = None,
    age: Annotated[str, Query(max_length=40, description="Of `waiting`: one age, by its name.")] = "",
    rubric: Annotated[str, Query(max_length=200, description="Of agreement: id and version.")] = "",
    criterion: Annotated[str, Query(max_length=200, description="Of agreement.")] = "",
    first: Level = None,
    second: Level = None,
    cause: Annotated[Cause | None, Query(description="Of `changed`: one cause.")] = None,
) -> list[Listed]:
    """Return the reviews behind a number; where levels are told, of decided reviews only."""
    lists, now = progress_lists_of(request.app), datetime.now(UTC)
    match kind:
        case "committed":
            return lists.committed_on(day or now.date())
        case "finished":
            return lists.finished_on(day or now.date())
        case "waiting":
            return lists.waiting(age, now)
        case "changed":
            return lists.changed(cause, account.name)
        case "audit":
            return lists.audited(account.name)
        case "people" | "judge" | "imported":
            levels = None if first is None or second is None else (first, second)
            return lists.compared(kind, rubric, criterion, levels, account.name)


#: What a route takes to get the reviews that its query asks for: ``found: ListedReviews``.
ListedReviews = Annotated[list[Listed], Depends(find_listed)]
