"""What the headers and the body of a response say, whoever wrote them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["ErrorBody", "clean_text", "read_error_body", "read_request_id", "read_retry_after"]


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What a body says of an error.

    Attributes:
        form: Whether it was JSON, an HTML page, other text, or nothing.
        kind: The error's type and code, as far as given.
        message: What it says, or the text itself.
    """

    form: str
    kind: str
    message: str


def read_error_body(text: str) -> ErrorBody:
    """Return what the body of an error says, whatever wrote it."""
    stripped = text.strip()
    if not stripped:
        return ErrorBody("empty", "", "")
    try:
        given = json.loads(stripped)
    except (ValueError, RecursionError):
        html = re.match(r"<(!doctype|html|head|body|\?xml)", stripped[:200], re.IGNORECASE) is not None
        return ErrorBody("html" if html else "text", "", stripped)
    error = given.get("error", given) if isinstance(given, dict) else given
    if isinstance(error, dict):
        kind = " ".join(str(error[name]) for name in ("type", "code") if error.get(name) is not None)
        inner = error.get("innererror")
        if isinstance(inner, dict) and inner.get("code"):
            kind += f" {inner['code']}"
        message = error.get("message", error.get("detail", stripped))
        return ErrorBody("json", kind, message if isinstance(message, str) else json.dumps(message))
    return ErrorBody("json", "", error if isinstance(error, str) else stripped)


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, or None; never negative, never infinite."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        until = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    try:
        # By the server's own clock, where it tells it: ours may be off.
        now = parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError):
        now = datetime.now(UTC)
    try:
        return max((until - now).total_seconds(), 0.0)
    except TypeError:  # one of them names no time zone
        return None


def read_request_id(headers: Mapping[str, str]) -> str:
    """Return the provider's name of a request, or an empty text."""
    return clean_text(headers.get("request-id") or headers.get("x-request-id") or "")


def clean_text(text: object) -> str:
    """Return a text that every encoding takes; anything that is no text becomes an empty one."""
    # JSON can spell half a surrogate pair, which neither a database nor a terminal takes.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(text, str) else ""
