"""What a graph thread remembers between nodes: ids and small values, never content."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["State"]


class State(TypedDict, total=False):
    """State of one grading; everything else is in the store under its content key."""

    grading_id: str
    verdict: str | None
    """Set as soon as something stopped the submission; the final verdict after ``inspect``."""
    destination: str
    """Where the route leads."""
    rule: str
    """Name of the rule that led there."""
    review_id: str | None
