"""Services that follow the store and are therefore kept: one of each per application, made at first use."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final, TypeVar

from fastapi import Request

from pipeline.store import Store
from pipeline.web.context import context_of

__all__ = ["service"]

Service = TypeVar("Service")

_MAKING: Final = Lock()


def service(request: Request, kind: type[Service], make: Callable[[Store], Service]) -> Service:
    """Return the application's one `kind`, which `make` makes of its store when it is first asked for."""
    name = f"service_{kind.__qualname__}"
    state = request.app.state
    with _MAKING:
        if not hasattr(state, name):
            setattr(state, name, make(context_of(request).store))
        found: Service = getattr(state, name)
    return found
