"""The API's OpenAPI document, which the desk serves at no address but is kept in docs/.

python -m pipeline.web.api.document > docs/openapi.json
"""

from __future__ import annotations

import json
from typing import Any, Final

from fastapi.openapi.utils import get_openapi

from pipeline.web.api.routing import VERSION_PATH
from pipeline.web.app import find_routers

__all__ = ["describe_api", "main"]

_ABOUT: Final = """\
The review desk's actions, for teams with front ends of their own.

Every request bears a token, `Authorization: Bearer TOKEN`, and acts for the account that it was issued to;
its role says what it may do. Cookies do not count here. What is refused is answered with a code, one sentence
and what to do instead, and changes nothing. Lists come in pages: `next` of one page is the `cursor` of the
next. What acts takes a `key`, chosen at random: sent again, as after a lost connection, it is done once.

Until the blind assessment of an item is committed, nothing that the judge or other people said of it is
given.
"""

_TAGS: Final = (
    ("queue", "How the queue stands, and the next item."),
    ("places", "One person's place at one item: open, renew, give back, flag."),
    ("items", "What an item is judged by."),
    ("assessments", "Drafts, the blind assessment, the final one."),
    ("reviews", "Whole reviews: for adjudicators and leads."),
    ("history", "What happened to a review, as far as the caller may know."),
    ("decisions", "Decisions that are held back, and their release: for leads."),
    ("norming", "The same submissions for everybody, blind, then revealed and talked about."),
    ("progress", "Throughput, what waits, and who agrees: for leads and viewers."),
    ("comments", "Remarks that are made again and again."),
    ("timesheets", "Days and hours."),
    ("labels", "What people said blind, for statistics."),
    ("batches", "Where submissions stand, in counts."),
    ("me", "The caller's account and tokens."),
    ("accounts", "Everybody's account, for leads."),
    ("settings", "How the desk is run, for leads."),
)


def describe_api() -> dict[str, Any]:
    """Return the document as data; the same code makes the same document."""
    routes = [
        route
        for router in find_routers()
        for route in router.routes
        if getattr(route, "path", "").startswith(VERSION_PATH + "/")
    ]
    return get_openapi(
        title="nki-grader review desk",
        version="1",
        description=_ABOUT,
        routes=routes,
        tags=[{"name": name, "description": about} for name, about in _TAGS],
        license_info={"name": "Apache 2.0", "identifier": "Apache-2.0"},
    )


def main() -> None:
    """Print the document as it is kept."""
    print(json.dumps(describe_api(), indent=1, sort_keys=True, ensure_ascii=False))


if __name__ == "__main__":
    main()
