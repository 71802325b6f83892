"""Pages out of templates: escaped always, nothing inline, every link under the proxy's prefix."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse

__all__ = ["render"]


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return the page that `template` makes of `values`.

    Every template also gets ``account`` (or None), ``may`` (asks for a permission by name), ``url`` (a path
    under the proxy's prefix) and ``csrf`` (the hidden field's value). No page has inline script or style.
    """
    raise NotImplementedError
