"""Where the API lies, and how one says who one is there.

`pipeline.web.access` counts tokens alone under the API's path, so a page that a browser was lured to cannot
act for whoever is logged in, and no route needs a CSRF token.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Depends
from fastapi.security import HTTPBearer

from pipeline.web.access import API_PATH

__all__ = ["VERSION_PATH", "make_router"]

VERSION_PATH: Final = f"{API_PATH}v1"

# It only tells the document: who has no token is refused by the permission that every route asks for.
_TOKEN: Final = HTTPBearer(
    scheme_name="token",
    description="An API token, as `nki-grader accounts token NAME` issues it.",
    auto_error=False,
)


def make_router(path: str, *, tag: str) -> APIRouter:
    """Return a router for `path` under the API's, whose routes are listed under `tag`."""
    return APIRouter(prefix=f"{VERSION_PATH}{path}", tags=[tag], dependencies=[Depends(_TOKEN)])
