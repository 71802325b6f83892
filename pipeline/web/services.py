"""Services that follow the store and are therefore kept: one of each per application, made at first use."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final, TypeVar

from fastapi import Request

from pipeline.review.norming import Norming
from pipeline.web.context import Context, context_of

__all__ = ["norming_of", "service"]

Service = TypeVar("Service")

_MAKING: Final = Lock()


def service(request: Request, kind: type[Service], make: Callable[[Context], Service]) -> Service:
    """Return the application's one `kind`, which `make` makes when it is first asked for."""
    name = f"service_{kind.__qualname__}"
    state = request.app.state
    with _MAKING:
        if not hasattr(state, name):
            setattr(state, name, make(context_of(request)))
        found: Service = getattr(state, name)
    return found


def norming_of(request: Request) -> Norming:
    """Return the application's norming sessions."""
    return service(request, Norming, lambda context: Norming(context.store, context.desk))
