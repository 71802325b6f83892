"""Pages out of templates: escaped always, nothing inline, every link under the proxy's prefix."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from pipeline.review.errors import DeskError
from pipeline.review.permissions import Permission, may
from pipeline.types.visible import show_controls
from pipeline.web.access import find_account
from pipeline.web.context import context_of, path_of
from pipeline.web.sessions import form_token

__all__ = ["create_environment", "link", "render"]


def create_environment() -> Environment:
    """Return what reads the templates. Filters: ``visible`` for anything submitted, and forms of time."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["visible"] = lambda text: show_controls(str(text))
    environment.filters["moment"] = _show_moment
    environment.filters["clock"] = _show_clock
    environment.filters["duration"] = _show_duration
    return environment


def link(request: Request, path: str) -> str:
    """Return `path` under the proxy's prefix; one of ``/static/`` also names the version of the files."""
    if path.startswith("/static/"):
        path = request.app.state.assets.versioned(path)
    return context_of(request).options.prefix + path


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return the page that `template` makes of `values`.

    Every template also gets ``account`` (or None), ``may`` (asks for a permission by name), ``url`` (a path
    under the proxy's prefix), ``csrf`` (the hidden field's value), ``path`` (of this page, without the
    prefix) and ``new_key`` (makes a key for a form that must not count twice). No page has inline script or
    style.
    """
    try:
        account = find_account(request)
    except DeskError:
        account = None
    common = {
        "account": account,
        "may": lambda name: account is not None and may(account.role, Permission(name)),
        "url": lambda path: link(request, path),
        "csrf": form_token(request),
        "path": path_of(request),
        "new_key": lambda: secrets.token_hex(16),
    }
    environment: Environment = request.app.state.environment
    page = environment.get_template(template).render({**common, **values})
    # What no encoding takes is shown as a question mark rather than not at all.
    return HTMLResponse(page.encode(errors="replace"), status)


def _show_moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _show_clock(at: datetime) -> str:
    return f"{at.astimezone(UTC):%H:%M} UTC"


def _show_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
