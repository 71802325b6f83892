"""Who is there, as a browser or a proxy says: the session's cookie, the trusted header, the form's token.

A form's token is bound to the session that the form was made for, so another site that makes a browser send a
form cannot know it. The login has a session too, of nobody, so that nobody can be logged in as somebody else.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from typing import Final

from fastapi import Request
from starlette.responses import Response

from pipeline.review.chances import load_secret
from pipeline.store import Store
from pipeline.web.context import Options, context_of

__all__ = [
    "bearer_token",
    "client_address",
    "cookie_name",
    "drop_session",
    "form_token",
    "keep_session",
    "load_form_secret",
    "named_by_proxy",
    "new_session_key",
    "session_key",
]

_LONGEST_KEY: Final = 200


def load_form_secret(store: Store) -> bytes:
    """Return what form tokens are signed with; forms stay good when the server starts again."""
    return bytes.fromhex(load_secret(store, "forms"))


def cookie_name(options: Options) -> str:
    """Return the cookie's name; the prefixes have browsers refuse one that another host or HTTP set."""
    if not options.secure_cookies:
        return "desk_session"
    return "__Secure-desk_session" if options.prefix else "__Host-desk_session"


def session_key(request: Request) -> str | None:
    """Return the key of the session that the browser sends, which may be nobody's."""
    key = request.cookies.get(cookie_name(context_of(request).options), "")
    return key if 0 < len(key) <= _LONGEST_KEY and key.isascii() else None


def new_session_key() -> str:
    """Return a key for somebody who is not logged in yet."""
    return "nobody-" + secrets.token_urlsafe(24)


def keep_session(request: Request, response: Response, key: str) -> None:
    """Have the browser send `key` from now on, until it is closed or the session ends."""
    options = context_of(request).options
    response.set_cookie(
        cookie_name(options),
        key,
        path=options.prefix or "/",
        secure=options.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def drop_session(request: Request, response: Response) -> None:
    """Have the browser forget its session."""
    options = context_of(request).options
    response.delete_cookie(
        cookie_name(options),
        path=options.prefix or "/",
        secure=options.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def bearer_token(request: Request) -> str | None:
    """Return the API token that `request` bears."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def named_by_proxy(request: Request) -> str | None:
    """Return whom a trusted proxy names; a header from any other address says nothing.

    Two headers are a proxy's and one that came through it: together they name nobody that there is.
    """
    options = context_of(request).options
    if not options.identity_header or not _is_trusted(request):
        return None
    return ", ".join(request.headers.getlist(options.identity_header)) or None


def client_address(request: Request) -> str:
    """Return where a request comes from, also behind a trusted proxy."""
    peer = request.client.host if request.client else "unknown"
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return forwarded[:100] if forwarded and _is_trusted(request) else peer


def form_token(request: Request, key: str | None = None) -> str:
    """Return the token of forms made for this session, or for `key`; empty where there is none."""
    name = named_by_proxy(request)
    bound = f"proxy {name}" if name else f"session {key or session_key(request) or ''}"
    if bound == "session ":
        return ""
    secret: bytes = request.app.state.form_secret
    return hmac.new(secret, bound.encode(errors="replace"), hashlib.sha256).hexdigest()


def _is_trusted(request: Request) -> bool:
    try:
        peer = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return False
    peer = getattr(peer, "ipv4_mapped", None) or peer
    trusted = context_of(request).options.trusted_proxies
    return any(peer in ipaddress.ip_network(network, strict=False) for network in trusted)
