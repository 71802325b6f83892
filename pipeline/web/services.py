"""Services that remember what they read: an application keeps one of each, made when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Final, TypeVar

from fastapi import FastAPI

from pipeline.review.history import Follower
from pipeline.review.labels import Labels
from pipeline.review.norming import Norming
from pipeline.review.progress import Progress
from pipeline.review.reruns import Reruns
from pipeline.review.saved_comments import SavedComments
from pipeline.web.batch_figures import BatchFigures
from pipeline.web.context import Context
from pipeline.web.progress_lists import ProgressLists
from pipeline.web.reading import Reading

__all__ = [
    "batch_figures_of",
    "follower_of",
    "labels_of",
    "norming_of",
    "progress_lists_of",
    "progress_of",
    "reading_of",
    "reruns_of",
    "saved_comments_of",
]

Service = TypeVar("Service")

#: One service may be made of another.
_MAKING: Final = RLock()


def batch_figures_of(app: FastAPI) -> BatchFigures:
    """Return the figures of batches."""
    return _keep(app, BatchFigures, lambda context: BatchFigures(context.store))


def follower_of(app: FastAPI) -> Follower:
    """Return what reads the events for all figures."""
    return _keep(app, Follower, lambda context: Follower(context.store))


def labels_of(app: FastAPI) -> Labels:
    """Return the labels."""
    return _keep(app, Labels, lambda context: Labels(context.store, follower_of(app)))


def norming_of(app: FastAPI) -> Norming:
    """Return the norming sessions."""
    return _keep(app, Norming, lambda context: Norming(context.store, context.desk))


def progress_of(app: FastAPI) -> Progress:
    """Return progress and agreement."""
    return _keep(app, Progress, lambda context: Progress(context.store, follower_of(app)))


def progress_lists_of(app: FastAPI) -> ProgressLists:
    """Return the reviews behind the numbers of progress."""
    return _keep(app, ProgressLists, lambda context: ProgressLists(context.store, follower_of(app)))


def reading_of(app: FastAPI) -> Reading:
    """Return what reviewers read."""
    return _keep(app, Reading, lambda context: Reading(context, app.state.environment, follower_of(app)))


def reruns_of(app: FastAPI) -> Reruns:
    """Return the reruns."""
    return _keep(app, Reruns, lambda context: Reruns(context.desk))


def saved_comments_of(app: FastAPI) -> SavedComments:
    """Return the saved comments."""
    return _keep(app, SavedComments, lambda context: SavedComments(context.store))


def _keep(app: FastAPI, kind: type[Service], make: Callable[[Context], Service]) -> Service:
    name = f"service_{kind.__qualname__}"
    with _MAKING:
        if not hasattr(app.state, name):
            setattr(app.state, name, make(app.state.context))
        found: Service = getattr(app.state, name)
    return found
