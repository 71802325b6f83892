"""What protects every request and every answer, whatever the route: nothing here can be forgotten by one."""

from __future__ import annotations

import hmac
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.web.access import is_api
from pipeline.web.errors import answer_error
from pipeline.web.sessions import bearer_token, form_token
from pipeline.web.written import remember_body

__all__ = ["HEADERS", "MAX_BODY_BYTES", "Guard"]

MAX_BODY_BYTES: Final = 2 * 1024 * 1024

#: Of a larger body, so much is read and thrown away before it is refused.
_DISCARDED_BYTES: Final = 32 * 1024 * 1024

#: Of every answer that does not say otherwise itself.
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With `no-referrer` browsers send forms with the origin "null", which could be anybody's.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """Limits bodies, refuses what other sites made a browser send, and puts headers on every answer."""

    def __init__(self, app: ASGIApp, prefix: str = "") -> None:
        """Protect `app`, which a proxy serves under `prefix`."""
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, unless it is refused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        # Routes then match whether the proxy removed the prefix or not.
        scope["root_path"] = self._prefix

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["method"] in _SAFE:
            await self._app(scope, receive, send_protected)
            return
        try:
            body = await _read_body(receive)
        except ClientDisconnect:
            return
        request = Request(scope, _replay(body or b"", receive))
        if body is None:
            refusal = await _answer_too_large(request)
        elif is_api(request) or bearer_token(request) is not None:
            refusal = None
        else:
            refusal = await _refuse_foreign(request, body)
        if refusal is not None:
            await refusal(scope, receive, send_protected)
        else:
            await self._app(scope, _replay(body or b"", receive), send_protected)


async def _answer_too_large(request: Request) -> Response:
    return await answer_error(
        request,
        413,
        "too_large",
        f"this is more than {MAX_BODY_BYTES // 1024**2} MB, the most one request holds, and was not read",
        "send less"
        if is_api(request)
        else "go back with the browser's Back button, which still has what you wrote, and shorten it",
    )


async def _refuse_foreign(request: Request, body: bytes) -> Response | None:
    """Return the refusal of what no page of ours, made for this very session, sent."""
    if _comes_from_us(request):
        # What another site had a browser send is not shown on our pages.
        remember_body(request, body)
        if await _bears_token(request):
            return None
    return await answer_error(
        request,
        403,
        "not_ours",
        "this form was not made for the session that sent it, and nothing was changed",
        "keep what you typed, load the page again and send it from there",
    )


async def _read_body(receive: Receive) -> bytes | None:
    """Return the whole body, or None if it is too large.

    Raises:
        ClientDisconnect: If the connection ended before the body did: half a form is not what somebody said.
    """
    parts: list[bytes] = []
    left = MAX_BODY_BYTES
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        left -= len(part)
        if left >= 0:
            parts.append(part)
        ends = not message.get("more_body", False)
        # A browser shows no answer before it has sent everything, so what is too large is taken for a while.
        if left < 0 and (ends or left < -_DISCARDED_BYTES):
            return None
        if ends:
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return what gives `body` once and then whatever `receive` gives, such as the end of the connection."""
    given = False

    async def give() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def _comes_from_us(request: Request) -> bool:
    """Whether no other site had a browser send this request, as far as the browser says."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or _is_own_origin(origin, request)


async def _bears_token(request: Request) -> bool:
    expected = form_token(request)
    given = request.headers.get("x-csrf-token") or await _read_form_token(request)
    return bool(expected) and hmac.compare_digest(expected.encode(), given.encode(errors="replace"))


def _is_own_origin(origin: str, request: Request) -> bool:
    try:
        host = urlsplit(origin).netloc
    except ValueError:
        return False
    # A proxy that changes the host says which one the browser asked for; no other site can set this header.
    hosts = (request.headers.get("host"), request.headers.get("x-forwarded-host"))
    return bool(host) and host.lower() in {name.lower() for name in hosts if name}


async def _read_form_token(request: Request) -> str:
    if not request.headers.get("content-type", "").startswith(
        ("application/x-www-form-urlencoded", "multipart/form-data")
    ):
        return ""
    try:
        async with request.form() as form:
            token = form.get("csrf", "")
    except HTTPException:
        return ""
    return token if isinstance(token, str) else ""
