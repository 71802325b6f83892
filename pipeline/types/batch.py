"""A batch: submissions graded together."""

from __future__ import annotations

from datetime import datetime

from pipeline.types.fault import Fault
from pipeline.types.model import Frozen

__all__ = ["Batch", "BatchItem", "Rejection"]


class BatchItem(Frozen):
    """One submission's place in a batch."""

    grading_id: str
    submission_id: str
    origin: str
    """Where it came from: a path, or a row of a file."""
    author: str = ""
    """Who wrote it, where whoever handed it in said so."""


class Rejection(Frozen):
    """An input that is no submission at all: unreadable, or of no known task."""

    origin: str
    fault: Fault


class Batch(Frozen):
    """The same submissions of the same declared authors under the same fingerprints are the same batch."""

    id: str
    opened_at: datetime
    items: tuple[BatchItem, ...]
    rejections: tuple[Rejection, ...] = ()
