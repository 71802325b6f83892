"""What the API answers when it does not do what was asked: a code, one sentence, and what to do instead.

`pipeline.web.errors` makes these answers, for pages and the API alike; the API's document gets them here.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from pipeline.review.errors import CODES
from pipeline.types import Frozen

__all__ = ["Refusal", "refusals"]


class Refusal(Frozen):
    """Why a request was not done; nothing was changed."""

    code: str = Field(description="Stable name of the reason, for programs.")
    message: str = Field(description="One sentence for people: what, and which limit.")
    remedy: str = Field(description="What to do instead.")


def refusals(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI answers of a route that may refuse with `codes`, beside what every route may."""
    reasons: dict[int, list[str]] = {
        400: ["`http`: the body cannot be read at all"],
        401: ["`not_logged_in`: no valid token"],
        403: ["`forbidden`: this account may not"],
        413: ["`too_large`: the body is larger than the server takes"],
        422: ["`invalid`: a value is missing, of another kind or out of bounds"],
        503: ["the database cannot be reached or written right now"],
    }
    for code in codes:
        said = f"`{code}`"
        listed = reasons.setdefault(CODES[code], [])
        if not any(reason.startswith(said) for reason in listed):
            listed.append(said)
    answers: dict[int | str, dict[str, Any]] = {
        status: {"model": Refusal, "description": "; ".join(listed)}
        for status, listed in sorted(reasons.items())
    }
    challenge = {"description": "How to say who one is.", "schema": {"type": "string"}}
    answers[401]["headers"] = {"WWW-Authenticate": challenge}
    return answers
