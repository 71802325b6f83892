"""Lists in pages: bounded, and stable while others add to them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from pipeline.review.errors import DeskError

__all__ = ["Cursor", "Limit", "Page", "paginate"]

Item = TypeVar("Item")
Shown = TypeVar("Shown")

Limit = Annotated[int, Query(ge=1, le=200, description="Longest page.")]
Cursor = Annotated[
    str | None, Query(max_length=1000, description="`next` of the page before; none for the first page.")
]


class Page(BaseModel, Generic[Shown]):
    """Some of a list, in its order."""

    model_config = ConfigDict(frozen=True)

    items: list[Shown] = Field(description="At most as many as `limit` says.")
    next: str | None = Field(description="Cursor of the next page; null on the last one.")


def paginate(
    items: Iterable[Item],
    show: Callable[[Item], Shown],
    *,
    key: Callable[[Item], str],
    cursor: str | None,
    limit: int,
) -> Page[Shown]:
    """Return the page of `items` that follows `cursor`, ordered by `key`.

    Args:
        items: The whole list, in any order.
        show: Makes of one item what the page holds; called for that page's items only.
        key: Distinct for every item; a cursor is the key of the last item before a page, so that one that is
            gone meanwhile does no harm.
        cursor: From the page before.
        limit: Longest page.

    Raises:
        DeskError: ``invalid`` if `cursor` is none that a page gave.
    """
    after = _decode(cursor) if cursor is not None else None
    keyed = sorted(((key(item), item) for item in items), key=lambda pair: pair[0])
    rest = [pair for pair in keyed if after is None or pair[0] > after]
    page = rest[:limit]
    following = _encode(page[-1][0]) if len(rest) > limit else None
    return Page(items=[show(item) for _, item in page], next=following)


def _encode(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode()


def _decode(cursor: str) -> str:
    try:
        return base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError) as error:
        raise DeskError(
            "invalid", "the cursor is none that a page gave", "leave it out for the first page"
        ) from error
