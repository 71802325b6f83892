"""The value of a review: what an hour of an expert is spent on first.

People can look at some of what waits tonight, rarely at all of it. An hour does most where a person is most
likely to change the grade that would stand without them, so a review's value is what the draft's confidence
leaves open. That confidence ranks drafts and promises nothing; so the value only moves a review ahead by a
bounded time, and whatever waits longer than that comes first all the same: nothing starves.

Two things would tell a reviewer what they are not to know, and are kept out of the order. An audit's grade
stands already and would always come last; it takes its value by chance from among the values of all other
reviews, so that it comes as early or late as they do. What was drawn to calibrate on is treated the same, so
that neither its draft nor its route can be told from its place. And chance moves everything by up to an hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pipeline.types import Review

__all__ = ["audit_value", "is_drawn", "queue_key", "review_value"]

_HOUR: Final = 3600.0

#: How far chance moves a review, in seconds of waiting: no kind of review is known by its place.
_SHUFFLE: Final = _HOUR

#: What a drawn review is ahead of its time, in seconds: figures about grades and judges wait for it.
_HEAD_START: Final = 900.0

#: The confidence of what facts alone settled; no draft of a model reaches it.
_SETTLED: Final = 1.0


def is_drawn(review: Review) -> bool:
    """Whether chance chose it, and not its route."""
    return review.kind == "audit" or review.calibration is not None


def review_value(confidence: float | None) -> float:
    """Return how likely it is, in 0..1, that a person changes the grade that would stand without them.

    Without a confidence nothing could stand, and the value is 1. So it is where facts settled the grade and
    the route asks for a person nevertheless: it does so only where those facts are in doubt themselves.

    Args:
        confidence: Of the draft, in 0..1; None where there is no draft, or nothing supports a number.
    """
    if confidence is None or not 0 <= confidence < _SETTLED:
        return 1.0
    return 1.0 - confidence


def audit_value(chance: float, others: Sequence[float]) -> float:
    """Return the value that a drawn review is given, so that it is served as any other review might be.

    Args:
        chance: Says which, in 0..1 without 1.
        others: Values of the reviews that were not drawn, ascending.
    """
    return others[int(chance * len(others))] if others else chance


def queue_key(opened_at: datetime, value: float, *, chance: float, drawn: bool, value_hours: float) -> float:
    """Return where a review stands in the queue: a smaller key is served earlier.

    Args:
        opened_at: When the review came to the queue.
        value: In 0..1.
        chance: Moves it, in 0..1.
        drawn: Whether chance chose it, and not its route.
        value_hours: How many hours of waiting the highest value is ahead of the lowest; 0 for pure age.
    """
    ahead = value * value_hours * _HOUR + (_HEAD_START if drawn else 0.0)
    return opened_at.timestamp() + _SHUFFLE * chance - ahead
