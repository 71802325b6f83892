"""The application: every screen, the HTTP API, and what protects both."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from fastapi import APIRouter, FastAPI

import pipeline.web.api
import pipeline.web.screens
from pipeline import __version__
from pipeline.web import assets
from pipeline.web.context import Context
from pipeline.web.errors import handle_errors
from pipeline.web.rendering import create_environment
from pipeline.web.security import Guard
from pipeline.web.sessions import load_form_secret

__all__ = ["create_app", "find_routers"]


def find_routers() -> Iterator[APIRouter]:
    """Yield the ``router`` of every module in `pipeline.web.screens` and `pipeline.web.api`, by name."""
    for package in (pipeline.web.screens, pipeline.web.api):
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
            router = getattr(importlib.import_module(f"{package.__name__}.{module.name}"), "router", None)
            if isinstance(router, APIRouter):
                yield router


def create_app(context: Context) -> FastAPI:
    """Return the desk as an ASGI application; ``context`` is in its state."""
    app = FastAPI(
        title="nki-grader review desk",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.context = context
    app.state.environment = create_environment()
    app.state.assets = assets.Assets(Path(__file__).parent / "static")
    app.state.form_secret = load_form_secret(context.store)
    app.add_middleware(Guard, prefix=context.options.prefix)
    handle_errors(app)
    for router in (assets.router, *find_routers()):
        # Taken over one by one, so that `app.routes` lists each with what it depends on.
        app.router.routes.extend(router.routes)
    return app
