"""The application: every screen, the HTTP API, and what protects both."""

from __future__ import annotations

from fastapi import FastAPI

from pipeline.web.context import Context

__all__ = ["create_app"]


def create_app(context: Context) -> FastAPI:
    """Return the desk as an ASGI application; ``context`` is in its state."""
    raise NotImplementedError
