"""Services that remember what they read and are therefore kept: one of each per application, made at first use."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Final, TypeVar

from fastapi import FastAPI, Request

from pipeline.review.history import Follower
from pipeline.review.labels import Labels
from pipeline.review.norming import Norming
from pipeline.review.progress import Progress
from pipeline.web.context import Context

__all__ = ["follower_in", "keep", "labels_in", "norming_of", "progress_in", "service"]

Service = TypeVar("Service")

#: One service may be made of another.
_MAKING: Final = RLock()


def keep(app: FastAPI, kind: type[Service], make: Callable[[Context], Service]) -> Service:
    """Return the one `kind` of `app`, which `make` makes when it is first asked for."""
    name = f"service_{kind.__qualname__}"
    with _MAKING:
        if not hasattr(app.state, name):
            setattr(app.state, name, make(app.state.context))
        found: Service = getattr(app.state, name)
    return found


def service(request: Request, kind: type[Service], make: Callable[[Context], Service]) -> Service:
    """Return the one `kind` of the application that serves `request`."""
    return keep(request.app, kind, make)


def follower_in(app: FastAPI) -> Follower:
    """Return what reads the events for all figures of `app`."""
    return keep(app, Follower, lambda context: Follower(context.store))


def labels_in(app: FastAPI) -> Labels:
    """Return the labels of `app`."""
    return keep(app, Labels, lambda context: Labels(context.store, follower_in(app)))


def progress_in(app: FastAPI) -> Progress:
    """Return the figures of `app`."""
    return keep(app, Progress, lambda context: Progress(context.store, follower_in(app)))


def norming_of(request: Request) -> Norming:
    """Return the application's norming sessions."""
    return service(request, Norming, lambda context: Norming(context.store, context.desk))
