"""What routes work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fastapi import Request

from pipeline.review.accounts import Accounts
from pipeline.review.desk import Desk
from pipeline.store import Store

__all__ = ["THIS_MACHINE", "Context", "Options", "context_of", "path_of"]

THIS_MACHINE: Final = ("127.0.0.0/8", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the desk is served.

    Attributes:
        prefix: Path that a proxy serves it under, such as ``/desk``; empty for the root.
        secure_cookies: Whether browsers send cookies over HTTPS only.
        identity_header: Header in which a trusted proxy names who is there; empty for local accounts.
        trusted_proxies: Addresses and networks whose headers are believed.
        session_hours: How long somebody stays logged in without doing anything.
        rubrics: Folder with rubric folders and their lock, where leads sign changes; None for the shipped.
    """

    prefix: str = ""
    secure_cookies: bool = False
    identity_header: str = ""
    trusted_proxies: tuple[str, ...] = THIS_MACHINE
    session_hours: float = 12.0
    rubrics: Path | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """One desk, its store and its accounts; routes get it from the application's state."""

    store: Store
    desk: Desk
    accounts: Accounts
    options: Options = field(default_factory=Options)


def context_of(request: Request) -> Context:
    """Return the context of the application that serves `request`."""
    found: Context = request.app.state.context
    return found


def path_of(request: Request) -> str:
    """Return the path that is asked for, without the proxy's prefix; it may hold any characters."""
    # Not `request.url`: that one also parses the host, which may be nonsense.
    path: str = request.scope["path"]
    prefix = context_of(request).options.prefix
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path
